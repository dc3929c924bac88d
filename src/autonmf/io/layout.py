"""The layout of a text file: its separator, its header, its column of row names.

A first line of numbers may be column names (wavelengths, energies, times) or data. If that is unclear, the
user is told (`list_doubts`).
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Literal, TypeAlias

from autonmf.io.table import ReadError, list_names

SEPARATORS = "\t;,| "
"""In order of preference, if several give equally many numbers."""

DECIMAL_COMMA = ";"
"""The separator with which a comma is a decimal comma."""

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "?"}
"""Cells that stand for a missing number, in lower case."""

COUNTERS = ("id", "index", "unnamed: 0")
"""Headings, in lower case, of columns that are row names if they number the rows."""

ENOUGH = 5
"""Minimum length of a monotone sequence that is unlikely to be monotone by chance."""

EVEN = 1e-3
"""Steps are equal if they differ by less than this fraction, since axes are rounded in files."""

MOSTLY = 0.9
"""A row of data looks like an axis if more than this fraction of its steps are in one direction."""

_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,'’ \u00a0\u202f])\d{3}(\1\d{3})*((?!\1)[.,]\d*)?")
"""A number with a separator between thousands, such as 1,234.5, 1.234,5 or 1 234."""

Row = tuple[int, list[str]]
"""A line number and the cells that end there."""

Line = Sequence[float | None]
"""The numbers of a line; None where there is no number."""


# Cells


def parse_number(cell: str, separator: str) -> float | None:
    """Parse a cell: NaN if it is missing, None if it is not a number."""
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if "_" in text:  # Python reads 1_000 as a number; in a file it is a name
        return None
    if separator == DECIMAL_COMMA:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def has_thousands(cell: str) -> bool:
    """Whether a cell is a number with separators between thousands, which is neither parsed nor a name."""
    return _THOUSANDS.fullmatch(cell.strip()) is not None


def is_name(cell: str, separator: str) -> bool:
    """Whether a cell holds text that is neither a number nor missing."""
    return parse_number(cell, separator) is None and not has_thousands(cell)


def is_empty(cell: str) -> bool:
    """Whether a cell holds nothing but spaces."""
    return not cell.strip()


def split_lines(lines: Iterable[str], separator: str) -> Iterator[Row]:
    """Split each line that is not blank into cells. A quoted cell may span lines."""
    if separator == " ":
        lines = (line.strip() for line in lines)
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    for cells in rows:
        if len(cells) > 1 or (cells and not is_empty(cells[0])):
            yield rows.line_num, cells


def find_separator(lines: list[str]) -> str:
    """Find the separator that gives most numbers and least text."""

    def score(separator: str) -> int:
        cells = [cell for line in lines for cell in _split_loosely(line, separator)]
        filled = [cell for cell in cells if not is_empty(cell)]
        commas = "," if separator == "," else DECIMAL_COMMA
        names = sum(is_name(cell, commas) for cell in filled)
        return len(filled) - 2 * names

    lines = [line for line in lines if not line.lstrip().startswith("#")] or lines
    lines = lines[1:] or lines  # the first may be a header
    return max(SEPARATORS, key=score)  # the first of equals


def _split_loosely(line: str, separator: str) -> list[str]:
    try:
        return [cell for _, cells in split_lines([line], separator) for cell in cells]
    except csv.Error:  # a quoted cell that spans lines
        return [line]


# Columns that are not part of the matrix


def set_aside(
    file: Path, rows: list[list[str]], annotations: Sequence[str]
) -> tuple[dict[str, int], list[list[str]]]:
    """Find the positions of annotation columns, and remove these from the first rows of a file.

    Each annotation is the name of a column, its number from 1, or a range of numbers such as 2-4.
    """
    if not annotations:
        return {}, rows
    width = _usual_width(rows)
    top = next((cells for cells in rows if len(cells) in (width, width - 1)), rows[0])
    names = [cell.strip() for cell in top]
    shift = width - len(top)  # R leaves out the cell above its row names
    found: dict[str, int] = {}
    for wanted in annotations:
        numbers = re.fullmatch(r"(\d+)(?:-(\d+))?", wanted)
        if numbers and 0 < int(numbers[1]) <= int(numbers[2] or numbers[1]) <= width:
            for place in range(int(numbers[1]) - 1, int(numbers[2] or numbers[1])):
                name = names[place - shift] if place >= shift else ""
                found[f"column {place + 1}" if not name or name in found else name] = place
        elif wanted in names:
            found[wanted] = names.index(wanted) + shift
        else:
            listed = list_names(map(repr, names))
            raise ReadError(f"{file} has no column {wanted!r}; its first line holds {listed}")
    at_top = [place - shift for place in found.values() if place >= shift]
    return found, [
        without(cells, at_top if cells is top else found.values()) if len(cells) >= width - 1 else cells
        for cells in rows
    ]


def without(cells: list[str], places: Iterable[int]) -> list[str]:
    """The cells at all other positions."""
    left_out = set(places)
    return [cell for place, cell in enumerate(cells) if place not in left_out] if left_out else cells


# Layouts


Heading: TypeAlias = Literal["data", "unclear", "names"]
"""What a first line of numbers is."""


@dataclass(frozen=True)
class Layout:
    """The layout of each line of a text file."""

    separator: str
    width: int  # cells per line, with a row name and without a trailing separator
    header: list[str] | None  # column names, without the one above the row names
    labelled: bool  # the first cell of each line is a row name
    trailing: bool  # lines end with a separator
    above: int  # non-empty lines before the first line of numbers
    heading: Heading | None = None  # how its numbers classify the first line, if that was needed

    def __str__(self) -> str:
        separators = {"\t": "tabs", " ": "spaces"}
        parts = [
            "one column"
            if self.width == 1
            else f"cells separated by {separators.get(self.separator, repr(self.separator))}",
            "no header" if self.header is None else "a header",
            "row labels in the first column" if self.labelled else "no row labels",
        ]
        return f"Read as text with {', '.join(parts)}."


def find_layout(
    rows: list[list[str]], separator: str, header: bool | None = None, labels: bool | None = None
) -> Layout:
    """Find the layout of a file that begins with these rows; ``header`` and ``labels`` may be given."""
    comments = _count_comments(rows, separator)
    top, body = rows[comments], rows[comments + 1 :]
    if top[0].lstrip().startswith("#") and any(is_name(cell, separator) for cell in top[1:]):
        top = _uncomment(top)
    width = _usual_width(body or [top], len(top))
    ends_empty = bool(body) and width > 1 and all(is_empty(cells[-1]) for cells in body)
    trailing = ends_empty and (len(top) < width or is_empty(top[-1]))
    if trailing:
        width -= 1
        top = top[:width]
    first_column = [cells[0] for cells in body or [top]]
    # If most cells are names, these are row names; otherwise they are errors among numbers.
    mostly_names = 2 * sum(is_name(cell, separator) for cell in first_column) > len(first_column)
    named = any(is_name(cell, separator) for cell in top)
    counted = len(body) > 1 and _counts([parse_number(cells[0], separator) for cells in body])
    both_count = counted and _counts([parse_number(cell, separator) for cell in top])
    # R leaves out the cell above its row names; pandas leaves it empty above its index.
    free = header is not False and labels is not False
    shorter = free and len(top) == width - 1 and (named or mostly_names or both_count)
    full = header is not False and bool(body) and len(top) == width > 1
    over_labels = full and _is_over_labels(top, counted, separator)
    labelled = labels
    if labelled is None:
        labelled = mostly_names or shorter or over_labels
    heading = None
    if header is None:
        header = shorter or (labelled and bool(body) and (over_labels or is_empty(top[0])))
        header = header or any(is_name(cell, separator) for cell in top[labelled:])
        if not header:
            cells_below = [cells[labelled:width] for cells in body]
            first, *rest = (
                [parse_number(cell, separator) for cell in line] for line in [top[labelled:], *cells_below]
            )
            heading = classify_heading(first, rest)
            header = heading == "names"
            if header and labelled and _is_corner(top[0], first_column):
                heading = None  # its first cell says the same
    names = [cell.strip() for cell in (top if shorter else top[labelled:])] if header else None
    return Layout(separator, width, names, labelled, trailing, comments + bool(header), heading)


def list_doubts(
    rows: list[list[str]], layout: Layout, header: bool | None, labels: bool | None
) -> Iterator[str]:
    """Sentences on choices that the user should check, unless they were given: numbers can be names."""
    if header is None and layout.heading == "names" and layout.header:
        first, last = layout.header[0], layout.header[-1]
        yield (
            f"The first line, {first} to {last}, is read as column names: it rises or falls like an axis. "
            "If it is data, add --no-header."
        )
    if header is None and layout.heading == "unclear":
        yield "The first line rises or falls like an axis and is read as data. If it is names, add --header."
    column = [parse_number(cells[0], layout.separator) for cells in rows[layout.above :]]
    if labels is None and not layout.labelled and len(column) >= ENOUGH and _counts(column):
        yield "The first column counts the lines and is read as data. If it is row names, add --labels."
    if header is None and labels is None and layout.labelled and _begins_empty(rows, layout, column):
        yield (
            "The first line begins with an empty cell and is read as column names, the first column as row "
            "names. If they are data, add --no-header."
        )


def classify_heading(first: Line, rest: Sequence[Line]) -> Heading:
    """Classify the first line by how it differs from the rest.

    Names increase or decrease throughout. In addition they are evenly spaced, or outside the range of the
    numbers below, which are not monotone. A line that is only monotone is unclear.
    """
    numbers = [value for value in first if value is not None and isfinite(value)]
    below = [value for line in rest for value in line if value is not None and isfinite(value)]
    if len(numbers) < len(first) or len(first) < 2 or len(rest) < 2 or not below:
        return "data"
    rising = numbers[0] < numbers[-1]
    if _monotone_fraction(first, rising) < 1:
        return "data"
    enough = len(first) >= ENOUGH
    apart = max(numbers) < min(below) or min(numbers) > max(below)
    even = enough and _is_even(numbers) and not any(_is_even(line) for line in rest)
    if even and apart:
        return "names"
    fractions = [_monotone_fraction(line, rising) for line in rest]
    if min(fractions) == 1 or not (enough or apart):
        return "data"
    return "names" if enough and (even or apart) and max(fractions) < MOSTLY else "unclear"


def _monotone_fraction(line: Line, rising: bool) -> float:
    """The fraction of steps that go up, or down."""
    steps = [(a, b) if rising else (b, a) for a, b in pairwise(line)]
    return sum(a is not None and b is not None and a < b for a, b in steps) / max(len(steps), 1)


def _is_even(line: Line) -> bool:
    numbers = [value for value in line if value is not None]
    gaps = [abs(b - a) for a, b in pairwise(numbers)]
    complete = len(numbers) == len(line) and len(gaps) > 0
    return complete and min(gaps) > 0 and max(gaps) - min(gaps) <= EVEN * min(gaps)


def _is_over_labels(top: list[str], counted: bool, separator: str) -> bool:
    """Whether the first cell is above row names: an empty cell, or the heading of a counter."""
    if is_empty(top[0]):
        return any(is_name(cell, separator) for cell in top) or not any(map(is_empty, top[1:]))
    return counted and top[0].strip().lower() in COUNTERS


def _is_corner(cell: str, labels: Sequence[str]) -> bool:
    """Whether the first cell is the heading of the row names rather than one of them."""

    def without_numbers(name: str) -> str:
        return re.sub(r"[\d.,]+", "0", name.strip())

    return not is_empty(cell) and without_numbers(cell) not in map(without_numbers, labels)


def _begins_empty(rows: list[list[str]], layout: Layout, column: Line) -> bool:
    """Whether a line and a column of numbers are read as names only because the first cell is empty."""
    top = rows[layout.above - 1] if layout.above and layout.header is not None else [""]
    plain = len(top) > 1 and is_empty(top[0]) and not any(is_name(cell, layout.separator) for cell in top)
    return plain and not _counts(column) and None not in column


def _counts(cells: Line) -> bool:
    """Whether these are 0, 1, 2, ... or 1, 2, 3, ..."""
    return len(cells) > 0 and cells[0] in (0, 1) and list(cells) == [cells[0] + i for i in range(len(cells))]


def _usual_width(rows: list[list[str]], preferred: int = 0) -> int:
    """The most frequent number of cells; ``preferred`` if it is equally frequent."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width == preferred))


def _count_comments(rows: list[list[str]], separator: str) -> int:
    """Count the rows at the top that are comments: those after a #, except a last one that is a header."""
    marked = [cells[0].lstrip().startswith("#") for cells in rows]
    if all(marked):
        return 0
    width = _usual_width([cells for cells, mark in zip(rows, marked, strict=True) if not mark])
    count = 0
    for cells in rows[: marked.index(False)]:
        if len(cells) == width and not any(is_name(cell, separator) for cell in cells[1:]):
            return count  # numbers behind a label that happens to begin with #
        count += 1
    if count and len(_uncomment(rows[count - 1])) in (width, width - 1):
        count -= 1
    return count


def _uncomment(cells: list[str]) -> list[str]:
    """Remove the # in front of a header."""
    if cells[0].strip() == "#" and len(cells) > 1:
        return cells[1:]
    return [cells[0].lstrip().removeprefix("#").lstrip(), *cells[1:]]
