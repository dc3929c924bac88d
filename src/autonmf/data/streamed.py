"""X in a file, read a block of rows at a time and never loaded as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data.dense import Dense
from autonmf.data.protocol import RowBlocks, is_sparse, sum_in_groups
from autonmf.data.sparse import SPARSE_COST, Sparse

SMALL = 1 << 26
"""Bytes up to which a matrix in a file is loaded."""

BLOCK_ENTRIES = 1 << 22
"""Entries of a block: 32 MB in double precision, enough for reading to be fast."""


def open_stored(X: Any) -> Any:
    """A matrix in a file as an array if it is small or memory-mapped, otherwise as `Stored`."""
    if isinstance(X, np.memmap):
        contiguous = X.flags.c_contiguous or X.flags.f_contiguous
        usable = contiguous and X.dtype.isnative and X.dtype in (np.float32, np.float64)
        return X.view(np.ndarray) if usable else Stored(X)
    if np.dtype(X.dtype).kind not in "biufc":  # before anything is decoded, which can run code
        raise TypeError(f"X has dtype {X.dtype}; NMF needs numbers. Pass an array of numbers.")
    backed_sparse = hasattr(X, "format")  # by AnnData
    if not backed_sparse and np.prod(X.shape, dtype=float) * np.dtype(X.dtype).itemsize <= SMALL:
        return np.asarray(X[:])
    return Stored(X, by_columns=backed_sparse and X.format == "csc")


class Stored:
    """A matrix in a file that is read by rows or by columns."""

    def __init__(self, source: Any, *, by_columns: bool = False) -> None:
        self.source = source
        self.by_columns = by_columns
        self.shape: tuple[int, ...] = tuple(source.shape)
        self.dtype = np.dtype(source.dtype)
        self.nnz = int(source.indptr[-1]) if hasattr(source, "indptr") else None  # None: not sparse

    def read(self, lines: slice) -> Any:
        """Some rows or, if it is read by columns, some columns as rows."""
        return self.source[:, lines].T if self.by_columns else self.source[lines]


class Streamed(RowBlocks):
    """A stored matrix, or its transpose if it is read by columns."""

    block_entries = BLOCK_ENTRIES
    parallel = False  # HDF5 lets one thread read at a time; products of a block are parallel

    def __init__(self, source: Stored, dtype: np.dtype[np.floating]) -> None:
        n, m = source.shape
        self.source = source
        self.shape = (m, n) if source.by_columns else (n, m)
        self.dtype = dtype

    @property
    def cost(self) -> float:
        stored = self.source.nnz
        return float(np.prod(self.shape, dtype=float)) if stored is None else SPARSE_COST * float(stored)

    def read(self, rows: slice) -> Any:
        values: Any = self.source.read(rows)
        values = values.tocsr() if is_sparse(values) else np.asarray(values)
        return values.astype(self.dtype, copy=False)

    def right(self, V: Array) -> Array:
        return np.asfortranarray(np.concatenate([self._load(b).right(V) for b in self.blocks]))

    def left(self, U: Array) -> Array:
        def part(rows: slice) -> Array:
            return self._load(rows).left(np.asfortranarray(U[rows]))

        return sum_in_groups(part, self.blocks, parallel=False)

    def _load(self, rows: slice) -> Dense | Sparse:
        block = self.read(rows)
        return Sparse(block) if is_sparse(block) else Dense(block)

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest entry; NaN if there is one."""
        return self._summary[:2]

    def squared_norm(self) -> float:
        return self._summary[2]

    @cached_property
    def _summary(self) -> tuple[float, float, float]:
        """Minimum, maximum and sum of squares, in one pass over the file."""

        def summarize(rows: slice) -> tuple[float, float, float]:
            piece = self._load(rows)
            with np.errstate(over="ignore", invalid="ignore"):  # as_data says what is wrong
                return *piece.extremes, piece.squared_norm()

        lows, highs, squares = zip(*map(summarize, self.blocks), strict=True)
        return float(np.min(lows)), float(np.max(highs)), float(sum(squares))
