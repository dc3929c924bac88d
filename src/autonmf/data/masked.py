r"""X with missing entries, or with entries that count with different weights.

With weights :math:`0 \le \omega \le 1`, zero where an entry is missing, the loss is
:math:`\tfrac12\|\sqrt\omega\circ(X-UV^\top)\|^2`. At a fit :math:`Z = UV^\top` it is majorised by the
ordinary loss of the completed matrix

.. math:: \hat X = Z + \omega\circ(X-Z), \qquad
    \tfrac12\|\sqrt\omega\circ(X-Z')\|^2 \le \tfrac12\|\hat X-Z'\|^2 + c \quad\text{for all } Z',

with equality at Z' = Z: every step that lowers the right-hand side lowers the loss. Scaling rows and columns
of X and Z scales X̂ in the same way, so `Scaled` needs no code for missing entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._threads import each
from autonmf._types import Array, cached_property
from autonmf.data.protocol import Block, Data, RowBlocks, square, squared_sum, sum_in_groups
from autonmf.data.scaling import unscale
from autonmf.data.sparse import Sparse

PAIRS = 1 << 16
"""Number of missing entries whose fit is computed at a time."""


class Masked(RowBlocks):
    """A dense X, C-ordered, with entries that are missing or have weights."""

    complete = False

    def __init__(self, X: Array, weights: Array) -> None:
        self.X = X  # zero where an entry is missing
        self.weights = weights  # ω, n x m; booleans if entries are only known or missing
        self.shape = X.shape[0], X.shape[1]
        self.dtype = X.dtype

    @property
    def T(self) -> Masked:
        return Masked(self.X.T, self.weights.T)

    @property
    def cost(self) -> float:
        return float(self.X.size)

    def read(self, rows: slice) -> Array:
        return self.X[rows]

    def read_weights(self, rows: slice) -> Array:
        return self.weights[rows]

    def squared_norm(self) -> float:
        return self._squared_norm

    @cached_property
    def _squared_norm(self) -> float:
        return float(self.map_blocks(_sum_squares, None)[1])

    def right(self, V: Array) -> Array:
        transposed = np.empty((V.shape[1], self.shape[0]), dtype=np.result_type(self.dtype, V))

        def multiply(b: slice) -> None:
            transposed[:, b] = np.asarray(self._weighted(b) @ V).T

        each(multiply, self.blocks)
        return transposed.T

    def left(self, U: Array) -> Array:
        return sum_in_groups(lambda b: self._weighted(b).T @ U[b], self.blocks)

    def _weighted(self, rows: slice) -> Array:
        """A few rows of ω∘X; what is missing is zero in X already."""
        X = self.X[rows]
        return X if self.weights.dtype == bool else np.asarray(X * self.weights[rows])

    def completed_at(self, U: Array, V: Array) -> Completed:  # type: ignore[override]
        return Completed(self, U, V)


class Completed(RowBlocks):
    """X̂, the completion of a masked X by the fit U Vᵀ; formed a block at a time, never as a whole."""

    def __init__(self, masked: Masked, U: Array, V: Array) -> None:
        self.masked = masked
        self.U = U
        self.V = V
        self.shape = masked.shape
        self.dtype = masked.dtype

    @property
    def cost(self) -> float:
        return self.masked.cost

    def read(self, rows: slice) -> Array:
        return np.asarray(self.U[rows] @ self.V.T + self._change(rows))

    def squared_norm(self) -> float:
        return float(sum(each(lambda b: squared_sum(self.read(b)), self.blocks)))

    def right(self, V: Array) -> Array:
        product = np.asarray((self.V.T @ V).T @ self.U.T).T
        each(lambda b: np.add(product[b], self._change(b) @ V, out=product[b]), self.blocks)
        return product

    def left(self, U: Array) -> Array:
        change = sum_in_groups(lambda b: self._change(b).T @ U[b], self.blocks)
        change += self.V @ (self.U.T @ U)
        return change

    def _change(self, rows: slice) -> Array:
        """A few rows of X̂ - Z = ω∘(X - Z)."""
        difference = self.U[rows] @ self.V.T
        np.subtract(self.masked.X[rows], difference, out=difference)
        difference *= self.masked.weights[rows]
        return np.asarray(difference)


class MaskedSparse(RowBlocks):
    """A sparse X whose missing entries are stored as NaN; entries that are not stored are zeros, and known.

    X̂ = X₀ + P(UVᵀ): X with zeros at its missing entries, plus the fit there.
    """

    complete = False

    def __init__(self, known: Any, missing: Any) -> None:
        self.known = Sparse(known)  # X₀
        self.missing = missing  # CSR or CSC, as X₀; its pattern is where entries are missing
        self.shape = self.known.shape
        self.dtype = self.known.dtype

    @staticmethod
    def of(X: Any) -> MaskedSparse:
        """X with explicit NaN, in CSR or CSC format."""
        unknown = np.isnan(X.data)
        known, missing = X.copy(), X.copy()
        known.data[unknown] = 0.0
        missing.data = unknown.astype(X.dtype)
        missing.eliminate_zeros()
        return MaskedSparse(known, missing)

    def zero_unknown_lines(self) -> MaskedSparse:
        """The same with zeros in rows and columns without a known entry."""
        nothing = [np.ravel(self.missing.sum(axis=axis)) == self.shape[axis] for axis in (1, 0)]
        if not any(lines.any() for lines in nothing):
            return self
        missing = self.missing.copy()
        rows, columns = _positions(missing)
        missing.data[nothing[0][rows] | nothing[1][columns]] = 0.0
        missing.eliminate_zeros()
        return MaskedSparse(self.known.X, missing)

    @property
    def T(self) -> MaskedSparse:
        return MaskedSparse(self.known.X.T, self.missing.T)

    @property
    def cost(self) -> float:
        return self.known.cost

    def read(self, rows: slice) -> Any:
        return self.known.read(rows)

    def read_weights(self, rows: slice) -> Array:
        return np.asarray(self._missing_rows[rows].toarray() == 0)

    def squared_norm(self) -> float:
        return self.known.squared_norm()

    def right(self, V: Array) -> Array:
        return self.known.right(V)

    def left(self, U: Array) -> Array:
        return self.known.left(U)

    def completed_at(self, U: Array, V: Array) -> Sparse:  # type: ignore[override]
        return Sparse(self.known.X + self._fit_missing(U, V))

    @cached_property
    def _missing_rows(self) -> Any:
        return self.missing.tocsr()

    @cached_property
    def _missing_positions(self) -> tuple[Array, Array]:
        return _positions(self.missing)

    def _fit_missing(self, U: Array, V: Array) -> Any:
        """UVᵀ at the missing entries only, with their pattern."""
        rows, columns = self._missing_positions
        values = np.empty(len(rows), dtype=self.dtype)
        for start in range(0, len(rows), PAIRS):
            part = slice(start, start + PAIRS)
            np.einsum("ij,ij->i", U[rows[part]], V[columns[part]], out=values[part], casting="same_kind")
        fit = self.missing.copy()
        fit.data = values
        return fit


def count_rows(data: Data, V: Array) -> Array:
    """ω V of incomplete data; their scales are ignored."""
    data = unscale(data)
    return np.asarray(data.map_blocks(lambda block, _: (block.read_weights() @ V, None), None)[0])


def count_columns(data: Data, U: Array) -> Array:
    """ωᵀ U of incomplete data; their scales are ignored."""
    data = unscale(data)
    return np.asarray(data.map_blocks(lambda block, part: (None, block.read_weights().T @ part), U)[1])


def _positions(pattern: Any) -> tuple[Array, Array]:
    """Row and column indices of the stored entries, in storage order."""
    entries = pattern.tocoo()
    return entries.row, entries.col


def _sum_squares(block: Block, _: None) -> tuple[None, float]:
    return None, float(square(block.read(), block.read_weights()).sum())
