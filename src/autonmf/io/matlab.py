"""MATLAB's .mat: versions 4 to 7 by hand, version 7.3 (HDF5) through h5py.

Not through `scipy.io.loadmat`, which is unsafe on damaged files: as of SciPy 1.17 it ends the whole program
(segmentation fault) at an unknown type in a version 5 file, which it looks up without a check
(scipy/scipy#6072 was an earlier case); it allocates what a header declares before it reads; and a version 4
file with a negative length makes it read the same variable forever.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.io.checks import Variable, check_memory, choose_variable, make_compressed, make_coordinates
from autonmf.io.hdf5 import as_text, get_item, is_group, is_link, load_arrays, load_matrix, open_hdf5
from autonmf.io.table import Table, explain_errors

HDF5 = b"\x89HDF\r\n\x1a\n"
CLASSES = {
    1: ("cell", ""), 2: ("struct", ""), 3: ("object", ""), 4: ("char", ""), 5: ("sparse", "f8"),
    6: ("double", "f8"), 7: ("single", "f4"), 8: ("int8", "i1"), 9: ("uint8", "u1"), 10: ("int16", "i2"),
    11: ("uint16", "u2"), 12: ("int32", "i4"), 13: ("uint32", "u4"), 14: ("int64", "i8"),
    15: ("uint64", "u8"), 16: ("function", ""), 17: ("opaque", ""),
}  # fmt: skip
"""MATLAB's classes, and the dtype of those that hold numbers."""

Found = tuple[Variable, Callable[[], Any]]
"""A variable and a function that reads it."""


def read(file: Path, variable: str | None = None) -> Table:
    """Read ``variable``; without it the only matrix of numbers."""
    with file.open("rb") as stream:
        start = stream.read(520)
    if start.startswith((b"MATLAB 7.3", HDF5)) or start[512:] == HDF5:
        return _read_version_73(file, variable)
    with explain_errors(file, "a MATLAB file"):
        list_variables = _list_version_4 if b"\0" in start[:4] else _list_version_5  # which begins with text
        found = list(list_variables(file))
        chosen = choose_variable(file, [described for described, _ in found], variable)
        X = next(load for described, load in found if described is chosen)()
        return Table(X, notes=(f"The matrix is the variable {chosen.name}.",))


# Version 7.3: HDF5, written column by column


def _read_version_73(file: Path, variable: str | None) -> Table:
    with open_hdf5(file, "a MATLAB 7.3 file") as content:
        names = [name for name in content if not name.startswith("#") and not is_link(content, name)]
        chosen = choose_variable(file, [_describe(file, name, content[name]) for name in names], variable)
        item = content[chosen.name]
        if not is_group(item):
            X = load_matrix(file, item, transposed=True)
        else:
            found = [get_item(file, item, name) for name in ("jc", "ir", "data")]
            # without data all entries are zero
            indptr, *parts = load_arrays(file, *(found if found[2] is not None else found[:1]))
            indices, values = parts or (np.zeros(0, np.int64), np.zeros(0))
            X = make_compressed(values, indices, indptr, (chosen.shape[0], chosen.shape[1]), by_columns=True)
        return Table(X, notes=(f"The matrix is the variable {chosen.name}.",))


def _describe(file: Path, name: str, item: Any) -> Variable:
    """Describe a variable, with its shape as MATLAB shows it."""
    kind = as_text(item.attrs.get("MATLAB_class", ""))
    if is_group(item):
        if "MATLAB_sparse" not in item.attrs:
            return Variable(name, (), kind or "struct", numeric=False)
        n, m = int(item.attrs["MATLAB_sparse"]), len(get_item(file, item, "jc")) - 1
        return Variable(name, (n, m), "sparse", numeric=True)
    numbers = kind in ("", "logical", *(name for name, dtype in CLASSES.values() if dtype))
    numeric = item.dtype.kind in "biuf" and numbers and not item.attrs.get("MATLAB_empty", 0)
    return Variable(name, item.shape[::-1], kind or str(item.dtype), bool(numeric))


# Version 4: five integers, a name and the numbers of each variable

PRECISIONS = (
    ("double", "f8"), ("single", "f4"), ("int32", "i4"), ("int16", "i2"), ("uint16", "u2"), ("uint8", "u1"),
)  # fmt: skip
FULL, TEXT, SPARSE = range(3)


def _list_version_4(file: Path) -> Iterator[Found]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        while start := stream.read(20):
            if len(start) < 20:
                raise EOFError
            order = "<" if int.from_bytes(start[:4], "little") < 5000 else ">"
            mode, rows, columns, imaginary, length = np.frombuffer(start, f"{order}i4").tolist()
            precision, content = divmod(mode % 100, 10)
            known = mode // 100 in (0, 10) and content <= SPARSE and precision < len(PRECISIONS)
            if not known or min(rows, columns) < 0 or not 0 < length < 256:
                raise ValueError("the header of a variable is not valid")
            name = stream.read(length).rstrip(b"\0").decode("latin-1")
            kind, code = PRECISIONS[precision]
            dtype, place, complex_ = np.dtype(order + code), stream.tell(), "complex " * bool(imaginary)
            end = place + rows * columns * dtype.itemsize * (2 if imaginary else 1)
            if end > size:
                raise EOFError
            load: Callable[[], Any] = partial(_load_columns, file, place, (rows, columns), dtype)
            if content == SPARSE:  # a table of rows, columns and values, the shape in its last row
                table = load()
                if rows < 1 or columns < 3 or not (table[-1, :2] >= 0).all():
                    raise ValueError("a sparse matrix has no shape")
                shape = (int(table[-1, 0]), int(table[-1, 1]))
                complex_ = "" if columns == 3 and not imaginary else "complex "
                i, j, values = table[:-1, :3].T
                load = partial(make_coordinates, file, i, j, values, shape)
                yield Variable(name, shape, f"{complex_}sparse", numeric=not complex_), load
            else:
                kind = "char" if content == TEXT else complex_ + kind
                yield Variable(name, (rows, columns), kind, numeric=content == FULL and not complex_), load
            stream.seek(end)


