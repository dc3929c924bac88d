"""What is the same for every matrix whose entries are all known and count alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from autonmf._threads import each
from autonmf._types import Array
from autonmf.data.blocks import row_blocks, squared_sum

if TYPE_CHECKING:
    from autonmf.data.protocol import Data


class Complete:
    """Such a matrix looks the same from every fit, and its residual is X - UVᵀ."""

    complete = True

    def seen_from(self, U: Array, V: Array) -> Self:
        return self

    def omega(self: Data, some: slice) -> Array:
        return np.ones((len(range(self.shape[0])[some]), self.shape[1]), dtype=bool)

    def residual(self: Data, U: Array, V: Array, some: slice) -> Array:
        return np.asarray(self.rows(some) - U[some] @ V.T)

    def column_squares(self: Data, weights: Array) -> Array:
        return self.T.squares(weights)

    def squared_residual(self: Data, U: Array, V: Array) -> float:
        return summed_residual(self, U, V)


def summed_residual(data: Data, U: Array, V: Array) -> float:
    """The squared norm of the residual, block by block."""
    return sum(each(lambda b: squared_sum(data.residual(U, V, b)), row_blocks(data.shape)))
