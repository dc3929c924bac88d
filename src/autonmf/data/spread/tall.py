"""X with its rows on the workers, as `Data`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data.complete import Complete
from autonmf.data.dense import Dense
from autonmf.data.evened import Evened
from autonmf.data.protocol import Data
from autonmf.data.rowwise import Turned
from autonmf.data.scaled import Scaled
from autonmf.data.sparse import SPARSE_COST, Sparse
from autonmf.data.spread.cluster import Cluster
from autonmf.data.spread.rows import Node, Rows, beside, settled, total
from autonmf.data.spread.workers import BOUNDS, Workers


class Tall(Complete):
    """X (n x m) in blocks of rows. Products with n rows stay where X is."""

    def __init__(
        self, X: Rows, squared_norm: float, stored: int | None, cluster: Cluster, source: Any
    ) -> None:
        self.X = X
        self._squared_norm = squared_norm
        self._stored = stored  # entries, if X is sparse
        self.cluster = cluster
        self.source = source  # the array that X was read from

    @property
    def workers(self) -> Workers:
        return self.X.node.workers

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.X.shape
        return n, m

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.X.dtype

    @property
    def T(self) -> Turned:
        return Turned(self)

    @property
    def cost(self) -> float:
        n, m = self.shape
        return float(n * m) if self._stored is None else SPARSE_COST * self._stored

    def squared_norm(self) -> float:
        return self._squared_norm

    def squares(self, weights: Array) -> Any:
        return self._beside((), np.float64, _squares, weights)

    def column_squares(self, weights: Any) -> Array:
        return np.asarray(self.workers.total(_column_squares, self.X, beside(weights[:, None])))

    def right(self, V: Array) -> Any:
        return self._beside(V.shape[1:], np.result_type(self.dtype, V), _right, V)

    def left(self, U: Any) -> Array:
        products = self.workers.total(_left, self.X, beside(U))
        return np.asfortranarray(products, dtype=np.result_type(self.dtype, U.dtype))

    def inner(self, U: Any, V: Array) -> float:
        return float(self.workers.total(_inner, self.X, beside(U), V))

    def squared_residual(self, U: Any, V: Array) -> float:
        return float(self.workers.total(_squared_residual, self.X, beside(U), V))

    def rows(self, some: slice) -> Array:
        start, stop, _ = some.indices(self.shape[0])
        return np.concatenate(self.workers.each(_rows, self.X, BOUNDS, start, stop))

    def close(self) -> None:
        """Let the workers go; a cluster of our own is closed."""
        self.cluster.close()

    def divided(self, scale: float) -> Tall:
        divided = Node(self.workers, partial(_divided, scale=scale), (self.X,), self.X.shape[1:], self.dtype)
        divided.keep = True
        return type(self)(
            Rows(divided), self._squared_norm / scale**2, self._stored, self.cluster, self.source
        )

    def _beside(self, columns: tuple[int, ...], dtype: Any, function: Any, factor: Array) -> Any:
        """A matrix made of X, which reads X only once."""
        return Rows(Node(self.workers, function, (self.X, factor), columns, np.dtype(dtype), keep=True))


class Wide(Tall):
    """X with fewer rows than columns: its factors are no larger than what travels, and are arrays."""

    def squares(self, weights: Array) -> Array:
        return np.concatenate(self.workers.each(_squares, self.X, weights))

    def right(self, V: Array) -> Array:
        transposed = [part.T for part in self.workers.each(_right, self.X, V)]
        return np.concatenate(transposed, axis=1).T


class EvenedRows(Evened):
    """The evened copy of X, with the scales of its rows beside them."""

    def __init__(self, data: Data, a: Any, b: Array) -> None:
        super().__init__(data, settled(a), b)
        self._rows = settled(self._rows)

    def squared_residual(self, U: Any, V: Array) -> float:
        tall, scale = underlying(self)
        return float(total(_evened_residual, tall.X, beside(U), V, beside(self.a[:, None]), self.b, scale))


def even_out_rows(data: Data) -> EvenedRows:
    """`even_out`, without a vector of length n on the client."""
    rows = data.squares(np.ones(data.shape[1]))
    columns = data.column_squares(np.ones_like(rows))
    a, b = (np.where(squares > 0, squares, 1.0) ** 0.25 for squares in (rows, columns))
    return EvenedRows(data, a, b)


def is_spread(data: Data) -> bool:
    """Whether the rows of X are on the workers of a cluster."""
    return isinstance(_innermost(data), Tall)


def workers_of(data: Any) -> Workers | None:
    """Who holds the rows of the left factor of X, if they are not on the client."""
    if isinstance(getattr(data, "L", None), Rows):
        workers: Workers = data.L.node.workers
        return workers
    inner = _innermost(data)
    return inner.workers if isinstance(inner, Tall) and not isinstance(inner, Wide) else None


def underlying(data: Data) -> tuple[Tall, float]:
    """X itself, and what it is divided by where its evened copy is made of it."""
    tall = _innermost(data)
    if not isinstance(tall, Tall):
        raise TypeError("X is not spread over workers")
    inside = getattr(data, "data", None)
    return tall, inside.scale if isinstance(inside, Scaled) else 1.0


def _innermost(data: Any) -> Any:
    while not isinstance(data, Tall):
        inside = data.T if isinstance(data, Turned) else getattr(data, "data", None)
        if inside is None:
            return data
        data = inside
    return data


def wrapped(X: Any) -> Dense | Sparse:
    """A block of X."""
    return Sparse(X) if sparse.issparse(X) else Dense(X)


def _right(X: Any, V: Array) -> Array:
    return wrapped(X).right(V)


def _left(X: Any, U: Array) -> Array:
    return wrapped(X).left(U)


def _inner(X: Any, U: Array, V: Array) -> float:
    return wrapped(X).inner(U, V)


def _squares(X: Any, weights: Array) -> Array:
    return wrapped(X).squares(weights)


def _column_squares(X: Any, weights: Array) -> Array:
    return wrapped(X).column_squares(weights[:, 0])


def _squared_residual(X: Any, U: Array, V: Array) -> float:
    return wrapped(X).squared_residual(U, V)


def _evened_residual(X: Any, U: Array, V: Array, a: Array, b: Array, scale: float) -> float:
    return Evened(Scaled(wrapped(X), scale), a[:, 0], b).squared_residual(U, V)


def _rows(X: Any, bounds: tuple[int, int], start: int, stop: int) -> Array:
    """Those of the rows from ``start`` to ``stop`` that a block has."""
    first, last = bounds
    some = slice(max(start - first, 0), max(min(stop, last) - first, 0))
    return np.asarray(wrapped(X).rows(some))


def _divided(X: Any, scale: float) -> Any:
    return wrapped(X).divided(scale).X
