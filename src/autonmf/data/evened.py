r"""X with rows and columns of even size.

.. math:: Y_{ij} = X_{ij} / \sqrt{\|X_{i:}\|\,\|X_{:j}\|}

A component that lives in few or faint rows and columns (dark water in a scene, a rare cell type) has little
energy in X and is hard to see in its loss; in Y it counts like the others. Y has the rank of X, and the
factors of either are those of the other with scaled rows.
"""

from __future__ import annotations

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data.complete import summed_residual
from autonmf.data.protocol import Data
from autonmf.data.rowwise import Turned


class Evened:
    """diag(a)⁻¹ X diag(b)⁻¹, without a copy of X.

    If U, V are its factors, diag(a) U, diag(b) V are those of X.
    """

    def __init__(self, data: Data, a: Array, b: Array) -> None:
        self.data = data
        self.a = a  # n, positive, in double precision
        self.b = b  # m
        self._rows, self._columns = (v[:, None].astype(data.dtype) for v in (1 / a, 1 / b))

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.data.dtype

    @property
    def T(self) -> Turned:
        return Turned(self)

    @property
    def cost(self) -> float:
        return self.data.cost

    def squared_norm(self) -> float:
        return self._squared_norm

    @cached_property
    def _squared_norm(self) -> float:
        return float(self.data.squares(self.b**-2) @ self.a**-2)

    def squares(self, weights: Array) -> Array:
        return np.asarray(self.data.squares(weights * self.b**-2) * self.a**-2)

    def column_squares(self, weights: Array) -> Array:
        return np.asarray(self.data.column_squares(weights * self.a**-2) * self.b**-2)

    def right(self, V: Array) -> Array:
        product = self.data.right(V * self._columns.astype(V.dtype, copy=False))
        product *= self._rows
        return product

    def left(self, U: Array) -> Array:
        product = self.data.left(U * self._rows.astype(U.dtype, copy=False))
        product *= self._columns
        return product

    def inner(self, U: Array, V: Array) -> float:
        return self.data.inner(U / self.a[:, None], V / self.b[:, None])

    @property
    def complete(self) -> bool:
        return self.data.complete

    def seen_from(self, U: Array, V: Array) -> Data:
        if self.complete:
            return self
        return Evened(self.data.seen_from(*self._outward(U, V)), self.a, self.b)

    def omega(self, some: slice) -> Array:
        return self.data.omega(some)

    def residual(self, U: Array, V: Array, some: slice) -> Array:
        residual = self.data.residual(*self._outward(U, V), some)
        return np.asarray(residual * self._rows[some] * self._columns.T)

    def squared_residual(self, U: Array, V: Array) -> float:
        if isinstance(self.data, Turned):  # whose rows are read one by one
            return Evened(self.data.T, self.b, self.a).squared_residual(V, U)
        return summed_residual(self, U, V)

    def _outward(self, U: Array, V: Array) -> tuple[Array, Array]:
        """Factors of Y as those of X."""
        return U / self._rows, V / self._columns

    def rows(self, some: slice) -> Array:
        return np.asarray(self.data.rows(some) * self._rows[some] * self._columns.T)

    def divided(self, scale: float) -> Data:
        return Evened(self.data, self.a * scale, self.b)


def even_out(data: Data) -> Evened:
    """X with even rows and columns. Rows and columns of zeros keep the scale one."""
    n, m = data.shape
    rows, columns = data.squares(np.ones(m)), data.column_squares(np.ones(n))
    return Evened(data, *(np.where(squares > 0, squares, 1.0) ** 0.25 for squares in (rows, columns)))
