"""How a text file is laid out: its separator, its header, its column of row labels."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autonmf.readers.cells import DECIMAL_COMMA, is_empty, is_name, number
from autonmf.readers.headings import ENOUGH, Heading, counts, heading_of, is_corner

SEPARATORS = "\t;,| "
"""In order of preference where the numbers do not tell."""

COUNTERS = ("id", "index", "unnamed: 0")
"""Headings, in lower case, of columns that name the rows if they count them."""

Row = tuple[int, list[str]]
"""A line number and the cells that end there."""


@dataclass(frozen=True)
class Layout:
    """What each line of a text file holds."""

    separator: str
    width: int  # cells a line, with a row label and without a trailing separator
    header: list[str] | None  # column names, without the one above the row labels
    labelled: bool  # the first cell of each line is a row label
    trailing: bool  # lines end with a separator
    above: int  # lines before the first line of numbers, in non-empty ones
    heading: Heading | None = None  # what the first line is by its numbers, if nothing else told

    def __str__(self) -> str:
        separators = {"\t": "tabs", " ": "spaces"}
        parts = [
            f"cells separated by {separators.get(self.separator, repr(self.separator))}",
            "no header" if self.header is None else "a header",
            "row labels in the first column" if self.labelled else "no row labels",
        ]
        return f"Read as text with {', '.join(parts)}."


def split(lines: Iterable[str], separator: str) -> Iterator[Row]:
    """The cells of each line that is not blank. A quoted cell may span lines."""
    if separator == " ":
        lines = (line.strip() for line in lines)
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    for cells in rows:
        if len(cells) > 1 or (cells and not is_empty(cells[0])):
            yield rows.line_num, cells


def find_separator(lines: list[str]) -> str:
    """The separator that leaves most numbers and least text."""

    def score(separator: str) -> int:
        cells = [cell for line in lines for cell in _split_loosely(line, separator)]
        filled = [cell for cell in cells if not is_empty(cell)]
        commas = "," if separator == "," else DECIMAL_COMMA
        names = sum(is_name(cell, commas) for cell in filled)
        return len(filled) - 2 * names

    lines = [line for line in lines if not line.lstrip().startswith("#")] or lines
    lines = lines[1:] or lines  # the first may be a header
    return max(SEPARATORS, key=score)  # the first of equals


def find_layout(
    rows: list[list[str]], separator: str, header: bool | None = None, labels: bool | None = None
) -> Layout:
    """The layout of a file that begins with these rows, as far as ``header`` and ``labels`` leave it open."""
    comments = _comments(rows, separator)
    top, body = rows[comments], rows[comments + 1 :]
    if top[0].lstrip().startswith("#") and any(is_name(cell, separator) for cell in top[1:]):
        top = _uncommented(top)
    width = _usual_width(body or [top], len(top))
    ends_empty = bool(body) and width > 1 and all(is_empty(cells[-1]) for cells in body)
    trailing = ends_empty and (len(top) < width or is_empty(top[-1]))
    if trailing:
        width -= 1
        top = top[:width]
    mostly_names = _mostly_names([cells[0] for cells in body or [top]], separator)
    named = any(is_name(cell, separator) for cell in top)
    counted = len(body) > 1 and counts([number(cells[0], separator) for cells in body])
    both_count = counted and counts([number(cell, separator) for cell in top])
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
            heading = _heading(top[labelled:], [cells[labelled:width] for cells in body], separator)
            header = heading is Heading.names
            if header and labelled and is_corner(top[0], [cells[0] for cells in body]):
                heading = None  # its first cell tells the same
    names = [cell.strip() for cell in (top if shorter else top[labelled:])] if header else None
    return Layout(separator, width, names, labelled, trailing, comments + bool(header), heading)


def _is_over_labels(top: list[str], counted: bool, separator: str) -> bool:
    """Whether the first cell stands over row names: an empty one before names, or a counter's heading."""
    if is_empty(top[0]):
        return any(is_name(cell, separator) for cell in top) or not any(map(is_empty, top[1:]))
    return counted and top[0].strip().lower() in COUNTERS


def _heading(top: list[str], body: list[list[str]], separator: str) -> Heading:
    first, *rest = ([number(cell, separator) for cell in cells] for cells in [top, *body])
    return heading_of(first, rest)


def doubts(rows: list[list[str]], layout: Layout, header: bool | None, labels: bool | None) -> Iterator[str]:
    """What a person should look at, since numbers can be names: as far as nobody said what they are."""
    if header is None and layout.heading is Heading.names and layout.header:
        first, last = layout.header[0], layout.header[-1]
        yield (
            f"The first line, {first} to {last}, is read as column names: it rises or falls like an axis. "
            "If it is data, add --no-header."
        )
    if header is None and layout.heading is Heading.unclear:
        yield "The first line rises or falls like an axis and is read as data. If it is names, add --header."
    counted = [number(cells[0], layout.separator) for cells in rows[layout.above :]]
    if labels is None and not layout.labelled and len(counted) >= ENOUGH and counts(counted):
        yield "The first column counts the lines and is read as data. If it is row names, add --labels."
    if header is None and labels is None and layout.labelled and _begins_empty(rows, layout, counted):
        yield (
            "The first line begins with an empty cell and is read as column names, the first column as row "
            "names. If they are data, add --no-header."
        )


def _begins_empty(rows: list[list[str]], layout: Layout, counted: list[float | None]) -> bool:
    """Whether an empty first cell alone made names of a line and a column that hold other numbers."""
    top = rows[layout.above - 1] if layout.above and layout.header is not None else [""]
    plain = len(top) > 1 and is_empty(top[0]) and not any(is_name(cell, layout.separator) for cell in top)
    return plain and not counts(counted) and None not in counted


def _usual_width(rows: list[list[str]], preferred: int = 0) -> int:
    """The most frequent number of cells; of equally frequent ones the preferred."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width == preferred))


def _mostly_names(cells: list[str], separator: str) -> bool:
    """Whether these are labels rather than numbers with a slip among them."""
    return 2 * sum(is_name(cell, separator) for cell in cells) > len(cells)


def _comments(rows: list[list[str]], separator: str) -> int:
    """How many rows at the top are comments: those after a #, but for a last one that fits as a header."""
    marked = [cells[0].lstrip().startswith("#") for cells in rows]
    if all(marked):
        return 0
    width = _usual_width([cells for cells, mark in zip(rows, marked, strict=True) if not mark])
    count = 0
    for cells in rows[: marked.index(False)]:
        if len(cells) == width and not any(is_name(cell, separator) for cell in cells[1:]):
            return count  # numbers behind a label that happens to begin with #
        count += 1
    if count and len(_uncommented(rows[count - 1])) in (width, width - 1):
        count -= 1
    return count


def _uncommented(cells: list[str]) -> list[str]:
    """A header without the # in front of it."""
    if cells[0].strip() == "#" and len(cells) > 1:
        return cells[1:]
    return [cells[0].lstrip().removeprefix("#").lstrip(), *cells[1:]]


def _split_loosely(line: str, separator: str) -> list[str]:
    try:
        return [cell for _, cells in split([line], separator) for cell in cells]
    except csv.Error:  # a quoted cell that spans lines
        return [line]
