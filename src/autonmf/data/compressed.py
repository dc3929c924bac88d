r"""X through its range: :math:`X \approx L R^\top` with few columns.

A randomised range finder (Halko, Martinsson and Tropp, 2011) reads X a few times; every later product costs
:math:`O((n+m)kr)` instead of :math:`O(nmr)`. What lies outside the range (noise, mostly) is orthogonal to it
and only adds to ‖X‖². Only the Frobenius loss can use it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from autonmf._types import Array
from autonmf.data.factors import RemoteFactor, as_factor, cross, gram, persist, triangle
from autonmf.data.protocol import (
    Block,
    BlockFunction,
    Data,
    RowBlocks,
    is_sparse,
    no_weights,
    reads_rows,
    row_blocks,
)

OVERSAMPLE = 10
"""Columns beyond the largest rank."""

PASSES = 2
"""Rounds of products with Xᵀ and X that sharpen the range."""

FEW_COLUMNS, TALL = 256, 20
"""XᵀX is cheap with at most so many columns, and so many times as many rows."""

WELL_CONDITIONED = 1e3
"""The Gram matrix of columns with this condition gives a basis to ten digits at once."""


class Compressed(RowBlocks):
    """L Rᵀ in place of X. L has orthonormal columns; R = XᵀL.

    Products have the precision of the factor: L and R are kept in double precision, and in single precision
    too where ``dtype`` is float32.
    """

    parallel = False  # the products of a block are

    def __init__(self, L: Any, R: Array, squared_norm: float, dtype: Any = np.float64) -> None:
        self.L = L  # n x k
        self.R = R  # m x k
        self.shape = L.shape[0], R.shape[0]
        self.dtype: np.dtype[np.floating] = np.dtype(dtype)
        self._squared_norm = squared_norm
        if self.dtype == np.float32:
            self._single = _lay_out(L, np.float32), _lay_out(R, np.float32)

    def as_single(self) -> Compressed:
        """The same for many products in single precision."""
        return Compressed(self.L, self.R, self._squared_norm, np.float32)

    def narrow(self, width: int) -> Compressed:
        """Only the leading directions."""
        vectors = np.linalg.eigh(self.R.T @ self.R)[1][:, : -width - 1 : -1]
        L = as_factor(persist(_times(self.L, vectors)))
        return Compressed(L, np.asfortranarray(self.R @ vectors), self._squared_norm, self.dtype)

    @property
    def cost(self) -> float:
        n, m = self.shape
        return float((n + m) * self.R.shape[1])

    def squared_norm(self) -> float:
        """‖X‖² of the matrix that was compressed."""
        return self._squared_norm

    def right(self, V: Any) -> Any:
        (L, _), (_, R) = self._in(V.dtype)
        return _expand(cross(V, R), L)

    def left(self, U: Any) -> Any:
        (_, L), (R, _) = self._in(U.dtype)
        return _expand(cross(U, L), R)

    def _in(self, dtype: np.dtype[Any]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """L and R in a precision, each for the second product (by columns) and for the first (by rows)."""
        if dtype == self.dtype == np.float32:
            return self._single
        return (self.L, self.L), (self.R, self.R)

    def squared_residual(self, U: Array, V: Array) -> float:
        """‖X - LRᵀ‖² + ‖LRᵀ - UVᵀ‖², the second from thin QR factors of (L, U) and (R, -V)."""
        within = float(np.square(triangle(self.L, U) @ triangle(self.R, -V).T, dtype=np.float64).sum())
        inside = float(np.sum(gram(self.L) * gram(self.R), dtype=np.float64))
        return max(self._squared_norm - inside, 0.0) + within

    @property
    def blocks(self) -> list[slice]:
        return list(row_blocks((self.shape[0], self.R.shape[1])))

    def read(self, rows: slice) -> Array:
        return np.asarray(self.L[rows] @ self.R.T)

    def map_blocks(self, function: BlockFunction, U: Array | None, *shared: Any) -> tuple[Any, Any]:
        if isinstance(self.L, RemoteFactor):
            return self.L.map_blocks(_expand_block, U, function, self.R, *shared)
        return super().map_blocks(function, U, *shared)

    def bound_error(self, U: Array, V: Array) -> float:
        """‖X - LRᵀ‖ ‖(I - LLᵀ)UVᵀ‖: a bound of |⟨X - LRᵀ, UVᵀ⟩|, because Lᵀ(X - LRᵀ) is zero."""
        inside = cross(U, self.L)
        outside = max(float(np.sum((gram(U) - inside @ inside.T) * gram(V))), 0.0)
        rest = max(self._squared_norm - float(np.sum(np.square(self.R))), 0.0)
        return float(np.sqrt(rest * outside))


def compress(data: Data, rank: int, rng: np.random.Generator) -> Compressed:
    """X compressed to its leading ``rank`` + 10 directions, or fewer if X has fewer; in double precision."""
    n, m = data.shape
    width = min(rank + OVERSAMPLE, n, m)
    basis = data.right(as_factor(rng.standard_normal((width, m)).T, data.dtype))
    for _ in range(PASSES):
        basis = data.left(as_factor(orthonormalize(basis), data.dtype))
        basis = data.right(as_factor(orthonormalize(basis), data.dtype))
    return compress_onto(data, basis)


def lead(data: Data, rank: int, rng: np.random.Generator) -> Array:
    """XᵀL for an orthonormal basis L of the leading ``rank`` + 10 directions of X, which has its spectrum."""
    width = min(rank + OVERSAMPLE, *data.shape)
    return lead_tall(data, width).R if is_tall(data) else compress(data, rank, rng).R


def find_spectrum(leading: Array, data: Data) -> Array:
    """The leading squared singular values of X as fractions of ‖X‖², decreasing, from what `lead` returns."""
    squares = np.linalg.eigvalsh(leading.T @ leading)[::-1]
    return np.maximum(squares, 0.0) / (data.squared_norm() or 1.0)


class LeadingTall(NamedTuple):
    """What one pass over a tall X tells."""

    R: Array  # XᵀL for the leading left singular vectors L, m x w
    rows: Any  # squared norms of the rows of X
    columns: Array  # of its columns


def lead_tall(data: Data, width: int) -> LeadingTall:
    """The leading directions of a tall X, to all digits, from XᵀX."""
    rows, products = data.map_blocks(_multiply_transpose, None)
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[::-1][:width], vectors[:, ::-1][:, :width]
    return LeadingTall(vectors * np.sqrt(np.maximum(values, 0.0)), rows, products.diagonal()[:, None])


def is_tall(data: Data) -> bool:
    """Whether X has few columns and far more rows, which can be read: XᵀX is cheap then."""
    n, m = data.shape
    return m <= FEW_COLUMNS and n >= TALL * m and reads_rows(data)


def _multiply_transpose(block: Block, _: None) -> tuple[Array, Array]:
    X = block.read().astype(np.float64, copy=False)
    if is_sparse(X):
        return np.asarray(X.power(2).sum(axis=1)).reshape(-1, 1), X.T @ X.toarray()
    return np.einsum("ij,ij->i", X, X)[:, None], X.T @ X


def compress_onto(data: Data, basis: Array) -> Compressed:
    """X compressed to the range of a given n x k matrix."""
    basis = orthonormalize(basis, exactly=True)
    R = data.left(as_factor(basis, data.dtype))
    return Compressed(as_factor(basis), R.astype(np.float64, copy=False), data.squared_norm())


def orthonormalize(block: Any, *, exactly: bool = False) -> Any:
    """A basis of the columns from their Gram matrix, orthonormal to a few digits or to about 1e-10.

    Directions 1e-7 times weaker than the leading one carry nothing that a factorisation could use, and are
    left out.
    """
    block = block.astype(np.float64, copy=False)
    products = gram(block)
    with suppress(LinAlgError):  # cheaper, where no direction is weak
        factor = cholesky(products, lower=True, check_finite=False)
        pivots = factor.diagonal()
        if pivots.min() > 1e-5 * pivots.max():
            inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
            basis = persist(_times(block, inverse.T))
            condition = np.linalg.norm(factor) * np.linalg.norm(inverse)
            return orthonormalize(basis) if exactly and condition > WELL_CONDITIONED else basis
    values, vectors = np.linalg.eigh(products)
    strong = values > 1e-14 * values[-1]
    basis = persist(_times(block, vectors[:, strong] / np.sqrt(values[strong])))
    return orthonormalize(basis) if exactly else basis


def _times(block: Any, matrix: Array) -> Any:
    return block.times(matrix) if isinstance(block, RemoteFactor) else block @ matrix


def _expand(coefficients: Array, basis: Any) -> Any:
    """Basis · coefficientsᵀ, Fortran-ordered."""
    if isinstance(basis, RemoteFactor):
        return basis.times(coefficients.T, np.result_type(coefficients, basis.dtype))
    return (coefficients @ basis.T).T


def _expand_block(
    block: Block, U: Array | None, function: BlockFunction, R: Array, *shared: Any
) -> tuple[Any, Any]:
    """``function`` of L Rᵀ, for a block of L."""
    return function(Block(block.rows, lambda: block.read() @ R.T, no_weights), U, *shared)


def _lay_out(basis: Any, dtype: Any) -> tuple[Any, Any]:
    """A basis in another precision by columns and by rows: one product reads columns, the other one rows."""
    if isinstance(basis, RemoteFactor):
        single = basis.astype(dtype).compute()
        return single, single
    single = basis.astype(dtype)
    return single, np.ascontiguousarray(single)