def _load_columns(file: Path, place: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    check_memory(file, (shape, dtype.itemsize))
    numbers = np.fromfile(file, dtype, shape[0] * shape[1], offset=place)
    return numbers.astype(dtype.newbyteorder("=")).reshape(shape, order="F")


# Versions 5 to 7: nested elements, each with its type and its length

MATRIX, COMPRESSED = 14, 15
DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
IS_COMPLEX, IS_LOGICAL = 0x0800, 0x0200
BEGINNING = 1024
"""Bytes of a matrix that hold its class, shape and name."""


class _Element(NamedTuple):
    """An element of a file, or of a matrix."""

    kind: int
    data: bytes
    order: str

    def numbers(self) -> Array:
        if self.kind not in DTYPES:
            raise ValueError(f"an element of type {self.kind} where numbers are expected")
        return np.frombuffer(self.data, self.order + DTYPES[self.kind])

    def parts(self) -> Iterator[_Element]:
        """The elements in the data of a matrix; the last may be cut short."""
        place = 0
        while place + 8 <= len(self.data):
            kind, length = np.frombuffer(self.data, f"{self.order}u4", 2, place).tolist()
            start, step = place + 8, 8 + length + -length % 8
            if kind >> 16:  # up to four bytes lie in the tag itself
                kind, length, start, step = kind & 0xFFFF, kind >> 16, place + 4, 8
                if length > 4:
                    raise ValueError("an element is too long for its tag")
            yield _Element(kind, self.data[start : start + length], self.order)
            place += step


def _list_version_5(file: Path) -> Iterator[Found]:
    size, place = file.stat().st_size, 128
    with file.open("rb") as stream:
        mark = stream.read(place)[126:]
        if mark not in (b"IM", b"MI"):
            raise ValueError("it does not have the header of a MATLAB file")
        order = "<" if mark == b"IM" else ">"
        while tag := stream.read(8):
            if len(tag) < 8:
                raise EOFError
            kind, length = np.frombuffer(tag, f"{order}u4").tolist()
            if place + 8 + length > size:
                raise EOFError
            if kind in (MATRIX, COMPRESSED):
                variable, load = _describe_matrix(file, kind, place + 8, length, order)
                if variable.name:  # internal variables of MATLAB have no name
                    yield variable, load
            place += 8 + length
            stream.seek(place)


def _load_element(file: Path, kind: int, place: int, length: int, order: str, limit: int = 0) -> _Element:
    """Load a matrix, unzipped, or at most ``limit`` bytes of it."""
    with file.open("rb") as stream:
        stream.seek(place)
        data = stream.read(min(length, limit) if limit else length)
    if kind == COMPRESSED:
        unzip = zlib.decompressobj()
        kind, length = np.frombuffer(unzip.decompress(data, 8), f"{order}u4").tolist()
        if kind != MATRIX:
            raise ValueError("a compressed element holds no matrix")
        if limit:
            return _Element(kind, unzip.decompress(unzip.unconsumed_tail, limit), order)
        check_memory(file, ((length,), 1))
        data = unzip.decompress(unzip.unconsumed_tail, length + 1)  # one more reaches the checksum
        if not unzip.eof or len(data) != length:
            raise EOFError
    return _Element(kind, data, order)


def _describe_matrix(file: Path, kind: int, place: int, length: int, order: str) -> Found:
    """Describe a variable by its beginning: flags, shape and name."""
    load = partial(_load_element, file, kind, place, length, order)
    parts = load(limit=BEGINNING).parts()
    flags = int(next(parts).numbers()[0])
    name, dtype = CLASSES.get(flags & 0xFF, ("unknown", ""))
    shape = () if name == "opaque" else tuple(map(int, next(parts).numbers()))
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    if flags & IS_LOGICAL and name != "sparse":
        name = "logical"
    is_complex = bool(flags & IS_COMPLEX)
    read_numbers = partial(_read_sparse if name == "sparse" else _read_full, file, load, shape, dtype)
    shown = next(parts).data.rstrip(b"\0").decode("latin-1")
    described = Variable(shown, shape, "complex " * is_complex + name, numeric=bool(dtype) and not is_complex)
    return described, read_numbers


def _read_full(file: Path, load: Callable[[], _Element], shape: tuple[int, ...], dtype: str) -> Array:
    check_memory(file, (shape, np.dtype(dtype).itemsize))
    numbers = list(load().parts())[3].numbers()
    return numbers.astype(dtype).reshape(shape, order="F")


def _read_sparse(file: Path, load: Callable[[], _Element], shape: tuple[int, ...], dtype: str) -> Any:
    n, m = shape
    check_memory(file, ((m + 1,), 8))
    _, _, _, rows_part, ends_part, values_part, *_ = load().parts()
    rows, ends = rows_part.numbers(), ends_part.numbers()
    count = int(ends[-1]) if len(ends) else 0
    if len(values_part.data) < 8 * count and values_part.kind == 9:
        values_part = values_part._replace(kind=2)  # logical values are bytes, also where the type is double
    values = values_part.numbers()
    if not 0 <= count <= min(len(rows), len(values)):
        raise EOFError
    return make_compressed(values[:count].astype(dtype), rows[:count], ends, (n, m), by_columns=True)
