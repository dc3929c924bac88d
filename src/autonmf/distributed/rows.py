"""`Rows`: a tall matrix whose rows stay on the workers.

Nothing is computed until a sum over the rows is needed: then every block runs one task, which carries out all
that was recorded, and only the sum travels. Scaling, merging, choosing and ordering of columns are products
with a small matrix from the right: they are remembered, and cost no task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from autonmf._types import Array
from autonmf.data.factors import RemoteFactor
from autonmf.data.protocol import Block, no_weights
from autonmf.distributed.program import BOUNDS

if TYPE_CHECKING:
    from autonmf.distributed.workers import Workers


class Node:
    """How a matrix is computed: a function of others, or blocks that workers hold."""

    def __init__(
        self, workers: Workers, function: Callable[..., Any], args: tuple[Any, ...], columns: tuple[int, ...],
        dtype: np.dtype[Any], keep: bool = False,
    ) -> None:  # fmt: skip
        self.workers, self.function, self.args = workers, function, args
        self.columns = columns  # (k,), or () if it is a vector
        self.dtype = dtype
        self.keep = keep  # on the workers, once it was computed
        self.pieces: list[Any] | None = None  # futures, one per block
        self.place = 0  # in each piece
        self._products: WeakKeyDictionary[Node, Array] = WeakKeyDictionary()  # its transpose with others

    def hold(self, pieces: list[Any], place: int, gram: Array | None) -> None:
        """Record that the workers hold it."""
        self.pieces, self.place = pieces, place
        if gram is not None:
            self._products[self] = gram
        self.args = ()

    def product_with(self, other: Node, dtype: np.dtype[Any]) -> Array:
        """AᵀB of two kept matrices in at least this precision: one task per block, the first time."""
        if not self._knows(other, dtype):
            self._compute_product(other, dtype)
        return self._products[other]

    def _knows(self, other: Node, dtype: np.dtype[Any]) -> bool:
        return other in self._products and not self._products[other].dtype < dtype

    def _compute_product(self, other: Node, dtype: np.dtype[Any]) -> None:
        A, B = (Rows(node, None, dtype) for node in (self, other))
        if self is other and self.pieces is None:
            A.total(_sum, A)  # its Gram matrix comes with it
        elif self is other or self.pieces is None or self._knows(self, dtype):
            self._products[other] = np.asarray(A.total(multiply_transposed, A, B), dtype=dtype)
        else:  # the Gram matrix is needed next
            both = np.asarray(A.total(_product_and_gram, A, B), dtype=dtype)
            self._products[other], self._products[self] = np.split(both, [B.shape[1]], axis=1)


class Rows(RemoteFactor):
    """An n x k matrix as `Node` times a small matrix."""

    def __init__(
        self, node: Node, matrix: Array | None = None, dtype: np.dtype[Any] | type | None = None
    ) -> None:
        self.node = node
        self.matrix = matrix
        self.dtype: np.dtype[Any] = np.dtype(node.dtype if dtype is None else dtype)
        columns = node.columns if matrix is None else (matrix.shape[1],)
        self.shape: tuple[int, ...] = (node.workers.n, *columns)
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Rows(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        raise TypeError("the rows of this matrix are on the workers and may not fit into memory")

    def times(self, matrix: Array, dtype: Any = None) -> Rows:
        matrix = np.asarray(matrix, dtype=np.float64)
        product = matrix if self.matrix is None else self.matrix @ matrix
        return Rows(self.node, product, self.dtype if dtype is None else dtype)

    def map(self, function: Callable[..., Array], *args: Any) -> Rows:
        like = function(*map(_sample, args))
        return Rows(Node(self.node.workers, function, args, like.shape[1:], like.dtype))

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.node.workers.total(function, *args)

    def map_parts(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.node.workers.each(function, *args)

    def map_blocks(self, function: Callable[..., Any], U: Any, *shared: Any) -> tuple[Any, Any]:
        ones = np.ones((1, *self.shape[1:]), self.dtype)
        example = Block(slice(0, 1), lambda: ones, no_weights)
        row, one_sum = function(example, _sample(as_client_rows(U)), *shared)
        args = (self, BOUNDS, as_client_rows(U), *shared)
        rows = total = None
        if row is not None:
            make_rows = partial(_apply, function, 0)
            rows = Rows(Node(self.node.workers, make_rows, args, row.shape[1:], row.dtype, keep=True))
        if one_sum is not None:  # with the rows as an argument, both are computed by the same task
            total = self.total(partial(_apply, function, 1), *args, *([] if rows is None else [Also(rows)]))
        return rows, total

    def cross(self, other: Any) -> Array:
        """AᵀB. Known without a task where both are multiples of kept matrices whose product is known."""
        dtype = np.result_type(self.dtype, other.dtype)
        if isinstance(other, Rows) and self.node.keep and other.node.keep:
            known = self.node.product_with(other.node, dtype)
            left = known if self.matrix is None else self.matrix.T @ known
            return np.asarray(left if other.matrix is None else left @ other.matrix, dtype=dtype)
        return np.asarray(self.total(multiply_transposed, self, as_client_rows(other)), dtype=dtype)

    def astype(self, dtype: Any, copy: bool = True) -> Rows:
        return Rows(self.node, self.matrix, dtype)

    def persist(self) -> Rows:
        """The same; once computed, it stays on the workers, and its Gram matrix is known."""
        node = self.node
        if self.matrix is None and self.dtype == node.dtype:
            node.keep = True
            return self
        return Rows(Node(node.workers, _return, (self,), self.shape[1:], self.dtype, keep=True))

    def compute(self) -> Rows:
        rows = self.persist()
        if rows.node.pieces is None:
            rows.total(_sum, rows)
        return rows

    def var(self, axis: int, dtype: Any = np.float64) -> Array:
        mean = self.total(_sum, self) / len(self)
        return np.asarray(self.total(_sum_squared_deviations, self, mean) / len(self), dtype=dtype)

    def gather(self) -> Array:
        """All rows as an array on the client, for matrices that fit."""
        return np.concatenate(self.map_parts(_return, self))


class ClientRows(NamedTuple):
    """An array on the client with a row for each of X: every block gets its own."""

    array: Array


class Also(NamedTuple):
    """A matrix that a task also computes and persists, without using it."""

    rows: Rows | None  # None on the worker, where it is kept already


def as_client_rows(factor: Any) -> Any:
    """A factor on the client as an argument of which every block gets its rows; others as they are."""
    return ClientRows(factor) if isinstance(factor, np.ndarray) and factor.ndim == 2 else factor


def multiply_transposed(A: Array, B: Array) -> Array:
    """AᵀB of a block."""
    return A.T @ B


def _sample(arg: Any) -> Any:
    """One row in place of all, to find the shape and dtype of the result of a function."""
    if isinstance(arg, Rows):
        return np.ones((1, *arg.shape[1:]), dtype=arg.dtype, order="F")
    return arg.array[:1] if isinstance(arg, ClientRows) else arg


def _apply(
    function: Callable[..., Any], which: int, X: Any, bounds: tuple[int, int], U: Any, *shared: Any
) -> Any:
    """The rows (0) or the sum (1) that a function of a block gives."""
    shared = tuple(arg for arg in shared if not isinstance(arg, Also))
    return function(Block(slice(*bounds), lambda: X, no_weights), U, *shared)[which]


def _return(block: Array) -> Array:
    return block


def _product_and_gram(A: Array, B: Array) -> Array:
    return np.hstack([A.T @ B, A.T @ A])


def _sum(A: Array) -> Array:
    return np.asarray(A.sum(axis=0, dtype=np.float64))


def _sum_squared_deviations(A: Array, mean: Array) -> Array:
    return np.asarray(np.square(A - mean, dtype=np.float64).sum(axis=0))
