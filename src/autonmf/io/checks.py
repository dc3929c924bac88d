"""Checks before anything is allocated: memory, the variables of a file, the indices of sparse matrices.

A header of a few bytes can declare any size, and compiled code trusts the indices of a sparse matrix.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.io.table import ReadError

KEEP_IN_FILE = 1 << 28
"""Bytes above which an array stays in its file and is read when it is used."""

MAX_LISTED = 12
"""Variables that a message names at most."""


def get_memory() -> int | None:
    """Bytes of memory of this computer, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(file: Path, shape: tuple[int, ...], itemsize: int = 8) -> None:
    """Refuse an array of this shape if it cannot fit into memory."""
    needed, memory = prod(int(length) for length in shape) * itemsize, get_memory()
    if memory is not None and needed > memory:
        raise ReadError(
            f"{file} has {' x '.join(map(str, shape))} numbers, which take {_format_size(needed)}; this "
            f"computer has {_format_size(memory)} of memory. Use a part of it; the file may also be damaged."
        )


def is_small(array: Any) -> bool:
    """Whether an array in a file is loaded rather than left there."""
    return bool(prod(map(int, array.shape)) * np.dtype(array.dtype).itemsize <= KEEP_IN_FILE)


def _format_size(n_bytes: int) -> str:
    size, units = float(n_bytes), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}"


@dataclass(frozen=True)
class Variable:
    """What is known about a variable before it is read."""

    name: str
    shape: tuple[int, ...]
    kind: str  # as its file calls it: double, uint8, cell, ...
    numeric: bool

    @property
    def is_matrix(self) -> bool:
        return self.numeric and len(self.shape) == 2

    def __str__(self) -> str:
        return f"{self.name} ({' x '.join(map(str, self.shape)) or 'scalar'} {self.kind})"


def describe_array(name: str, array: Any) -> Variable:
    """Describe an array of an HDF5 file or a zarr folder; a null one has no shape."""
    kind = "text" if array.dtype.kind in "OSUT" else str(array.dtype)
    return Variable(name, tuple(array.shape or ()), kind, numeric=array.dtype.kind in "biufc")


def choose_variable(file: Path, variables: list[Variable], wanted: str | None) -> Variable:
    """Find the variable of that name, or else the only matrix.

    Vectors and scalars are considered only if there is nothing larger: MATLAB stores every number as a
    matrix.
    """
    shown = ", ".join(map(str, variables[:MAX_LISTED]))
    more = f" and {len(variables) - MAX_LISTED} more" if len(variables) > MAX_LISTED else ""
    content = f"it holds {shown or 'nothing'}{more}"
    if wanted is not None:
        found = next((variable for variable in variables if variable.name == wanted), None)
        if found is None:
            raise ReadError(f"{file} has no variable {wanted!r}; {content}")
        if not found.is_matrix:
            raise ReadError(f"{found} in {file} is not a numeric matrix; {content}")
        return found
    matrices = [variable for variable in variables if variable.is_matrix]
    candidates = [variable for variable in matrices if min(variable.shape) > 1] or matrices
    if not candidates:
        raise ReadError(f"{file} has no numeric matrix; {content}")
    if len(candidates) > 1:
        raise ReadError(f"{file} has {len(candidates)} matrices: choose one with --var NAME; {content}")
    return candidates[0]


def note_others(taken: str, others: list[str]) -> tuple[str, ...]:
    """Say which of several matrices was taken; nothing if there is only one."""
    if not others:
        return ()
    more = ", ..." if len(others) > MAX_LISTED else ""
    return (f"The matrix is the {taken}; --var NAME takes another: {', '.join(others[:MAX_LISTED])}{more}.",)


def make_compressed(
    values: Array, indices: Array, indptr: Array, shape: tuple[int, int], *, by_columns: bool
) -> Any:
    """Build a CSR or (``by_columns``) CSC matrix after checking all of its indices."""
    from scipy import sparse

    kind = sparse.csc_matrix if by_columns else sparse.csr_matrix
    # MATLAB and h5py hand out unsigned indices, which SciPy would copy to 64 bits.
    indices, indptr = (np.asarray(part).astype(np.int64, copy=False) for part in (indices, indptr))
    X = kind((values, indices, indptr), shape=shape)
    _check_indices(X)
    return X


def make_coordinates(file: Path, i: Array, j: Array, values: Array, shape: tuple[int, int]) -> Any:
    """Build a CSR matrix from row and column numbers, which are floats counted from 1."""
    from scipy import sparse

    with np.errstate(invalid="ignore"):  # a NaN becomes an integer that does not compare equal below
        rows, columns = (index.astype(np.int64) for index in (i, j))
    if not (np.array_equal(rows, i) and np.array_equal(columns, j)):
        raise ValueError("a row or column number is not an integer")
    rows, columns = rows - 1, columns - 1
    if len(rows) and not (
        min(rows.min(), columns.min()) >= 0 and rows.max() < shape[0] and columns.max() < shape[1]
    ):
        raise ValueError(f"an entry lies outside the {shape[0]} x {shape[1]} matrix")
    check_memory(file, (shape[0] + 1,))  # CSR has an index for each row, also for empty ones
    return sparse.coo_matrix((values, (rows, columns)), shape=shape).tocsr()


def check_sparse(file: Path, X: Any) -> Any:
    """Convert a sparse X to CSR, unless it is CSC, and check that every index lies inside the matrix."""
    if not hasattr(X, "tocsr") or X.ndim != 2:
        return X
    if X.format not in ("csr", "csc"):
        check_memory(file, (X.shape[0] + 1,))
        X = X.tocsr()
    _check_indices(X)
    return X


def _check_indices(X: Any) -> None:
    if (X.indptr[1:] < X.indptr[:-1]).any():  # which SciPy overlooks if the last one is zero
        raise ValueError("its index pointers decrease")
    X.check_format(full_check=True)
