"""Matrix Market's .mtx, sparse (coordinate) or dense (array).

Not through SciPy: its reader ends the whole program at a number that it cannot parse, as in a truncated file
(scipy/scipy#19949).
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.readers.room import check_room
from autonmf.readers.table import ReadError, Table, parsing
from autonmf.readers.zipped import opened

VALUES = {"pattern": 0, "integer": 1, "real": 1, "double": 1}
"""Numbers that stand for one entry, by the kind of values."""


def read(file: Path) -> Table:
    """Read the matrix, unzipping it if its name ends in .gz."""
    with parsing(file, "a Matrix Market file"), opened(file) as stream:
        lines = io.TextIOWrapper(stream, "utf-8", errors="replace")
        banner = lines.readline(1000).lower().split()
        if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
            raise ReadError(f"{file} is not a Matrix Market file: its first line must say %%MatrixMarket")
        layout, values, symmetry = banner[2:]
        if values not in VALUES:
            raise ReadError(f"{file} holds {values} values; real numbers are needed")
        sizes = [int(size) for size in next((line for line in lines if not _skipped(line)), "").split()]
        if layout == "coordinate":
            check_room(file, (sizes[0] + 1,))
            check_room(file, (sizes[-1], 2 + VALUES[values]))
            return Table(_coordinates(lines, sizes, VALUES[values], symmetry))
        check_room(file, tuple(sizes))
        return Table(_array(lines, sizes, symmetry))


def _coordinates(lines: Iterable[str], sizes: list[int], n_values: int, symmetry: str) -> Any:
    """A sparse matrix from a line for each entry: row, column and value."""
    from scipy import sparse

    rows, columns, count = sizes
    entries = _numbers(lines, count, 2 + n_values)
    with np.errstate(invalid="ignore"):  # what is no number does not come back below
        i, j = (entries[:, axis].astype(np.int64) - 1 for axis in (0, 1))
    value = entries[:, 2] if n_values else np.ones(count)
    if not (np.array_equal(i + 1, entries[:, 0]) and np.array_equal(j + 1, entries[:, 1])):
        raise ValueError("a row or column number is not an integer")
    if count and not (i.min() >= 0 and i.max() < rows and j.min() >= 0 and j.max() < columns):
        raise ValueError(f"an entry lies outside the {rows} x {columns} matrix")
    if symmetry != "general":
        below = i != j
        i, j = np.concatenate([i, j[below]]), np.concatenate([j, i[below]])
        value = np.concatenate([value, _sign(symmetry) * value[below]])
    return sparse.coo_matrix((value, (i, j)), shape=(rows, columns)).tocsr()


def _array(lines: Iterable[str], sizes: list[int], symmetry: str) -> Array:
    """A dense matrix from its columns, of which symmetric ones hold the part on and below the diagonal."""
    rows, columns = sizes
    if symmetry == "general":
        return _numbers(lines, rows * columns, 1).reshape(columns, rows).T
    strict = symmetry == "skew-symmetric"
    numbers = _numbers(lines, rows * (rows - 1 if strict else rows + 1) // 2, 1)
    i, j = np.triu_indices(rows, k=int(strict))  # column by column: the row number runs fastest
    X = np.zeros((rows, columns))
    X[j, i] = numbers[:, 0]
    X[i, j] = X[j, i] * _sign(symmetry)
    return X


def _numbers(lines: Iterable[str], count: int, width: int) -> Array:
    """The rest of the file as ``count`` lines of ``width`` numbers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        numbers = np.loadtxt(lines, comments="%", ndmin=2, max_rows=count + 1)
    found = len(numbers) if numbers.size else 0
    if found != count:
        raise ValueError(f"{found} entries where its header announces {count}")
    if count and numbers.shape[1] != width:
        raise ValueError(f"{numbers.shape[1]} numbers a line where {width} are expected")
    return numbers.reshape(count, width)


def _sign(symmetry: str) -> float:
    """How an entry above the diagonal follows from the one below."""
    signs = {"symmetric": 1.0, "skew-symmetric": -1.0}
    if symmetry not in signs:
        raise ValueError(f"unknown symmetry {symmetry!r}")
    return signs[symmetry]


def _skipped(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("%")
