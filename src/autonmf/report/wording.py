"""Numbers and percentages as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isfinite, log10

PERCENT = "\N{NO-BREAK SPACE}%"


def plain(value: float, digits: int = 3) -> str:
    """A number with a few digits: 0.00123, 12.3, 1,230, 1.23e+09."""
    if not isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value == 0:
        return "0"
    size = floor(log10(abs(value)))
    if -4 <= size < 6:
        return f"{round(value, digits - 1 - size):,.{max(digits - 1 - size, 0)}f}"
    return f"{value:.{digits - 1}e}"


def percent(fraction: float, extra: int = 0) -> str:
    """A fraction as a percentage: 12 %, 0.3 %, 99.93 %; 100 % or 0 % only if exact.

    Known components may leave more than rank one: 247 %.
    """
    value = 100.0 * fraction
    if value <= 0 or value >= 100:
        return f"0{PERCENT}" if value <= 0 else f"{value:,.0f}{PERCENT}"
    if value < 0.01:
        return f"below 0.01{PERCENT}"
    left = 100.0 - value
    if left < 0.001:
        return f"above 99.999{PERCENT}"
    small = min(value, left)
    decimals = 0 if 10 <= value <= 90 else 1 if small >= 1 else min(max(-floor(log10(small)), 1), 3)
    return f"{value:.{decimals + extra}f}{PERCENT}"


def percents(fractions: Sequence[float]) -> list[str]:
    """Fractions to be compared: with up to two more decimals if they look the same otherwise."""
    tries = [[percent(fraction, extra) for fraction in fractions] for extra in range(3)]
    return max(tries, key=lambda words: len(set(words)))  # the first with the most distinct values


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``1,200 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
