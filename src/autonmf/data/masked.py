r"""X with missing entries, or with entries that count with different weights.

With weights :math:`0 \le \omega \le 1`, zero where an entry is missing, the loss is
:math:`\tfrac12\|\sqrt\omega\circ(X-UV^\top)\|^2`. Seen from a fit :math:`Z = UV^\top` it is majorised by the
ordinary loss of the completed matrix

.. math:: \hat X = Z + \omega\circ(X-Z), \qquad
    \tfrac12\|\sqrt\omega\circ(X-Z')\|^2 \le \tfrac12\|\hat X-Z'\|^2 + c \quad\text{for all } Z',

with equality at Z' = Z: every step that lowers the right-hand side lowers the loss. Scaling rows and columns
of X and Z scales X̂ alike, so scaled copies of X need nothing of their own.
"""

from __future__ import annotations

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data.complete import Complete
from autonmf.data.rowwise import RowWise


class Masked(RowWise):
    """A dense X, C-ordered, of which some entries are missing or count less than others."""

    complete = False

    def __init__(self, X: Array, weights: Array) -> None:
        super().__init__((X.shape[0], X.shape[1]), X.dtype)
        self.X = X  # zero where an entry is missing
        self.weights = weights  # ω, n x m; booleans if entries are only known or missing

    @cached_property
    def _roots(self) -> Array:
        return self.weights if self.weights.dtype == bool else np.sqrt(self.weights)

    def rows(self, some: slice) -> Array:
        """ω∘X: what is missing is zero."""
        known = self.X[some]
        return known if self.weights.dtype == bool else np.asarray(known * self.weights[some])

    def omega(self, some: slice) -> Array:
        return self.weights[some]

    def change(self, U: Array, V: Array, some: slice, weights: Array) -> Array:
        """A few rows of weights∘(X - U Vᵀ)."""
        difference = U[some] @ V.T
        np.subtract(self.X[some], difference, out=difference)
        difference *= weights[some]
        return np.asarray(difference)

    def residual(self, U: Array, V: Array, some: slice) -> Array:
        return self.change(U, V, some, self._roots)

    @cached_property
    def _squared_norm(self) -> float:
        return float(self.squares(np.ones(self.shape[1])).sum())

    def squares(self, weights: Array) -> Array:
        return np.concatenate(self.over(lambda b: self._squares(b) @ weights))

    def column_squares(self, weights: Array) -> Array:
        return self.summed(lambda b: self._squares(b).T @ weights[b])

    def _squares(self, some: slice) -> Array:
        """A few rows of ω∘X∘X."""
        squares = np.square(self.X[some], dtype=np.float64)
        squares *= self.weights[some]
        return squares

    def seen_from(self, U: Array, V: Array) -> Seen:
        return Seen(self, U, V)

    def divided(self, scale: float) -> Masked:
        return Masked((self.X / scale).astype(self.dtype, copy=False), self.weights)


class Seen(RowWise, Complete):
    """X̂, the completion of a masked X by the fit U Vᵀ; formed a block at a time, never as a whole."""

    def __init__(self, masked: Masked, U: Array, V: Array) -> None:
        super().__init__(masked.shape, masked.dtype)
        self.masked = masked
        self.U = U
        self.V = V

    def rows(self, some: slice) -> Array:
        return np.asarray(self.U[some] @ self.V.T + self._change(some))

    def right(self, V: Array) -> Array:
        product = np.asarray((self.V.T @ V).T @ self.U.T).T
        self.over(lambda b: np.add(product[b], self._change(b) @ V, out=product[b]))
        return product

    def left(self, U: Array) -> Array:
        change = self.summed(lambda b: self._change(b).T @ U[b])
        change += self.V @ (self.U.T @ U)
        return change

    def _change(self, some: slice) -> Array:
        """A few rows of X̂ - Z = ω∘(X - Z)."""
        return self.masked.change(self.U, self.V, some, self.masked.weights)

    def divided(self, scale: float) -> Seen:
        root = np.asarray(np.sqrt(scale), dtype=self.dtype)
        return Seen(self.masked.divided(scale), self.U / root, self.V / root)
