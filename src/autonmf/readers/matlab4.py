"""MATLAB's version 4: five integers, a name and the numbers of each variable.

Not through SciPy, and nor is version 5: its readers end the whole program at some damaged files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.readers.room import check_room
from autonmf.readers.variables import Stored, Variable

PRECISIONS = (
    ("double", "f8"), ("single", "f4"), ("int32", "i4"), ("int16", "i2"), ("uint16", "u2"), ("uint8", "u1"),
)  # fmt: skip
"""MATLAB's name and the type of the numbers, by the tens of a header's first integer."""

FULL, TEXT, SPARSE = range(3)
"""What the numbers are, by its ones."""

LONGEST_NAME = 255


@dataclass(frozen=True)
class _Block:
    """The numbers of one variable: a matrix, column by column."""

    file: Path
    place: int
    shape: tuple[int, int]
    dtype: str

    @property
    def n_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * np.dtype(self.dtype).itemsize

    def read(self) -> Array:
        check_room(self.file, self.shape, np.dtype(self.dtype).itemsize)
        count = self.shape[0] * self.shape[1]
        numbers = np.fromfile(self.file, self.dtype, count, offset=self.place)
        return numbers.astype(numbers.dtype.newbyteorder("=")).reshape(self.shape, order="F")


def stored(file: Path) -> Iterator[Stored]:
    """The variables of a file, with functions that read them."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        while start := stream.read(20):
            if len(start) < 20:
                raise EOFError
            order = "<" if 0 <= int.from_bytes(start[:4], "little") < 5000 else ">"
            mode, rows, columns, imaginary, length = np.frombuffer(start, f"{order}i4").tolist()
            precision, content = divmod(mode % 100, 10)
            if mode // 100 not in (0, 10) or content > SPARSE or precision >= len(PRECISIONS):
                raise ValueError("a header makes no sense")
            if min(rows, columns) < 0 or not 0 < length <= LONGEST_NAME:
                raise ValueError("a header makes no sense")
            name = stream.read(length).rstrip(b"\0").decode("latin-1")
            kind, dtype = PRECISIONS[precision]
            block = _Block(file, stream.tell(), (rows, columns), order + dtype)
            end = block.place + block.n_bytes * (2 if imaginary else 1)
            if end > size:
                raise EOFError
            yield _variable(block, name, kind, content, bool(imaginary))
            stream.seek(end, os.SEEK_SET)


def _variable(block: _Block, name: str, kind: str, content: int, imaginary: bool) -> Stored:
    if content == SPARSE:
        shape = _sparse_shape(block)
        real = block.shape[1] == 3 and not imaginary  # a fourth column holds imaginary parts
        kind = "sparse" if real else "complex sparse"
        return Stored(Variable(name, shape, kind, numeric=real), partial(_sparse, block, shape))
    kind = "char" if content == TEXT else f"complex {kind}" if imaginary else kind
    numeric = content == FULL and not imaginary
    return Stored(Variable(name, block.shape, kind, numeric), block.read)


def _sparse_shape(block: _Block) -> tuple[int, int]:
    """The last row of a table of rows, columns and values holds the shape."""
    table = block.read()
    if table.shape[0] < 1 or table.shape[1] < 3 or not (table[-1, :2] >= 0).all():
        raise ValueError("a sparse matrix has no shape")
    rows, columns = (int(length) for length in table[-1, :2])
    return rows, columns


def _sparse(block: _Block, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    table = block.read()[:-1]
    with np.errstate(invalid="ignore"):  # what is no number ends up outside
        i, j = (table[:, axis].astype(np.int64) - 1 for axis in (0, 1))
    if len(table) and not (min(i.min(), j.min()) >= 0 and i.max() < shape[0] and j.max() < shape[1]):
        raise ValueError(f"an entry lies outside the {shape[0]} x {shape[1]} matrix")
    check_room(block.file, (shape[0] + 1,))
    return sparse.coo_matrix((table[:, 2], (i, j)), shape=shape).tocsr()
