"""A sparse X with missing entries: those stored as NaN. Entries that are not stored are zeros, and known."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data.complete import summed_residual
from autonmf.data.sparse import Sparse

PAIRS = 1 << 16
"""Missing entries whose fit is computed at a time."""


class MaskedSparse:
    """X̂ = X₀ + P(UVᵀ): X with zeros at its missing entries, plus the fit there."""

    complete = False

    def __init__(self, known: Any, missing: Any) -> None:
        self.known = Sparse(known)  # X₀
        self.missing = missing  # CSR or CSC, as X₀; its pattern is where entries are missing

    @staticmethod
    def of(X: Any) -> MaskedSparse:
        """X with explicit NaN, in CSR or CSC format."""
        unknown = np.isnan(X.data)
        known, missing = X.copy(), X.copy()
        known.data[unknown] = 0.0
        missing.data = unknown.astype(X.dtype)
        missing.eliminate_zeros()
        return MaskedSparse(known, missing)

    def with_empty_lines_zero(self) -> MaskedSparse:
        """The same with zeros in rows and columns of which nothing is known."""
        nothing = [np.ravel(self.missing.sum(axis=axis)) == self.shape[axis] for axis in (1, 0)]
        if not any(lines.any() for lines in nothing):
            return self
        missing = self.missing.copy()
        rows, columns = _positions(missing)
        missing.data[nothing[0][rows] | nothing[1][columns]] = 0.0
        missing.eliminate_zeros()
        return MaskedSparse(self.known.X, missing)

    @property
    def shape(self) -> tuple[int, int]:
        return self.known.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.known.dtype

    @property
    def T(self) -> MaskedSparse:
        return MaskedSparse(self.known.X.T, self.missing.T)

    @property
    def cost(self) -> float:
        return self.known.cost

    def squared_norm(self) -> float:
        return self.known.squared_norm()

    def squares(self, weights: Array) -> Array:
        return self.known.squares(weights)

    def column_squares(self, weights: Array) -> Array:
        return self.known.column_squares(weights)

    def right(self, V: Array) -> Array:
        return self.known.right(V)

    def left(self, U: Array) -> Array:
        return self.known.left(U)

    def inner(self, U: Array, V: Array) -> float:
        return self.known.inner(U, V)

    def rows(self, some: slice) -> Array:
        return self.known.rows(some)

    def seen_from(self, U: Array, V: Array) -> Sparse:
        return Sparse(self.known.X + self._fit(U, V))

    def omega(self, some: slice) -> Array:
        return np.asarray(self._missing_rows[some].toarray() == 0)

    def residual(self, U: Array, V: Array, some: slice) -> Array:
        residual = self.known.residual(U, V, some)
        residual[self._missing_rows[some].nonzero()] = 0.0
        return residual

    def squared_residual(self, U: Array, V: Array) -> float:
        return summed_residual(self, U, V)

    def divided(self, scale: float) -> MaskedSparse:
        return MaskedSparse(self.known.divided(scale).X, self.missing)

    @cached_property
    def _missing_rows(self) -> Any:
        return self.missing.tocsr()

    @cached_property
    def _positions(self) -> tuple[Array, Array]:
        return _positions(self.missing)

    def _fit(self, U: Array, V: Array) -> Any:
        """UVᵀ at the missing entries only, with their pattern."""
        rows, columns = self._positions
        values = np.empty(len(rows), dtype=self.dtype)
        for start in range(0, len(rows), PAIRS):
            part = slice(start, start + PAIRS)
            np.einsum("ij,ij->i", U[rows[part]], V[columns[part]], out=values[part], casting="same_kind")
        fit = self.missing.copy()
        fit.data = values
        return fit


def _positions(pattern: Any) -> tuple[Array, Array]:
    """Rows and columns of the stored entries, in the order in which they are stored."""
    entries = pattern.tocoo()
    return entries.row, entries.col
