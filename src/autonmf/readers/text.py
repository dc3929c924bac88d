"""Numbers in text: .csv, .tsv and .txt, unzipped where needed."""

from __future__ import annotations

import codecs
import csv
import io
import math
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from autonmf.readers.cells import DECIMAL_COMMA, has_thousands, number
from autonmf.readers.layout import Layout, Row, doubts, find_layout, find_separator, split
from autonmf.readers.room import NUMBER, check_room, memory
from autonmf.readers.table import ReadError, Table, parsing
from autonmf.readers.zipped import opened

SAMPLE_LINES = 100
SAMPLE_CHARACTERS = 200_000
SAMPLE_CELLS = 100_000
"""How much of a file is looked at to find its layout."""

LONGEST_LINE = 200_000_000
"""Characters in a line; one with more is no table but, say, a small file that unzips to a large one."""

T = TypeVar("T")


def read(file: Path, header: bool | None = None, labels: bool | None = None) -> Table:
    """Read the table; its separator, header and row labels are found from its first lines."""
    with parsing(file, "text"), opened(file) as stream:
        start = stream.peek(1024)
        encoding = _encoding(start)
        if encoding == "utf-8" and b"\0" in start:
            raise ReadError(f"{file} is not a text file, whatever its name says")
        text = io.TextIOWrapper(stream, encoding, errors="autonmf-windows", newline="")
        return _table(file, _lines(file, text), header, labels)


def _lines(file: Path, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a text, none of them so long that it would fill the memory."""
    for line_number in count(1):
        line = text.readline(LONGEST_LINE)
        if len(line) >= LONGEST_LINE:
            raise ReadError(f"{file}, line {line_number} is longer than {LONGEST_LINE} characters")
        if not line:
            return
        yield line


def _table(file: Path, lines: Iterator[str], header: bool | None, labels: bool | None) -> Table:
    sample = _sample(lines)
    separator = find_separator([line for line in sample if line.strip()])
    rows = _rows(file, split(chain(sample, lines), separator))
    first = _first(rows)
    if not first:
        raise ReadError(f"{file} is empty: it has blank lines only")
    sampled = [cells for _, cells in first]
    layout = find_layout(sampled, separator, header, labels)
    parser = _Parser(file, layout)
    parser.notes.append(str(layout))
    parser.doubts.extend(doubts(sampled, layout, header, labels))
    for line, cells in islice(chain(first, rows), layout.above, None):
        parser.add(line, cells)
    return parser.table()


class _Parser:
    """Numbers and labels, line by line."""

    def __init__(self, file: Path, layout: Layout) -> None:
        self.file, self.layout = file, layout
        self.numbers = array("d")
        self.most = (memory() or math.inf) / NUMBER
        self.labels: list[str] = []
        self.missing = 0  # how many numbers are
        self.first_missing = ""
        self.notes: list[str] = []
        self.doubts: list[str] = []

    def add(self, line: int, cells: list[str]) -> None:
        """Take one line."""
        layout = self.layout
        if layout.trailing and len(cells) == layout.width + 1:
            cells = cells[:-1]
        if len(cells) != layout.width:
            raise ReadError(
                f"{self.file}, line {line}: {len(cells)} cells where {layout.width} are expected. "
                "Every line needs the same number of cells."
            )
        if layout.labelled:
            self.labels.append(cells[0].strip())
            cells = cells[1:]
        try:
            numbers = [float(cell) for cell in cells]
        except ValueError:
            numbers = []
        if not numbers or math.isnan(sum(numbers)) or "_" in "".join(cells):
            numbers = self._one_by_one(line, cells)
        self.numbers.extend(numbers)
        if len(self.numbers) > self.most:
            check_room(self.file, (line, len(numbers)))

    def _one_by_one(self, line: int, cells: list[str]) -> list[float]:
        """The numbers of a line that has more in it, with a message for what cannot be one."""
        separator = self.layout.separator
        if separator == DECIMAL_COMMA and any("." in c for c in cells) and any("," in c for c in cells):
            raise ReadError(f"{self.file}, line {line}: both decimal points and decimal commas")
        numbers = []
        for index, cell in enumerate(cells):
            value = number(cell, separator)
            if value is None:
                place = f"{self.file}, line {line}, {self._column(index)}"
                raise ReadError(f"{place}: {_short(cell)} is not a number. {self._remedy(cell)}")
            if math.isnan(value):
                self.missing += 1
                self.first_missing = self.first_missing or f"line {line}, {self._column(index)}"
            numbers.append(value)
        return numbers

    def _remedy(self, cell: str) -> str:
        """What to do about a cell that is not a number."""
        if has_thousands(cell):
            first = not self.numbers and self.layout.header is None
            names = " If the line holds names, add --header." if first else ""
            return f"Remove commas between thousands; write decimal points.{names}"
        comma = number(cell, DECIMAL_COMMA) is not None
        return "Use decimal points." if comma else "Correct it, or remove that column."

    def _column(self, index: int) -> str:
        names = self.layout.header
        name = f" ({names[index]})" if names and index < len(names) and names[index] else ""
        return f"column {index + 1 + self.layout.labelled}{name}"

    def table(self) -> Table:
        """Everything that was added."""
        layout, file = self.layout, self.file
        columns = layout.width - layout.labelled
        if not self.numbers:
            raise ReadError(f"{file} has no line of numbers")
        if layout.header is not None and len(layout.header) != columns:
            raise ReadError(f"{file}: the header has {len(layout.header)} names for {columns} columns")
        if self.missing:
            several = f"{self.missing} numbers are missing, the first"
            what = several if self.missing > 1 else "One number is missing,"
            self.notes.append(f"{what} at {self.first_missing}.")
        return Table(
            np.frombuffer(self.numbers).reshape(-1, columns),
            self.labels if layout.labelled else None,
            layout.header,
            tuple(self.notes),
            tuple(self.doubts),
        )


def _rows(file: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, with the line number where quoting goes wrong."""
    line = 0
    try:
        for line, cells in rows:
            yield line, cells
    except csv.Error as error:
        raise ReadError(f"{file}, after line {line}: bad quotation marks ({error})") from error


def _sample(lines: Iterator[str]) -> list[str]:
    """The first lines, fewer if they are long."""
    return list(_until(lines, SAMPLE_CHARACTERS, len))


def _first(rows: Iterator[Row]) -> list[Row]:
    """The first rows, fewer if they have many cells."""
    return list(_until(rows, SAMPLE_CELLS, lambda row: len(row[1])))


def _until(items: Iterator[T], limit: int, size: Callable[[T], int]) -> Iterator[T]:
    """Items until there are `SAMPLE_LINES`, or more than three of the total size ``limit``."""
    total = 0
    for seen, item in enumerate(items, 1):
        yield item
        total += size(item)
        if seen >= SAMPLE_LINES or (seen >= 3 and total >= limit):
            return


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 30 else f"{cell[:30]}...")


def _encoding(start: bytes) -> str:
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8"


def _from_windows(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not UTF-8, read as Windows writes them."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252", errors="replace") for byte in wrong), error.end


codecs.register_error("autonmf-windows", _from_windows)
