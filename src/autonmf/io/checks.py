"""Checks before anything is allocated: memory, the variables of a file, the indices of sparse matrices.

They are needed because a header of a few bytes can declare any size, and because compiled code does not check
the indices of a sparse matrix.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.io.table import ReadError, list_names

KEEP_IN_FILE = 1 << 28
"""Arrays with more bytes stay in their file and are read when they are used."""

EXPANSION = 1000
"""A file that needs more than `KEEP_IN_FILE` is refused if it expands to more bytes per byte than this."""

NUMBERS = "biufc"
"""Kinds of dtypes that hold numbers."""


def get_memory(groups: Path = Path("/sys/fs/cgroup"), of: Path = Path("/proc/self/cgroup")) -> int | None:
    """Bytes that this process can still allocate; None if the system does not tell.

    The minimum of the available memory of the computer and of what is left in each control group of the
    process (version 1 or 2, listed in the file ``of``), which limit containers and batch jobs.
    """
    return min([*_find_available(), *_find_left(groups, of)], default=None)


def _find_available() -> Iterator[int]:
    """The available memory of the computer or, if it is unknown, all of its memory."""
    with suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        yield 1024 * int(dict(line.split(":") for line in lines)["MemAvailable"].split()[0])
        return
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _find_left(groups: Path, of: Path) -> Iterator[int]:
    """What is left below the limit of each control group; cached files are not counted as used."""
    lines = []
    with suppress(OSError):
        lines = of.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, controllers, name = line.split(":", 2)
        root = groups / "memory" if "memory" in controllers.split(",") else groups
        limit, used, cached = ("memory.max", "memory.current", "inactive_file")
        if controllers:
            limit, used, cached = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        folder = root / name.strip("/")
        for group in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # "max": no limit
                bound, now = (int((group / file).read_text(encoding="ascii")) for file in (limit, used))
                counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
                yield max(0, bound - now + int(counts.get(cached, 0)))
            if group == root:
                break


def check_memory(file: Path, *arrays: tuple[tuple[int, ...], int]) -> None:
    """Refuse arrays of these shapes and item sizes if they cannot fit into memory together."""
    needed, memory = sum(prod(map(int, shape)) * itemsize for shape, itemsize in arrays), get_memory()
    check_expansion(file, needed)
    if memory is not None and needed > memory:
        shapes = " + ".join(" x ".join(map(str, shape)) or "1" for shape, _ in arrays)
        raise ReadError(
            f"{file} has {shapes} numbers, which take {_format_size(needed)}; this computer has "
            f"{_format_size(memory)} of memory free. Use a part of it; the file may also be damaged."
        )


def check_expansion(file: Path, needed: int) -> None:
    """Refuse a small file that would take much memory, even if there is enough.

    Such a file declares arrays that it does not hold, or compresses far better than measurements do.
    """
    if needed > KEEP_IN_FILE and file.is_file() and needed > EXPANSION * file.stat().st_size:
        raise ReadError(
            f"{file} has {_format_size(file.stat().st_size)} but declares numbers that take "
            f"{_format_size(needed)}: it is damaged, or made to fill the memory. If not, save them as a .npy "
            "file, or as a sparse matrix without empty rows and columns."
        )


def check_matrix(file: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an array that is not a matrix of numbers."""
    if len(shape) != 2:
        raise ReadError(
            f"{file} has {len(shape)} dimension(s), shape {' x '.join(map(str, shape)) or '()'}; a matrix "
            "has two. Reshape it and save it again."
        )
    refuse_objects(file, dtype)
    if dtype.kind not in NUMBERS:
        raise ReadError(f"{file} holds {dtype} entries, not numbers. Keep the numeric columns only.")


def refuse_objects(file: Path, dtype: np.dtype[Any]) -> None:
    """Refuse Python objects."""
    if dtype.hasobject:
        raise ReadError(
            f"{file} holds Python objects, which are not read since that can run code. "
            "Save numbers: array.astype(float)"
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
    """The description of a variable that has not been read yet."""

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
    """Describe an array of an HDF5 file; a null one has no shape."""
    kind = "text" if array.dtype.kind in "OSUT" else str(array.dtype)
    return Variable(name, tuple(array.shape or ()), kind, numeric=array.dtype.kind in NUMBERS)


def choose_variable(file: Path, variables: list[Variable], wanted: str | None) -> Variable:
    """Find the variable ``wanted`` or, without a name, the only matrix.

    Vectors and scalars are considered only if there is no other matrix, since MATLAB stores every number as a
    matrix.
    """
    content = f"it holds {list_names(variables) if variables else 'nothing'}"
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
    """A note on which of several matrices was taken; none if there is only one."""
    if not others:
        return ()
    return (f"The matrix is the {taken}; --var NAME takes another: {list_names(others)}.",)


def make_compressed(
    values: Array, indices: Array, indptr: Array, shape: tuple[int, int], *, by_columns: bool
) -> Any:
    """Build a CSR or (``by_columns``) CSC matrix after checking all of its indices."""
    from scipy import sparse

    kind = sparse.csc_matrix if by_columns else sparse.csr_matrix
    # MATLAB and h5py return unsigned indices, which SciPy would copy to 64 bits.
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
    check_memory(file, ((shape[0] + 1,), 8), ((len(values),), 16))  # CSR has an index also for empty rows
    return sparse.coo_matrix((values, (rows, columns)), shape=shape).tocsr()


def check_sparse(file: Path, X: Any) -> Any:
    """Convert a sparse X to CSR, unless it is CSC, and check that every index lies inside the matrix."""
    if not hasattr(X, "tocsr") or X.ndim != 2:
        return X
    if X.format not in ("csr", "csc"):
        check_memory(file, ((X.shape[0] + 1,), 8))
        X = X.tocsr()
    _check_indices(X)
    return X


def _check_indices(X: Any) -> None:
    if (X.indptr[1:] < X.indptr[:-1]).any():  # not found by SciPy if the last one is zero
        raise ValueError("its index pointers decrease")
    X.check_format(full_check=True)
