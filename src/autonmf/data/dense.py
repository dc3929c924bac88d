"""X as an ordinary array."""

from __future__ import annotations

import numpy as np

from autonmf._threads import each, one_pool
from autonmf._types import Array, cached_property
from autonmf.data.blocks import even_blocks, row_blocks, squared_sum
from autonmf.data.complete import Complete

PARALLEL_ENTRIES = 1 << 20
"""X of at least so many entries is multiplied in blocks, over the threads that we have."""


class Dense(Complete):
    """A dense X, in either memory order; it is never copied or written to."""

    def __init__(self, X: Array) -> None:
        self.X = X

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.X.dtype

    @property
    def T(self) -> Dense:
        transposed = Dense(self.X.T)
        if "_survey" in self.__dict__:
            transposed.__dict__["_survey"] = self._survey
        return transposed

    @property
    def cost(self) -> float:
        return float(self.X.size)

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest entry; NaN if there is one."""
        return self._survey[:2]

    def squared_norm(self) -> float:
        return self._survey[2]

    @cached_property
    def _survey(self) -> tuple[float, float, float]:
        """Minimum, maximum and sum of squares, in one pass over the memory of X."""
        rows = self.X if self.X.flags.c_contiguous else self.X.T

        def one(b: slice) -> tuple[float, float, float]:
            with np.errstate(over="ignore", invalid="ignore"):  # as_data says what is wrong
                return rows[b].min(), rows[b].max(), squared_sum(rows[b])

        with one_pool():
            lows, highs, squares = zip(*each(one, row_blocks(rows.shape)), strict=True)
        return float(np.min(lows)), float(np.max(highs)), sum(squares)

    def squares(self, weights: Array) -> Array:
        X = self.X

        def rows(b: slice) -> Array:
            return _squared(X[b]) @ weights

        def columns(b: slice) -> Array:
            return _squared(X[:, b]) @ weights[b]

        with one_pool():
            if X.flags.c_contiguous:
                return np.concatenate(each(rows, row_blocks(X.shape)))
            return np.asarray(np.sum(each(columns, row_blocks(X.shape[::-1])), axis=0))

    def right(self, V: Array) -> Array:
        return _product(self.X, V)

    def left(self, U: Array) -> Array:
        return _product(self.X.T, U)

    def inner(self, U: Array, V: Array) -> float:
        return float(np.sum(U * self.right(V), dtype=np.float64))

    def rows(self, some: slice) -> Array:
        return self.X[some]

    def divided(self, scale: float) -> Dense:
        return Dense((self.X / scale).astype(self.dtype, copy=False))


def _squared(block: Array) -> Array:
    return np.square(block, dtype=np.float64)


def _product(X: Array, factor: Array) -> Array:
    """X @ factor, Fortran-ordered, by blocks of rows of X that depend on its shape only."""
    if X.size < PARALLEL_ENTRIES:
        return np.asarray((factor.T @ X.T).T)
    dtype = np.result_type(X, factor)
    transposed = np.empty((factor.shape[1], X.shape[0]), dtype=dtype)
    each(lambda b: np.matmul(factor.T, X[b].T, out=transposed[:, b]), even_blocks(X.shape[0]))
    return transposed.T
