r"""X through its range: :math:`X \approx L R^\top` with few columns.

A randomised range finder (Halko, Martinsson and Tropp, 2011) reads X a few times; every later product costs
:math:`O((n+m)kr)` instead of :math:`O(nmr)`. What lies outside the range (noise, mostly) is orthogonal to it
and only adds to ‖X‖².
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from autonmf._types import Array
from autonmf.data.complete import Complete
from autonmf.data.protocol import Data
from autonmf.data.spread.rows import by_columns, each_block, is_rows, kept, settled

OVERSAMPLE = 10
"""Columns beyond the largest rank."""

PASSES = 2
"""Rounds of products with Xᵀ and X that sharpen the range."""

FINE = 1e3
"""The Gram matrix of columns with this condition gives a basis to ten digits at once."""


class Compressed(Complete):
    """L Rᵀ in place of X. L has orthonormal columns; R = XᵀL."""

    def __init__(self, L: Array, R: Array, squared_norm: float) -> None:
        self.L = L
        self.R = R
        self._rows_of_L, self._rows_of_R = L, R  # the same by rows, or as they are
        self._fine: Compressed | None = None  # the same in double precision
        self._squared_norm = squared_norm

    @property
    def shape(self) -> tuple[int, int]:
        return self.L.shape[0], self.R.shape[0]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.L.dtype

    @property
    def T(self) -> Compressed:
        return Compressed(self.R, self.L, self._squared_norm)

    @property
    def cost(self) -> float:
        return float(self.L.size + self.R.size)

    def squared_norm(self) -> float:
        """‖X‖² of the matrix that was compressed."""
        return self._squared_norm

    def squares(self, weights: Array) -> Array:
        inner = (self.R.T * weights) @ self.R
        return np.asarray(np.sum((self.L @ inner) * self.L, axis=1))

    def right(self, V: Array) -> Array:
        product: Array = ((V.T @ self._rows_of_R) @ self.L.T).T
        return product

    def left(self, U: Array) -> Array:
        product: Array = ((U.T @ self._rows_of_L) @ self.R.T).T
        return product

    def inner(self, U: Array, V: Array) -> float:
        if self._fine is not None and U.dtype == np.float64:
            return self._fine.inner(U, V)
        return float(np.sum((U.T @ self.L) * (V.T @ self.R), dtype=np.float64))

    def squared_residual(self, U: Array, V: Array) -> float:
        """‖X - LRᵀ‖² + ‖LRᵀ - UVᵀ‖², the second from thin QR factors of (L, U) and (R, -V)."""
        within = float(np.square(_triangle(self.L, U) @ _triangle(self.R, -V).T, dtype=np.float64).sum())
        inside = float(np.sum((self.L.T @ self.L) * (self.R.T @ self.R), dtype=np.float64))
        return max(self._squared_norm - inside, 0.0) + within

    def most_unseen(self, U: Array, V: Array) -> float:
        """‖X - LRᵀ‖ ‖(I - LLᵀ)UVᵀ‖: a bound of |⟨X - LRᵀ, UVᵀ⟩|, because Lᵀ(X - LRᵀ) is zero."""
        inside = U.T @ self.L
        outside = max(float(np.sum((U.T @ U - inside @ inside.T) * (V.T @ V))), 0.0)
        rest = max(self._squared_norm - float(np.sum(np.square(self.R))), 0.0)
        return float(np.sqrt(rest * outside))

    def rows(self, some: slice) -> Array:
        return np.asarray(self.L[some] @ self.R.T)

    def divided(self, scale: float) -> Compressed:
        return Compressed(self.L, self.R / scale, self._squared_norm / scale**2)

    def quick(self) -> Compressed:
        """The same in single precision, laid out so that first products read rows, second ones columns."""
        L, R = settled(self.L.astype(np.float32)), self.R.astype(np.float32)
        single = Compressed(L, R, self._squared_norm)
        single._rows_of_L = L if is_rows(L) else np.ascontiguousarray(L)
        single._rows_of_R = np.ascontiguousarray(R)
        single._fine = self
        return single


def compress(data: Data, rank: int, rng: np.random.Generator) -> Compressed:
    """X compressed to its leading ``rank`` + 10 directions, or fewer if X has fewer; in double precision."""
    n, m = data.shape
    width = min(rank + OVERSAMPLE, n, m)
    basis = data.right(_fortran(rng.standard_normal((width, m)).T, data))
    for _ in range(PASSES):
        basis = data.left(_fortran(_orthonormal(basis), data))
        basis = data.right(_fortran(_orthonormal(basis), data))
    return compress_onto(data, basis)


def compress_onto(data: Data, basis: Array) -> Compressed:
    """X compressed to the range of a given n x k matrix."""
    basis = _orthonormal(basis, exactly=True)
    R = data.left(_fortran(basis, data))
    return Compressed(by_columns(basis), R.astype(np.float64, copy=False), data.squared_norm())


def _fortran(array: Array, data: Data) -> Array:
    return by_columns(array, data.dtype)  # type: ignore[no-any-return]


def _orthonormal(block: Array, *, exactly: bool = False) -> Array:
    """A basis of the columns from their Gram matrix, orthonormal to a few digits or to about 1e-10.

    Directions 1e-7 times weaker than the leading one carry nothing that a factorisation could use, and are
    left out.
    """
    block = block.astype(np.float64, copy=False)
    gram = block.T @ block
    with suppress(LinAlgError):  # cheaper, where no direction is weak
        factor = cholesky(gram, lower=True, check_finite=False)
        pivots = factor.diagonal()
        if pivots.min() > 1e-5 * pivots.max():
            inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
            basis: Array = kept(block @ inverse.T)
            condition = np.linalg.norm(factor) * np.linalg.norm(inverse)
            return _orthonormal(basis) if exactly and condition > FINE else basis
    values, vectors = np.linalg.eigh(gram)
    strong = values > 1e-14 * values[-1]
    basis = kept(block @ (vectors[:, strong] / np.sqrt(values[strong])))
    return _orthonormal(basis) if exactly else basis


def _triangle(first: Array, second: Array) -> Array:
    """The triangular factor of the two side by side."""
    if is_rows(first):
        return np.asarray(np.linalg.qr(np.vstack(each_block(_triangle, first, second))).R)
    return np.asarray(np.linalg.qr(np.hstack([first, second])).R)
