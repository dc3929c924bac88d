"""Whether a first line of numbers names the columns: wavelengths, energies, times, counters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from math import isfinite

ENOUGH = 5
"""Numbers in a row that can hardly rise or fall all the way by accident."""

EVEN = 1e-3
"""Steps that differ by less than this share are equal: axes are rounded when they are written."""

MOSTLY = 0.9
"""Share of steps in one direction that makes a row of data look like an axis itself."""

Line = Sequence[float | None]
"""The numbers of a line; None where there is no number."""


class Heading(Enum):
    """What the first line of numbers is."""

    data = "data"
    unclear = "unclear"
    names = "names"


def heading_of(first: Line, rest: Sequence[Line]) -> Heading:
    """What the first line is, by what it has that the rest has not.

    Names rise or fall all the way. They are evenly spaced, or their range lies apart from that of the
    numbers below, which do not rise or fall like them. A line that only rises or falls is unclear.
    """
    numbers = [value for value in first if value is not None and isfinite(value)]
    below = [value for line in rest for value in line if value is not None and isfinite(value)]
    if len(numbers) < len(first) or len(first) < 2 or len(rest) < 2 or not below:
        return Heading.data
    rising = numbers[0] < numbers[-1]
    if _share(first, rising) < 1:
        return Heading.data
    enough = len(first) >= ENOUGH
    apart = max(numbers) < min(below) or min(numbers) > max(below)
    even = enough and _is_even(numbers) and not any(_is_even(line) for line in rest)
    if even and apart:
        return Heading.names
    alike = [_share(line, rising) for line in rest]
    if min(alike) == 1 or not (enough or apart):
        return Heading.data
    return Heading.names if enough and (even or apart) and max(alike) < MOSTLY else Heading.unclear


def is_corner(cell: str, labels: Sequence[str]) -> bool:
    """Whether the first cell stands over a column of row names rather than being one of them."""
    return bool(cell.strip()) and _letters(cell) not in map(_letters, labels)


def counts(cells: Line) -> bool:
    """Whether these are 0, 1, 2, ... or 1, 2, 3, ..."""
    return len(cells) > 0 and cells[0] in (0, 1) and list(cells) == [cells[0] + i for i in range(len(cells))]


def _letters(cell: str) -> str:
    """A name without its numbers."""
    return re.sub(r"[\d.,]+", "0", cell.strip())


def _share(line: Line, rising: bool) -> float:
    """The share of steps that go up, or down."""
    steps = [(a, b) if rising else (b, a) for a, b in pairwise(line)]
    return sum(a is not None and b is not None and a < b for a, b in steps) / max(len(steps), 1)


def _is_even(line: Line) -> bool:
    numbers = [value for value in line if value is not None]
    gaps = [abs(b - a) for a, b in pairwise(numbers)]
    complete = len(numbers) == len(line) and len(gaps) > 0
    return complete and min(gaps) > 0 and max(gaps) - min(gaps) <= EVEN * min(gaps)
