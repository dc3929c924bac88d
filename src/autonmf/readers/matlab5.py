"""MATLAB's versions 5 to 7: elements within elements, each with its type and its length."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.readers.compressed import compressed_matrix
from autonmf.readers.room import check_room
from autonmf.readers.variables import Stored, Variable

HEADER = 128
"""Bytes before the first element: text, the version and the order of bytes."""

BEGINNING = 1024
"""Bytes of a matrix that hold its class, shape and name."""

MATRIX, COMPRESSED = 14, 15
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""How the numbers of an element are stored, by its type."""

CLASSES = {
    1: ("cell", ""), 2: ("struct", ""), 3: ("object", ""), 4: ("char", ""), 5: ("sparse", "f8"),
    6: ("double", "f8"), 7: ("single", "f4"), 8: ("int8", "i1"), 9: ("uint8", "u1"), 10: ("int16", "i2"),
    11: ("uint16", "u2"), 12: ("int32", "i4"), 13: ("uint32", "u4"), 14: ("int64", "i8"),
    15: ("uint64", "u8"), 16: ("function", ""), 17: ("opaque", ""),
}  # fmt: skip
"""MATLAB's classes, and how the numbers of those that have some are kept in memory."""

IS_COMPLEX, IS_LOGICAL = 0x0800, 0x0200


class _Element(NamedTuple):
    kind: int
    data: bytes


class _Place(NamedTuple):
    """Where a matrix is in its file."""

    file: Path
    place: int
    length: int
    compressed: bool
    order: str

    def beginning(self) -> bytes:
        return self._bytes(BEGINNING, BEGINNING)

    def whole(self) -> bytes:
        if not self.compressed:
            return self._bytes(self.length, self.length)
        kind, length = np.frombuffer(self._bytes(BEGINNING, 8, inside=False), f"{self.order}u4").tolist()
        if kind != MATRIX:
            raise ValueError("a compressed element holds no matrix")
        check_room(self.file, (length,), 1)
        return self._bytes(self.length, length, whole=True)

    def _bytes(self, length: int, limit: int, *, inside: bool = True, whole: bool = False) -> bytes:
        """At most ``limit`` bytes of the matrix, from ``length`` of the file; inside: behind its tag."""
        with self.file.open("rb") as stream:
            stream.seek(self.place)
            data = stream.read(min(length, self.length))
        if not self.compressed:
            return data
        unzip = zlib.decompressobj()
        tag = 8 if inside else 0
        found = unzip.decompress(data, limit + tag + (1 if whole else 0))  # one more reaches the checksum
        if whole and not (unzip.eof and len(found) == limit + tag):
            raise EOFError
        return found[tag:]


def stored(file: Path) -> Iterator[Stored]:
    """The variables of a file, with functions that read them."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(HEADER)
        if start[126:] not in (b"IM", b"MI"):
            raise ValueError("its header is not that of a MATLAB file")
        order = "<" if start[126:] == b"IM" else ">"
        place = HEADER
        while tag := stream.read(8):
            if len(tag) < 8:
                raise EOFError
            kind, length = np.frombuffer(tag, f"{order}u4").tolist()
            if place + 8 + length > size:
                raise EOFError
            if kind in (MATRIX, COMPRESSED):
                found = _described(_Place(file, place + 8, length, kind == COMPRESSED, order))
                if found.variable.name:  # what MATLAB keeps for itself has no name
                    yield found
            place += 8 + length
            stream.seek(place)


def _described(place: _Place) -> Stored:
    """A variable from its beginning: flags, shape and name."""
    parts = _elements(place.beginning(), place.order)
    flags = int(_numbers(next(parts), place.order)[0])
    kind, dtype = CLASSES.get(flags & 0xFF, ("unknown", ""))
    dimensions = () if kind == "opaque" else _numbers(next(parts), place.order).tolist()
    if min(dimensions, default=0) < 0:
        raise ValueError(f"its shape is {dimensions}")
    name = next(parts).data.rstrip(b"\0").decode("latin-1")
    numeric = bool(dtype) and not flags & IS_COMPLEX
    if flags & IS_LOGICAL and kind != "sparse":
        kind = "logical"
    if flags & IS_COMPLEX:
        kind = f"complex {kind}"
    shape = tuple(int(length) for length in dimensions)
    read = partial(_sparse if kind == "sparse" else _full, place, shape, dtype)
    return Stored(Variable(name, shape, kind, numeric), read)


def _full(place: _Place, shape: tuple[int, ...], dtype: str) -> Array:
    check_room(place.file, shape, np.dtype(dtype).itemsize)
    numbers = _numbers(list(_elements(place.whole(), place.order))[3], place.order)
    return numbers.astype(dtype).reshape(shape, order="F")


def _sparse(place: _Place, shape: tuple[int, ...], dtype: str) -> Any:
    n, m = shape
    check_room(place.file, (m + 1,))
    *_, rows_part, ends_part, values_part = list(_elements(place.whole(), place.order))[:6]
    rows, ends = (_numbers(part, place.order) for part in (rows_part, ends_part))
    count = int(ends[-1]) if len(ends) else 0
    if len(values_part.data) < 8 * count:  # logical ones are bytes, even where the type says double
        values_part = values_part._replace(kind=2 if values_part.kind == 9 else values_part.kind)
    values = _numbers(values_part, place.order)
    if not 0 <= count <= min(len(rows), len(values)):
        raise EOFError
    return compressed_matrix(values[:count].astype(dtype), rows[:count], ends, (n, m), by_columns=True)


def _elements(data: bytes, order: str) -> Iterator[_Element]:
    """The elements in the bytes of a matrix; the last may be cut short."""
    place = 0
    while place + 8 <= len(data):
        kind, length = np.frombuffer(data, f"{order}u4", 2, place).tolist()
        if kind >> 16:  # up to four bytes lie in the tag itself
            kind, length = kind & 0xFFFF, kind >> 16
            if length > 4:
                raise ValueError("an element is too long for its tag")
            yield _Element(kind, data[place + 4 : place + 4 + length])
            place += 8
        else:
            yield _Element(kind, data[place + 8 : place + 8 + length])
            place += 8 + length + -length % 8


def _numbers(element: _Element, order: str) -> Array:
    if element.kind not in TYPES:
        raise ValueError(f"an element of type {element.kind} where numbers are expected")
    return np.frombuffer(element.data, order + TYPES[element.kind])
