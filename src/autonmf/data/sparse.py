"""X as a CSR or CSC matrix, never made dense as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.blocks import row_blocks


class Sparse:
    """A SciPy sparse X in CSR or CSC format."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self._dtype: np.dtype[np.floating] = X.dtype

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self._dtype

    @property
    def T(self) -> Sparse:
        return Sparse(self.X.T)

    def squared_norm(self) -> float:
        return float(np.square(self.X.data, dtype=np.float64).sum())

    def right(self, V: Array) -> Array:
        return np.asfortranarray(self.X @ np.ascontiguousarray(V))

    def left(self, U: Array) -> Array:
        return np.asfortranarray(self.X.T @ np.ascontiguousarray(U))

    def squared_residual(self, U: Array, V: Array) -> float:
        if self.X.format == "csc":
            return self.T.squared_residual(V, U)
        total = 0.0
        for b in row_blocks(self.shape):
            residual = self.X[b].toarray() - U[b] @ V.T
            total += float(np.square(residual, dtype=np.float64).sum())
        return total

    def divided(self, scale: float) -> Sparse:
        """X / scale as a copy."""
        return Sparse((self.X / scale).astype(self.dtype, copy=False))
