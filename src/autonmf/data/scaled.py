"""X divided by a number, without a copy of X."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.data.protocol import Data


class Scaled:
    """X / s. The factors of X / s times sqrt(s) are factors of X."""

    def __init__(self, data: Data, scale: float) -> None:
        self.data = data
        self.scale = scale

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.data.dtype

    @property
    def T(self) -> Scaled:
        return Scaled(self.data.T, self.scale)

    @property
    def cost(self) -> float:
        return self.data.cost

    def squared_norm(self) -> float:
        return self.data.squared_norm() / self.scale**2

    def squares(self, weights: Array) -> Array:
        return self.data.squares(weights) / self.scale**2

    def column_squares(self, weights: Array) -> Array:
        return self.data.column_squares(weights) / self.scale**2

    def right(self, V: Array) -> Array:
        return self._divided(self.data.right(V))

    def left(self, U: Array) -> Array:
        return self._divided(self.data.left(U))

    def inner(self, U: Array, V: Array) -> float:
        return self.data.inner(U, V) / self.scale

    @property
    def complete(self) -> bool:
        return self.data.complete

    def seen_from(self, U: Array, V: Array) -> Data:
        return self if self.complete else Scaled(self.data.seen_from(*self._outward(U, V)), self.scale)

    def omega(self, some: slice) -> Array:
        return self.data.omega(some)

    def residual(self, U: Array, V: Array, some: slice) -> Array:
        return self._divided(self.data.residual(*self._outward(U, V), some))

    def squared_residual(self, U: Array, V: Array) -> float:
        return self.data.squared_residual(*self._outward(U, V)) / self.scale**2

    def _outward(self, U: Array, V: Array) -> tuple[Array, Array]:
        """Factors of X / s as those of X."""
        root = np.asarray(np.sqrt(self.scale), dtype=self.dtype)
        return U * root, V * root

    def rows(self, some: slice) -> Array:
        return np.asarray(self.data.rows(some) / np.asarray(self.scale, dtype=self.dtype))

    def _divided(self, product: Array) -> Array:
        product /= np.asarray(self.scale, dtype=self.dtype)
        return product

    def divided(self, scale: float) -> Data:
        return self.data.divided(self.scale * scale)


def to_unit_scale(data: Data) -> tuple[Data, float]:
    """(X / s, s) with s the root mean square of X.

    The constants μ, δ and ε₁ of the method are absolute; dividing by s gives them the same meaning
    for X and for 1e8·X. X is copied only where products of its entries leave the range of its dtype.
    """
    n, m = data.shape
    scale = float(np.sqrt(data.squared_norm() / (n * m)))
    safe = float(np.finfo(data.dtype).max) ** 0.25
    if 1 / safe < scale < safe:
        return Scaled(data, scale), scale
    return data.divided(scale), scale
