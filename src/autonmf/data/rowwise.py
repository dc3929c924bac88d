"""Matrices that are read a block of rows at a time, and their transposes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from autonmf._threads import each
from autonmf._types import Array, cached_property
from autonmf.data.blocks import BLOCK_ENTRIES, even_blocks, row_blocks, squared_sum
from autonmf.data.complete import summed_residual
from autonmf.data.protocol import Data

PARTIAL_SUMS = 4
"""Groups of blocks whose products with Xᵀ are summed: the number is fixed, so that the sum is."""

Result = TypeVar("Result")


class RowWise:
    """Everything that `Data` asks for, from `rows` alone. Blocks depend on the shape only."""

    block_entries = BLOCK_ENTRIES
    parallel = True  # whether several threads may read

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[np.floating]) -> None:
        self.shape = shape
        self.dtype = dtype

    def rows(self, some: slice) -> Array:
        """A few rows of X, as an ordinary array."""
        raise NotImplementedError

    def block(self, some: slice) -> Any:
        """The same for products: an array or a sparse matrix."""
        return self.rows(some)

    @property
    def T(self) -> Turned:
        return Turned(self)  # type: ignore[arg-type]  # subclasses say whether X is complete

    @property
    def cost(self) -> float:
        return float(np.prod(self.shape, dtype=float))

    @cached_property
    def _blocks(self) -> list[slice]:
        return list(row_blocks(self.shape, self.block_entries))

    def over(
        self, function: Callable[[slice], Result], blocks: Iterable[slice] | None = None
    ) -> list[Result]:
        """``function`` of every block, in order."""
        some = self._blocks if blocks is None else list(blocks)
        return each(function, some) if self.parallel else [function(b) for b in some]

    def right(self, V: Array) -> Array:
        transposed = np.empty((V.shape[1], self.shape[0]), dtype=np.result_type(self.dtype, V))

        def product(b: slice) -> None:
            transposed[:, b] = np.asarray(self.block(b) @ V).T

        self.over(product)
        return transposed.T

    def left(self, U: Array) -> Array:
        return self.summed(lambda b: np.asarray(self.block(b).T @ U[b]))

    def summed(self, part: Callable[[slice], Array]) -> Array:
        """The sum of ``part`` over the blocks, Fortran-ordered; always in the same order."""
        groups = list(even_blocks(len(self._blocks), PARTIAL_SUMS))

        def group(g: slice) -> Array:
            total, *others = (part(b) for b in self._blocks[g])
            for other in others:
                total += other
            return total

        total, *others = self.over(group, groups)
        return np.asfortranarray(sum(others, start=total))

    def squared_norm(self) -> float:
        return self._squared_norm

    @cached_property
    def _squared_norm(self) -> float:
        return float(sum(self.over(lambda b: squared_sum(_entries(self.block(b))))))

    def squares(self, weights: Array) -> Array:
        return np.concatenate(self.over(lambda b: np.asarray(_squared(self.block(b)) @ weights)))

    def column_squares(self, weights: Array) -> Array:
        """`squares` of the transpose."""
        return self.summed(lambda b: np.asarray(_squared(self.block(b)).T @ weights[b]))

    def inner(self, U: Array, V: Array) -> float:
        return float(np.sum(U * self.right(V), dtype=np.float64))

    def squared_residual(self, U: Array, V: Array) -> float:
        return summed_residual(self, U, V)  # type: ignore[arg-type]


class Turned:
    """The transpose of a matrix that can only be read by rows."""

    def __init__(self, data: Data) -> None:
        self.T = data

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.T.shape
        return m, n

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.T.dtype

    @property
    def cost(self) -> float:
        return self.T.cost

    @property
    def complete(self) -> bool:
        return self.T.complete

    def squared_norm(self) -> float:
        return self.T.squared_norm()

    def squares(self, weights: Array) -> Array:
        return self.T.column_squares(weights)

    def column_squares(self, weights: Array) -> Array:
        return self.T.squares(weights)

    def right(self, V: Array) -> Array:
        return self.T.left(V)

    def left(self, U: Array) -> Array:
        return self.T.right(U)

    def inner(self, U: Array, V: Array) -> float:
        return self.T.inner(V, U)

    def seen_from(self, U: Array, V: Array) -> Data:
        return self if self.complete else self.T.seen_from(V, U).T

    def squared_residual(self, U: Array, V: Array) -> float:
        return self.T.squared_residual(V, U)

    def residual(self, U: Array, V: Array, some: slice) -> Array:
        return self._columns(lambda b: self.T.residual(V, U, b), some)

    def rows(self, some: slice) -> Array:
        return self._columns(self.T.rows, some)

    def omega(self, some: slice) -> Array:
        return self._columns(self.T.omega, some)

    def divided(self, scale: float) -> Data:
        return self.T.divided(scale).T

    def _columns(self, rows: Callable[[slice], Array], some: slice) -> Array:
        return np.concatenate([rows(b)[:, some] for b in row_blocks(self.T.shape)]).T


def as_it_lies(data: Data) -> Data:
    """X or its transpose, whichever has rows that can be read one by one."""
    return data.T if isinstance(data, Turned) else data


def _squared(block: Any) -> Any:
    """The squares of the entries in double precision; sparse if the block is."""
    if isinstance(block, np.ndarray):
        return np.square(block, dtype=np.float64)
    return block.astype(np.float64).power(2)


def _entries(block: Any) -> Array:
    return block if isinstance(block, np.ndarray) else block.data
