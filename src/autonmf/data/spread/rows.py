"""`Rows`: a tall matrix whose rows stay on the workers.

It can be used like an array. Nothing is computed until a sum over the rows is asked for: then every block
runs one task, which carries out all that was recorded, and only the sum travels. Scaling, merging, choosing
and ordering of columns are products with a small matrix from the right: they are remembered, and cost no
task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from autonmf._types import Array

if TYPE_CHECKING:
    from autonmf.data.spread.workers import Workers


class Node:
    """What a matrix is made of: a function of others, or blocks that workers hold."""

    def __init__(
        self, workers: Workers, function: Callable[..., Any], args: tuple[Any, ...], columns: tuple[int, ...],
        dtype: np.dtype[Any], keep: bool = False,
    ) -> None:  # fmt: skip
        self.workers, self.function, self.args = workers, function, args
        self.columns = columns  # (k,), or () if it is a vector
        self.dtype = dtype
        self.keep = keep  # on the workers, once it was computed
        self.pieces: list[Any] | None = None  # futures, one a block
        self.place = 0  # in each piece
        self._products: WeakKeyDictionary[Node, Array] = WeakKeyDictionary()  # its transpose with others

    def settle(self, pieces: list[Any], place: int, gram: Array | None) -> None:
        """From now on held by the workers."""
        self.pieces, self.place = pieces, place
        if gram is not None:
            self._products[self] = gram
        self.args = ()

    def product_with(self, other: Node, dtype: np.dtype[Any]) -> Array:
        """AᵀB of two kept matrices in at least this precision: one task a block, the first time."""
        if not self._knows(other, dtype):
            self._learn(other, dtype)
        return self._products[other]

    def _knows(self, other: Node, dtype: np.dtype[Any]) -> bool:
        return other in self._products and not self._products[other].dtype < dtype

    def _learn(self, other: Node, dtype: np.dtype[Any]) -> None:
        A, B = (Rows(node, None, dtype) for node in (self, other))
        if self is other and self.pieces is None:
            total(_sums, A)  # its Gram matrix comes with it
        elif self is other or self.pieces is None or self._knows(self, dtype) or 1 in (A.ndim, B.ndim):
            self._products[other] = np.asarray(total(inner_product, A, B), dtype=dtype)
        else:  # whoever asks for a product asks for the Gram matrix next
            both = np.asarray(total(_beside_gram, A, B), dtype=dtype)
            self._products[other], self._products[self] = np.split(both, [B.shape[1]], axis=1)


class Rows(NDArrayOperatorsMixin):
    """An n x k matrix, or a vector of length n, as `Node` times a small matrix."""

    flags = SimpleNamespace(f_contiguous=False, c_contiguous=False)

    def __init__(
        self, node: Node, matrix: Array | None = None, dtype: np.dtype[Any] | type | None = None
    ) -> None:
        self.node = node
        self.matrix = matrix
        self.dtype: np.dtype[Any] = np.dtype(node.dtype if dtype is None else dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        columns = self.node.columns if self.matrix is None else (self.matrix.shape[1],)
        return self.node.workers.n, *columns

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Rows(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        raise TypeError("the rows of this matrix are on the workers and do not fit an array")

    @property
    def T(self) -> Flipped:
        return Flipped(self)

    def astype(self, dtype: Any, copy: bool = True) -> Rows:
        """The same in another precision."""
        return Rows(self.node, self.matrix, dtype)

    def __getitem__(self, key: Any) -> Rows:
        """Columns, or a vector as a column."""
        if self.ndim == 1 and key == (slice(None), None):
            column: Rows = rowwise(_as_column, self)
            return column
        rows, columns = key
        if rows != slice(None) or np.ndim(columns) != 1:
            raise IndexError("rows on the workers cannot be chosen")
        return self._times(np.eye(self.shape[1])[:, columns], self.dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        options.pop("out", None)
        if ufunc is np.matmul:
            return product(*inputs)
        first, second = (*inputs, None)[:2]
        if ufunc is np.multiply and first is not self:
            first, second = second, first
        if ufunc in (np.multiply, np.true_divide) and first is self and self._are_columns(second):
            scales = np.broadcast_to(ufunc(1.0, second), (self.shape[1],))
            return self._times(np.diag(scales.astype(np.float64)), np.result_type(self.dtype, second))
        inputs = tuple(map(beside, inputs) if self.ndim == 2 else inputs)
        return rowwise(partial(ufunc, **options) if options else ufunc, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function not in _FUNCTIONS:
            return NotImplemented
        return _FUNCTIONS[function](*args, **options)

    def var(self, axis: int, dtype: Any = np.float64) -> Array:
        """The variance of each column."""
        mean = total(_sums, self) / len(self)
        return np.asarray(total(_squared_deviations, self, mean) / len(self), dtype=dtype)

    def kept(self) -> Rows:
        """The same; once computed, it stays on the workers, and its Gram matrix is known."""
        node = self.node
        if self.matrix is None and self.dtype == node.dtype:
            node.keep = True
            return self
        return Rows(Node(node.workers, _itself, (self,), self.shape[1:], self.dtype, keep=True))

    def settled(self) -> Rows:
        """The same, computed now."""
        rows = self.kept()
        if rows.node.pieces is None:
            rows.node.workers.total(_sums, rows)
        return rows

    def gathered(self) -> Array:
        """All rows as an array on the client, for matrices that fit."""
        return np.concatenate(self.node.workers.each(_itself, self))

    def _are_columns(self, other: Any) -> bool:
        if self.ndim != 2 or isinstance(other, Rows | Flipped):
            return False
        return np.shape(other) in ((), (1,), (self.shape[1],), (1, self.shape[1]))

    def _times(self, matrix: Array, dtype: Any) -> Rows:
        matrix = np.asarray(matrix, dtype=np.float64)
        return Rows(self.node, matrix if self.matrix is None else self.matrix @ matrix, dtype)


class Flipped(NDArrayOperatorsMixin):
    """The transpose of `Rows`, for products."""

    def __init__(self, rows: Rows) -> None:
        self.T = rows

    @property
    def shape(self) -> tuple[int, ...]:
        return self.T.shape[::-1]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or ufunc is not np.matmul:
            return NotImplemented
        return product(*inputs)


def product(A: Any, B: Any) -> Any:
    """A B, where rows of at least one of them are on the workers."""
    if isinstance(A, Rows) and isinstance(B, Rows):
        return float(total(np.dot, A, B))
    if isinstance(A, Rows):
        return A._times(B, np.result_type(A.dtype, B)) if np.ndim(B) == 2 else rowwise(np.matmul, A, B)
    if isinstance(A, Flipped):
        return inner(A.T, B)
    if isinstance(B, Flipped):
        return product(B.T, A.T).T
    return inner(B, A.T).T


def inner(A: Rows, B: Any) -> Array:
    """AᵀB. Known without a task where both are multiples of kept matrices whose product is known."""
    dtype = np.result_type(A.dtype, B)
    if isinstance(B, Rows) and A.node.keep and B.node.keep:
        known = A.node.product_with(B.node, dtype)
        left = known if A.matrix is None else A.matrix.T @ known
        return np.asarray(left if B.matrix is None else left @ B.matrix, dtype=dtype)
    return np.asarray(total(inner_product, A, beside(B)), dtype=dtype)


def rowwise(function: Callable[..., Any], *args: Any) -> Any:
    """``function`` of matrices row by row: recorded, if rows of one of them are on workers."""
    spread = [arg for arg in args if isinstance(arg, Rows)]
    if not spread:
        return function(*args)
    like = function(*map(_sample, args))
    return Rows(Node(spread[0].node.workers, function, args, like.shape[1:], like.dtype))


def total(function: Callable[..., Any], *args: Any) -> Any:
    """The sum over all blocks of a function of them: one task a block."""
    spread = [arg for arg in args if isinstance(arg, Rows)]
    return spread[0].node.workers.total(function, *args) if spread else function(*args)


def is_rows(factor: Any) -> bool:
    """Whether the rows of a factor are on workers."""
    return isinstance(factor, Rows)


def columns_of(factor: Any, some: Any) -> Any:
    """Some columns of a factor; an array is laid out by columns."""
    chosen = factor[:, some]
    return chosen if isinstance(chosen, Rows) else np.asfortranarray(chosen)


def by_columns(factor: Any, dtype: Any = None, *, keep: bool = True) -> Any:
    """A factor laid out for use: an array by columns; rows on the workers may be to stay there."""
    if not isinstance(factor, Rows):
        return np.asfortranarray(factor, dtype=dtype)
    rows = factor if dtype is None else factor.astype(dtype)
    return kept(rows) if keep else rows


class Beside(NamedTuple):
    """An array on the client with a row for each of X: every block gets its own."""

    array: Array


def beside(factor: Any) -> Any:
    """A factor with a row for each of X, wherever it is; other things are left as they are."""
    return Beside(factor) if isinstance(factor, np.ndarray) and factor.ndim == 2 else factor


def _sample(arg: Any) -> Any:
    """One row in place of all, to see what a function makes of it."""
    if isinstance(arg, Rows):
        return np.ones((1, *arg.shape[1:]), dtype=arg.dtype, order="F")
    return arg.array[:1] if isinstance(arg, Beside) else arg


def each_block(function: Callable[..., Any], *args: Any) -> list[Any]:
    """``function`` of every block of matrices whose rows are on the workers."""
    workers = next(arg.node.workers for arg in args if isinstance(arg, Rows))
    return workers.each(function, *args)


def kept(factor: Any) -> Any:
    """The same; if its rows are on the workers, they stay there once computed."""
    return factor.kept() if isinstance(factor, Rows) else factor


def settled(factor: Any) -> Any:
    """The same; if its rows are on the workers, they are computed now, and stay there."""
    return factor.settled() if isinstance(factor, Rows) else factor


def _as_column(vector: Array) -> Array:
    return vector[:, None]


def _itself(block: Array) -> Array:
    return block


def inner_product(A: Array, B: Array) -> Array:
    """AᵀB of a block."""
    return A.T @ B


def _beside_gram(A: Array, B: Array) -> Array:
    return np.hstack([A.T @ B, A.T @ A])


def _sums(A: Array) -> Array:
    return np.asarray(A.sum(axis=0, dtype=np.float64))


def _squared_deviations(A: Array, mean: Array) -> Array:
    return np.asarray(np.square(A - mean, dtype=np.float64).sum(axis=0))


def _squares(A: Array) -> Array:
    return np.asarray(np.square(A, dtype=np.float64).sum(axis=0))


def _norm(A: Rows, axis: int | None = None) -> Any:
    squares = inner(A, A).diagonal() if A.node.keep else total(_squares, A)
    squares = np.maximum(squares, 0.0)
    return np.sqrt(squares).astype(A.dtype) if axis == 0 else np.sqrt(squares.sum())


def _sum(A: Rows, dtype: Any = np.float64) -> float:
    return float(total(_sums, A).sum())


def _result_type(*args: Any) -> np.dtype[Any]:
    return np.result_type(*(arg.dtype if isinstance(arg, Rows) else arg for arg in args))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: partial(rowwise, np.where),
    np.ones_like: partial(rowwise, np.ones_like),
    np.linalg.norm: _norm,
    np.sum: _sum,
    np.result_type: _result_type,
}
