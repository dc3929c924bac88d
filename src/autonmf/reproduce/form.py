"""Numbers as texts, and spreads over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

NONE = "-"


def digits(value: float | None, significant: int = 3) -> str:
    """A number to some significant digits, without an exponent where that is short."""
    if value is None:
        return NONE
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{significant - 1}e}"
    if abs(value) >= 10 ** (significant - 1):
        return f"{value:.0f}"
    text = f"{value:.{significant}g}"
    return text if "e" not in text else f"{value:.{significant}f}"


def seconds(value: float | None) -> str:
    """A time."""
    return NONE if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def known(values: Iterable[Any]) -> list[Any]:
    """Those that are not None."""
    return [value for value in values if value is not None]


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known."""
    found = known(values)
    return median(found) if found else None


def ranks(values: Sequence[int | None]) -> str:
    """Ranks over seeds: one number where all agree."""
    texts = [NONE if value is None else str(value) for value in values]
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)


def spread(values: Iterable[float | None], form: Any = digits) -> str:
    """The median, and the least and the largest where there are several."""
    found = known(values)
    if not found:
        return NONE
    least, most = form(min(found)), form(max(found))
    return str(form(median(found))) if least == most else f"{form(median(found))} ({least} to {most})"


def times(value: float | None) -> str:
    """A ratio."""
    return NONE if value is None else f"{value:.1f}x" if value < 100 else f"{value:.0f}x"


def share(part: int, whole: int) -> str:
    """A count of hits."""
    return f"{part}/{whole}"
