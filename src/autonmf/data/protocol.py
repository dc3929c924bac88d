"""The `Data` protocol, which every kind of data matrix implements, and blocks of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from autonmf._threads import each, in_turn
from autonmf._types import Array, cached_property

BLOCK_ENTRIES = 1 << 18
"""Entries of a temporary block: 2 MB in double precision."""

BLOCKS = 8
"""Number of blocks of a large product: enough for a few threads, and few enough for BLAS to be fast."""

PARTIAL_SUMS = 4
"""Number of partial sums of a product with Xᵀ; fixed, so that results do not depend on the threads."""


class Data(Protocol):
    """A nonnegative matrix X (n x m) with weights ω of its entries, however it is stored.

    Products are Fortran-ordered, so that a component is contiguous. The left factor may be kept on a cluster;
    `autonmf.data.factors` has the operations on factors.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Precision of X and of every factor made from it: float32 or float64."""

    @property
    def cost(self) -> float:
        """Multiply-adds of X times one vector, in units of those of a dense product."""

    @property
    def complete(self) -> bool:
        """Whether every entry is known and has the weight one."""

    def squared_norm(self) -> float:
        """‖√ω∘X‖_F², accumulated in double precision and computed once."""

    def right(self, V: Array) -> Array:
        """(ω∘X) V, n x r."""

    def left(self, U: Array) -> Array:
        """(ω∘X)ᵀ U, m x r."""

    def squared_residual(self, U: Array, V: Array) -> float:
        """‖√ω∘(X - U Vᵀ)‖_F² from the residual itself: no cancellation, one pass over X."""

    def completed_at(self, U: Array, V: Array) -> Data:
        """The complete matrix X̂ with ½‖X̂ - U'V'ᵀ‖² + constant ≥ the loss at (U', V'), equal at (U, V).

        X itself if X is complete; otherwise what solvers descend on.
        """

    def map_blocks(self, function: BlockFunction, U: Array | None, *shared: Any) -> tuple[Any, Any]:
        """``function(block, U_b, *shared) -> (rows, sum)`` for every block of rows of X.

        ``U_b`` are the rows of U that belong to the block. Returns all ``rows``, as a factor, and the total
        of the sums; either may be None.
        """


BlockFunction = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True)
class Block:
    """Consecutive rows of X. Nothing is read until `read` is called, and then every time."""

    rows: slice
    read: Callable[[], Any]  # an array, or a CSR matrix
    read_weights: Callable[[], Array | None]  # ω; booleans if entries are only known or missing

    def dense(self) -> Array:
        return as_array(self.read())

    def residual(self, U: Array, V: Array) -> Array:
        """√ω∘(X - U Vᵀ), for the rows of U that belong to the block."""
        X, weights = self.read(), self.read_weights()
        difference = U @ V.T
        np.subtract(as_array(X), difference, out=difference, casting="same_kind")
        if weights is not None:
            difference *= weights if weights.dtype == bool else np.sqrt(weights)
        return np.asarray(difference)


def square(X: Any, weights: Array | None) -> Any:
    """ω∘X∘X in double precision; sparse if X is."""
    if not isinstance(X, np.ndarray):
        return X.astype(np.float64).power(2)
    squares = np.square(X, dtype=np.float64)
    if weights is not None:
        squares *= weights
    return squares


def no_weights() -> None:
    """The weights of a block without weights."""
    return


class RowBlocks:
    """The part of `Data` that follows from reading X by blocks of rows, which depend only on its shape."""

    complete = True
    block_entries = BLOCK_ENTRIES
    parallel = True  # whether several threads may read
    sparse = False  # whether all blocks are sparse
    shape: tuple[int, int]
    dtype: np.dtype[np.floating]

    def read(self, rows: slice) -> Any:
        """A few rows of X: an array, or a CSR matrix."""
        raise NotImplementedError

    def read_weights(self, rows: slice) -> Array | None:
        """Their weights; None if all are one."""
        return None

    @cached_property
    def blocks(self) -> list[slice]:
        return list(row_blocks(self.shape, self.block_entries))

    def map_blocks(self, function: BlockFunction, U: Array | None, *shared: Any) -> tuple[Any, Any]:
        def apply(rows: slice) -> tuple[Any, Any]:
            block = Block(rows, partial(self.read, rows), partial(self.read_weights, rows))
            return function(block, None if U is None else U[rows], *shared)

        parts, total = [], None
        for part, addend in (in_turn if self.parallel else map)(apply, self.blocks):
            parts.append(part)
            total = addend if total is None else total + addend
        return None if parts[0] is None else _stack(parts), total

    def squared_residual(self, U: Array, V: Array) -> float:
        return float(self.map_blocks(square_residual, U, V)[1])

    def completed_at(self, U: Array, V: Array) -> Self:
        return self


def row_blocks(shape: tuple[int, int], entries: int = BLOCK_ENTRIES) -> Iterator[slice]:
    """Ranges of consecutive rows with at most about ``entries`` entries each."""
    n, m = shape
    rows = max(1, entries // max(1, m))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def even_blocks(n: int, count: int = BLOCKS) -> Iterator[slice]:
    """At most ``count`` ranges of consecutive rows of nearly equal length."""
    count = min(count, n)
    for i in range(count):
        yield slice(i * n // count, (i + 1) * n // count)


def sum_in_groups(part: Callable[[slice], Array], blocks: list[slice], *, parallel: bool = True) -> Array:
    """The sum of ``part`` over the blocks, Fortran-ordered; always added in the same order."""
    groups = [blocks[g] for g in even_blocks(len(blocks), PARTIAL_SUMS)]

    def add(group: list[slice]) -> Array:
        total, *others = map(part, group)
        for other in others:
            total += other
        return total

    total, *others = each(add, groups) if parallel else map(add, groups)
    return np.asfortranarray(sum(others, start=total))


def squared_sum(block: Array) -> float:
    """The sum of squares, accumulated in double precision."""
    flat = block.ravel(order="K").astype(np.float64, copy=False)
    return float(np.dot(flat, flat))


def as_array(block: Any) -> Array:
    """A block of rows as an ordinary array."""
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())


def is_sparse(block: Any) -> bool:
    """Whether a matrix or a block of it is a SciPy sparse matrix."""
    return bool(sparse.issparse(block))


def reads_rows(data: Data) -> bool:
    """Whether `Data.map_blocks` can read rows, which it cannot of the transpose of data stored by rows."""
    scaling = getattr(data, "scaling", None)
    return not (scaling is not None and scaling.transposed)


def square_residual(block: Block, U: Array, V: Array) -> tuple[None, float]:
    """‖X - U Vᵀ‖² of a block, for `Data.map_blocks`."""
    return None, squared_sum(block.residual(U, V))


def _stack(parts: list[Array]) -> Array:
    """Blocks of rows as one array, in the memory order of the blocks."""
    return np.concatenate([part.T for part in parts], axis=1).T
