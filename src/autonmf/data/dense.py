"""X as an ordinary array."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._threads import each, one_pool
from autonmf._types import Array, cached_property
from autonmf.data.protocol import RowBlocks, even_blocks, row_blocks, squared_sum, sum_in_groups

PARALLEL_ENTRIES = 1 << 19
"""Number of entries from which X is multiplied in blocks by several threads."""

FEW_ROWS = 16
"""X is divided into blocks of columns if it has this many times as many columns as rows."""


class Dense(RowBlocks):
    """A dense X, in either memory order; it is never copied or written to."""

    def __init__(self, X: Array, squared_norm: float | None = None) -> None:
        self.X = X
        self._squared_norm = squared_norm  # None: not known yet
        self.shape = X.shape[0], X.shape[1]
        self.dtype = X.dtype

    @property
    def T(self) -> Dense:
        """Xᵀ, which shares the memory of X."""
        return Dense(self.X.T)

    @property
    def cost(self) -> float:
        return float(self.X.size)

    def read(self, rows: slice) -> Array:
        return self.X[rows]

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest entry; NaN if there is one."""
        return self._summary[:2]

    def squared_norm(self) -> float:
        return self._summary[2] if self._squared_norm is None else self._squared_norm

    @cached_property
    def _summary(self) -> tuple[float, float, float]:
        """Minimum, maximum and sum of squares, in one pass over the memory of X."""
        rows = self.X if self.X.flags.c_contiguous else self.X.T

        def summarize(b: slice) -> tuple[float, float, float]:
            with np.errstate(over="ignore", invalid="ignore"):  # as_data says what is wrong
                return rows[b].min(), rows[b].max(), squared_sum(rows[b])

        with one_pool():
            lows, highs, squares = zip(*each(summarize, row_blocks(rows.shape)), strict=True)
        return float(np.min(lows)), float(np.max(highs)), sum(squares)

    def divide(self, rows: Array | float, columns: Array | float, dtype: Any) -> Dense:
        """diag(rows)⁻¹ X diag(columns)⁻¹ as a copy in another precision."""
        divided = np.empty_like(self.X, dtype=dtype)

        def divide(block: slice) -> None:
            a = rows[block] if isinstance(rows, np.ndarray) else rows
            np.divide(self.X[block] / a, np.transpose(columns), out=divided[block], casting="same_kind")

        each(divide, list(row_blocks(self.shape)))
        return Dense(divided)

    def right(self, V: Array) -> Array:
        return _multiply(self.X, V)

    def left(self, U: Array) -> Array:
        return _multiply(self.X.T, U)


def _multiply(X: Array, factor: Array) -> Array:
    """X @ factor, Fortran-ordered, by blocks of rows or columns of X that depend on its shape only."""
    if X.size < PARALLEL_ENTRIES:
        return np.asarray((factor.T @ X.T).T)
    if X.shape[1] > FEW_ROWS * X.shape[0]:
        blocks = list(even_blocks(X.shape[1]))
        return sum_in_groups(lambda b: (factor[b].T @ X[:, b].T).T, blocks)
    dtype = np.result_type(X, factor)
    transposed = np.empty((factor.shape[1], X.shape[0]), dtype=dtype)
    each(lambda b: np.matmul(factor.T, X[b].T, out=transposed[:, b]), even_blocks(X.shape[0]))
    return transposed.T
