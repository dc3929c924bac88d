"""X as a CSR or CSC matrix; only blocks of it are ever made dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf import kernels
from autonmf._threads import each
from autonmf._types import Array, cached_property
from autonmf.data.protocol import RowBlocks, even_blocks, squared_sum

SPARSE_COST = 10.0
"""The cost of a stored entry in a product, in entries of a dense matrix."""

PARTIAL_SUMS = 2
"""Number of partial sums of a product with Xᵀ; fixed, so that results do not depend on the threads."""


class Sparse(RowBlocks):
    """A SciPy sparse X in CSR or CSC format."""

    sparse = True

    def __init__(self, X: Any) -> None:
        self.X = X
        self.shape = X.shape[0], X.shape[1]
        self.dtype = X.dtype

    @property
    def T(self) -> Sparse:
        return Sparse(self.X.T)

    @property
    def cost(self) -> float:
        return SPARSE_COST * float(self.X.nnz)

    def read(self, rows: slice) -> Any:
        return self._by_rows[rows]

    @cached_property
    def _by_rows(self) -> Any:
        """X in CSR format: rows of a CSC matrix are scattered all over it."""
        return self.X.tocsr()

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest stored entry; NaN if there is one."""
        if self.X.nnz == 0:
            return 0.0, 0.0
        return float(self.X.data.min()), float(self.X.data.max())

    def squared_norm(self) -> float:
        return self._squared_norm

    @cached_property
    def _squared_norm(self) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # as_data says what is wrong
            return squared_sum(self.X.data)

    def right(self, V: Array) -> Array:
        return _multiply(self.X, V)

    def left(self, U: Array) -> Array:
        return _multiply(self.X.T, U)

    def squared_residual(self, U: Array, V: Array) -> float:
        if self.X.format == "csc":
            return self.T.squared_residual(V, U)
        return super().squared_residual(U, V)

    def square(self) -> Sparse:
        """X∘X, in double precision."""
        X = self.X
        return Sparse(type(X)((np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape))

    def divide(self, rows: Array | float, columns: Array | float, dtype: Any) -> Sparse:
        """diag(rows)⁻¹ X diag(columns)⁻¹ as a copy in another precision."""
        X = self.X
        if X.format == "csc":
            return self.T.divide(columns, rows, dtype).T
        a = rows if isinstance(rows, float) else np.repeat(rows.ravel(), np.diff(X.indptr))
        b = columns if isinstance(columns, float) else columns.ravel()[X.indices]
        return Sparse(type(X)(((X.data / (a * b)).astype(dtype), X.indices, X.indptr), shape=X.shape))


def _multiply(X: Any, factor: Array) -> Array:
    """X @ factor, Fortran-ordered, in blocks of stored rows that depend only on the shape."""
    wide = X.indices.dtype != np.int32 or X.indptr.dtype != np.int32  # more than 2³¹ entries
    if wide or factor.dtype != X.dtype:
        return np.asfortranarray(X @ np.ascontiguousarray(factor))
    n, rank = X.shape[0], factor.shape[1]
    columns = kernels.whole_vectors(rank, X.dtype)
    rows = np.zeros((len(factor), columns), dtype=X.dtype)
    rows[:, :rank] = factor
    if X.format == "csr":
        out = np.zeros((n, columns), dtype=X.dtype)
        each(lambda b: kernels.csr_times(X, rows, b, out), even_blocks(n))
        return np.asfortranarray(out[:, :rank])
    stored = X.T  # CSR: X is its transpose
    blocks = list(even_blocks(stored.shape[0], PARTIAL_SUMS))
    sums = [np.zeros((n, columns), dtype=X.dtype) for _ in blocks]
    each(lambda job: kernels.csr_transposed_times(stored, rows, *job), list(zip(blocks, sums, strict=True)))
    return np.asfortranarray(sum(sums[1:], start=sums[0])[:, :rank])
