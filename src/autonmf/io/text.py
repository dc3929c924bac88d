"""Numbers in text: .csv, .tsv and .txt, also compressed by gzip.

The layout is found from the first lines. The lines below are parsed in chunks by pyarrow, if it is installed,
as long as they are plain: numbers, row names, missing cells. From the first chunk that is not, for example
with quoted numbers or lines of different lengths, they are parsed cell by cell, which is slower. The results
are the same, and errors name the line and the column.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain, islice, product
from pathlib import Path
from typing import TypeVar

import numpy as np

from autonmf._types import Array
from autonmf.io import layout as cells_of
from autonmf.io.checks import check_expansion, check_memory
from autonmf.io.layout import DECIMAL_COMMA, Layout, Row, parse_number
from autonmf.io.table import ReadError, Table, explain_errors, list_names

SAMPLE_LINES = 100
SAMPLE_CHARACTERS = 200_000
SAMPLE_CELLS = 100_000
"""Limits on the part of a file that is read to find its layout."""

MAX_LINE = 200_000_000
"""Maximum number of characters per line; a file with a longer line is not a table."""

CHUNK = 1 << 22
"""Characters that are parsed at a time."""

SPELLINGS = sorted(
    "".join(letters)
    for word in cells_of.MISSING
    for letters in product(*({letter.lower(), letter.upper()} for letter in word))
)
"""Cells that stand for a missing number."""

MOST_ZIPPED = 1032
"""Maximum compression ratio of gzip."""

ARROW_FROM = 1 << 19
"""Minimum number of characters for pyarrow: below, importing it takes longer than parsing cell by cell."""

T = TypeVar("T")


def open_bytes(file: Path) -> gzip.GzipFile | io.BufferedReader:
    """Open a file for reading bytes, unzipped where its name ends in .gz."""
    if file.suffix.lower() != ".gz":
        return file.open("rb")
    with file.open("rb") as stream, gzip.GzipFile(file) as unzipped:
        unzipped.peek(1)  # an error if it is no gzip file
        size = file.stat().st_size
        stream.seek(size - 4)
        length = int.from_bytes(stream.read(), "little")  # unzipped, unless the file is truncated
        check_expansion(file, 4 * length if length <= MOST_ZIPPED * size else 0)
    return gzip.GzipFile(file)


def read(
    file: Path, header: bool | None = None, labels: bool | None = None, annotations: Sequence[str] = ()
) -> Table:
    """Read the table; its separator, header and row names are found from its first lines.

    Columns named in ``annotations``, which may also be numbers and ranges such as 2-4, are kept apart.
    """
    with explain_errors(file, "text"), _open_text(file) as text:
        chunks = read_chunks(file, text)
        head: list[str] = []
        n_blank = 0  # lines before it
        for lines in chunks:
            head += lines
            if not any(head):
                n_blank, head = n_blank + len(head), []
            elif len(head) >= SAMPLE_LINES or (len(head) >= 3 and sum(map(len, head)) >= SAMPLE_CHARACTERS):
                break
        sample = list(_take_some(head, SAMPLE_CHARACTERS, len))
        separator = cells_of.find_separator([line for line in sample if line.strip()])
        rows = _split_lines(file, head, separator, n_blank)
        first = list(_take_some(rows, SAMPLE_CELLS, lambda row: len(row[1])))
        if not first:
            raise ReadError(f"{file} is empty: it has blank lines only")
        aside, sampled = cells_of.set_aside(file, [cells for _, cells in first], annotations)
        layout = cells_of.find_layout(sampled, separator, header, labels)
        if layout.header is None:  # the first line is data, not names
            aside = {f"column {place + 1}": place for place in aside.values()}
        start = first[layout.above - 1][0] if layout.above else n_blank
        parser = _Parser(file, layout, start, aside)
        parser.parse(chain([head[start - n_blank :]], chunks))
        return parser.make_table(tuple(cells_of.list_doubts(sampled, layout, header, labels)))


def read_annotation(file: Path, column: str, row_names: Sequence[str] | None, n_rows: int) -> list[str]:
    """Read a column of a text table that describes the rows of a matrix; empty text for rows without a line.

    The first column holds the names of the rows. For a matrix without names, the table must have a line for
    each of its rows, in order.
    """
    if not file.is_file():
        raise ReadError(f"{file} does not exist" if not file.exists() else f"{file} is a folder")
    with explain_errors(file, "text"), _open_text(file) as text:
        lines = [line for chunk in read_chunks(file, text) for line in chunk if line.strip()]
    separator = max(cells_of.SEPARATORS, key=lambda each: lines[0].count(each) if lines else 0)
    rows = [[cell.strip() for cell in cells] for _, cells in _split_lines(file, lines, separator)]
    if not rows or column not in rows[0]:
        listed = list_names(map(repr, rows[0] if rows else ()))
        raise ReadError(f"{file} has no column {column!r}; its columns: {listed}")
    shift = 1 if len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1 else 0  # as R writes it
    place = rows[0].index(column) + shift
    values = [(cells[0], cells[place]) for cells in rows[1:] if len(cells) > place]
    if row_names is None:
        if len(values) != n_rows:
            raise ReadError(f"{file} has {len(values)} lines for {n_rows} rows without names")
        return [value for _, value in values]
    known = dict(values)
    if not known.keys() & set(row_names):
        raise ReadError(
            f"{file}: none of the names in its first column, such as {values[0][0]!r}, is the name of a row, "
            f"such as {row_names[0]!r}"
            if values
            else f"{file} has no lines below its header"
        )
    return [known.get(name, "") for name in row_names]


class _Parser:
    """The numbers and row names of a file below its header."""

    def __init__(self, file: Path, layout: Layout, n_lines: int, aside: dict[str, int]) -> None:
        self.file, self.layout = file, layout
        self.aside = aside  # annotation columns and their places in a line
        self.annotations: dict[str, list[str]] = {name: [] for name in aside}
        self.marks: set[str] = set()  # decimal points or commas
        self.n_lines = n_lines  # so far
        self.blocks: list[Array] = []
        self.n_rows = 0
        self.row_names: list[str] = []
        self.n_missing = 0
        self.first_missing = ""

    def parse(self, chunks: Iterator[list[str]]) -> None:
        """Parse all lines: in chunks while they are plain, then one by one."""
        for lines in chunks:
            if not any(lines):  # blank
                self.n_lines += len(lines)
                continue
            plain = None if self.aside else _parse_plain(lines, self.layout)
            if plain is None:
                self._parse_carefully(chain(lines, chain.from_iterable(chunks)))
                return
            X, names = plain
            missing = np.isnan(X)
            if n_missing := int(np.count_nonzero(missing)):
                row, column = divmod(int(np.argmax(missing)), X.shape[1])
                filled = (number for number, line in enumerate(lines, 1) if line.strip(" "))
                self._note_missing(self.n_lines + next(islice(filled, row, None)), column, n_missing)
            self._add(X, names)
            self.n_lines += len(lines)

    def _parse_carefully(self, lines: Iterator[str]) -> None:
        rows = _split_lines(self.file, lines, self.layout.separator, self.n_lines)
        n_columns = self.layout.width - self.layout.labelled
        while some := list(_take_some(rows, CHUNK // 16, lambda row: len(row[1]), at_most=CHUNK)):
            X = np.empty((len(some), n_columns))
            for numbers, (line, cells) in zip(X, some, strict=True):
                numbers[:] = self._parse_row(line, cells)
            self._add(X)

    def _parse_row(self, line: int, cells: list[str]) -> list[float]:
        layout, n_aside = self.layout, len(self.aside)
        if layout.trailing and len(cells) == layout.width + n_aside + 1 and cells_of.is_empty(cells[-1]):
            cells = cells[:-1]
        if len(cells) != layout.width + n_aside:
            raise ReadError(
                f"{self.file}, line {line}: {len(cells)} cells where {layout.width + n_aside} are expected. "
                "Every line needs the same number of cells."
            )
        for name, place in self.aside.items():
            self.annotations[name].append(cells[place].strip())
        cells = cells_of.without(cells, self.aside.values())
        if layout.labelled:
            self.row_names.append(cells[0].strip())
            cells = cells[1:]
        if layout.separator == DECIMAL_COMMA:
            self._check_marks(line, cells)
        try:
            numbers = [float(cell) for cell in cells]
            if numbers and not math.isnan(sum(numbers)) and "_" not in "".join(cells):
                return numbers
        except ValueError:
            pass
        return [self._parse_cell(line, index, cell) for index, cell in enumerate(cells)]

    def _check_marks(self, line: int, cells: list[str]) -> None:
        """Refuse a file with decimal points and decimal commas, since 1.234 would be ambiguous."""
        known = [cell for cell in cells if parse_number(cell, DECIMAL_COMMA) is not None]
        self.marks |= {mark for mark in ".," if any(mark in cell for cell in known)}
        if len(self.marks) > 1:
            raise ReadError(
                f"{self.file}, line {line}: both decimal points and decimal commas. Use one, and no "
                "separator between thousands."
            )

    def _parse_cell(self, line: int, index: int, cell: str) -> float:
        value = parse_number(cell, self.layout.separator)
        if value is None:
            shown = repr(cell if len(cell) <= 30 else f"{cell[:30]}...")
            remedy = f"Correct it, or leave that column out with --annotations {self._place(index)}."
            if cells_of.has_thousands(cell):
                remedy = "Remove the separators between thousands."
                if not self.n_rows and self.layout.header is None:
                    remedy += " If the line holds names, add --header."
            elif parse_number(cell, DECIMAL_COMMA) is not None:
                remedy = "Use decimal points."
            place = f"{self.file}, line {line}, {self._name_column(index)}"
            raise ReadError(f"{place}: {shown} is not a number. {remedy}")
        if math.isnan(value):
            self._note_missing(line, index)
        return value

    def _note_missing(self, line: int, index: int, n_missing: int = 1) -> None:
        self.first_missing = self.first_missing or f"line {line}, {self._name_column(index)}"
        self.n_missing += n_missing

    def _name_column(self, index: int) -> str:
        names = self.layout.header
        name = f" ({names[index]})" if names and index < len(names) and names[index] else ""
        return f"column {self._place(index)}{name}"

    def _place(self, index: int) -> int:
        """The number of a column in the file, from 1."""
        place = index + self.layout.labelled
        for aside in sorted(self.aside.values()):
            place += aside <= place
        return place + 1

    def _add(self, X: Array, names: Iterable[str] = ()) -> None:
        self.blocks.append(X)
        self.row_names += names
        self.n_rows += len(X)
        check_memory(self.file, ((self.n_rows, X.shape[1]), 8))

    def make_table(self, doubts: tuple[str, ...]) -> Table:
        if not any(block.size for block in self.blocks):
            raise ReadError(f"{self.file} has no line of numbers")
        X, names = np.concatenate(self.blocks), self.layout.header
        if names is not None and len(names) != X.shape[1]:
            raise ReadError(f"{self.file}: the header has {len(names)} names for {X.shape[1]} columns")
        notes = [str(self.layout)]
        if self.n_missing:
            several = f"{self.n_missing} numbers are missing, the first"
            what = several if self.n_missing > 1 else "One number is missing,"
            notes.append(f"{what} at {self.first_missing}.")
        if self.aside:
            notes.append(f"Annotation columns, which are not factorised: {', '.join(self.aside)}.")
        rows = self.row_names if self.layout.labelled else None
        return Table(X, rows, names, tuple(notes), doubts, self.annotations)


# Plain lines: without quoted numbers, all with the same number of cells


def _parse_plain(lines: list[str], layout: Layout) -> tuple[Array, list[str]] | None:
    """Parse lines with pyarrow; None if the result might differ from that cell by cell."""
    separator, names = layout.separator, []
    if sum(map(len, lines)) < ARROW_FROM:
        return None
    if separator == " ":
        lines = [re.sub(" +", " ", line.strip()) for line in lines]
    lines = [line for line in lines if line]
    if layout.labelled and lines:
        names, lines = map(list, zip(*(line.partition(separator)[::2] for line in lines), strict=True))
        for index, name in enumerate(names):
            quoted = re.fullmatch(r' *"([^"]*)"', name) if '"' in name else None
            if '"' in name and quoted is None:
                return None
            names[index] = (quoted[1] if quoted else name).strip()
    if layout.trailing:
        if not all(line.endswith(separator) for line in lines):
            return None
        lines = [line[:-1] for line in lines]
    n_columns = layout.width - layout.labelled
    if any(line.count(separator) != n_columns - 1 for line in lines):
        return None
    text = "\n".join(lines)
    if separator == DECIMAL_COMMA and "," in text:
        if "." in text:
            return None
        text = text.replace(",", ".")
    try:
        return _parse_with_arrow(text, separator).reshape(-1, n_columns), names
    except MemoryError:
        raise
    except Exception:  # a cell that it cannot parse, or pyarrow is not installed
        return None


def _parse_with_arrow(text: str, separator: str) -> Array:
    """Parse all cells as one column, since pyarrow is slow on thousands of columns."""
    arrow, arrow_csv = import_module("pyarrow"), import_module("pyarrow.csv")
    table = arrow_csv.read_csv(
        arrow.BufferReader((text.replace(separator, "\n") + "\n").encode()),
        arrow_csv.ReadOptions(column_names=["x"]),
        arrow_csv.ParseOptions(delimiter="\x1f", quote_char=False, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(
            column_types={"x": arrow.float64()}, null_values=[] if separator == " " else SPELLINGS
        ),
    )
    column = table.column(0)
    filled = column.fill_null(math.nan).combine_chunks()
    # Not by `to_numpy`, which would import pandas, and that is slow.
    X: Array = np.frombuffer(filled.buffers()[1], np.float64, len(filled), 8 * filled.offset)
    if np.count_nonzero(np.isnan(X)) != column.null_count:
        raise ValueError("a cell such as nan(1), which is not a number elsewhere")
    return X


# Lines


def _open_text(file: Path) -> io.TextIOWrapper:
    """Open a file for reading text, in UTF-8 unless its first bytes say otherwise."""
    with open_bytes(file) as stream:
        start = stream.peek(1024)
    encoding = "utf-8"
    if start.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in start:
        raise ReadError(f"{file} is not a text file despite its name")
    return io.TextIOWrapper(open_bytes(file), encoding, errors="autonmf-windows")


def read_chunks(file: Path, text: io.TextIOWrapper) -> Iterator[list[str]]:
    """Read lines, without their ends, in lists of about `CHUNK` characters."""
    n_lines, n_read, rest = 0, 0, [""]
    while some := text.read(CHUNK):
        n_read += len(some)
        check_expansion(file, 4 * n_read)  # bytes, if all cells have one digit
        *lines, last = some.split("\n")
        if lines:
            lines[0] = "".join((*rest, lines[0]))
            n_lines, rest = n_lines + len(lines), []
            yield lines
        rest.append(last)
        if n_read > MAX_LINE and sum(map(len, rest)) > MAX_LINE:
            raise ReadError(f"{file}, line {n_lines + 1} is longer than {MAX_LINE} characters")
    if any(rest):
        yield ["".join(rest)]


def _split_lines(file: Path, lines: Iterable[str], separator: str, n_before: int = 0) -> Iterator[Row]:
    """Split lines into cells; an error names the line after which quotation marks are wrong."""
    line = n_before
    try:
        for number, cells in cells_of.split_lines((f"{line}\n" for line in lines), separator):
            line = n_before + number
            yield line, cells
    except csv.Error as error:
        raise ReadError(f"{file}, after line {line}: bad quotation marks ({error})") from error


def _take_some(
    items: Iterable[T], limit: int, size: Callable[[T], int], at_most: int = SAMPLE_LINES
) -> Iterator[T]:
    """Take items until there are ``at_most``, or more than three of the total size ``limit``."""
    total = 0
    for seen, item in enumerate(items, 1):
        yield item
        total += size(item)
        if seen >= at_most or (seen >= 3 and total >= limit):
            return


def _decode_windows(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as Windows writes them."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252", errors="replace") for byte in wrong), error.end


codecs.register_error("autonmf-windows", _decode_windows)
