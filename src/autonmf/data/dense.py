"""X as an ordinary array."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.data.blocks import row_blocks


class Dense:
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
        return Dense(self.X.T)

    def squared_norm(self) -> float:
        # Along the longer contiguous direction, so that no block is copied.
        X = self.X if self.X.flags.c_contiguous else self.X.T
        return sum(float(np.square(X[b], dtype=np.float64).sum()) for b in row_blocks(X.shape))

    def right(self, V: Array) -> Array:
        return (V.T @ self.X.T).T

    def left(self, U: Array) -> Array:
        return (U.T @ self.X).T

    def squared_residual(self, U: Array, V: Array) -> float:
        total = 0.0
        for b in row_blocks(self.shape):
            residual = self.X[b] - U[b] @ V.T
            total += float(np.square(residual, dtype=np.float64).sum())
        return total

    def divided(self, scale: float) -> Dense:
        """X / scale as a copy."""
        return Dense((self.X / scale).astype(self.dtype, copy=False))
