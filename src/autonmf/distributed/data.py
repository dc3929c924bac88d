"""X with its rows on the workers, as `Data`."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.data.protocol import Block, BlockFunction, no_weights, square_residual
from autonmf.data.sparse import SPARSE_COST
from autonmf.data.validation import wrap
from autonmf.distributed.cluster import Cluster
from autonmf.distributed.program import BOUNDS
from autonmf.distributed.rows import Node, Rows, as_client_rows
from autonmf.distributed.workers import Workers


class RowPartitioned:
    """X (n x m) in blocks of rows. Factors with n rows stay where X is."""

    complete = True

    def __init__(
        self, X: Rows, squared_norm: float, stored: int | None, cluster: Cluster, source: Any
    ) -> None:
        self.X = X
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])
        self.dtype = X.dtype
        self._squared_norm = squared_norm
        self._stored = stored  # entries, if X is sparse
        self.cluster = cluster
        self.source = source  # the Dask array that X was read from

    @property
    def workers(self) -> Workers:
        return self.X.node.workers

    @property
    def cost(self) -> float:
        n, m = self.shape
        return float(n * m) if self._stored is None else SPARSE_COST * self._stored

    def squared_norm(self) -> float:
        return self._squared_norm

    def right(self, V: Array) -> Any:
        dtype = np.result_type(self.dtype, V)
        return Rows(Node(self.workers, _right, (self.X, V), V.shape[1:], np.dtype(dtype), keep=True))

    def left(self, U: Any) -> Array:
        products = self.workers.total(_left, self.X, as_client_rows(U))
        return np.asfortranarray(products, dtype=np.result_type(self.dtype, U.dtype))

    def squared_residual(self, U: Any, V: Array) -> float:
        return float(self.map_blocks(square_residual, U, V)[1])

    def completed_at(self, U: Any, V: Array) -> Self:
        return self

    def map_blocks(self, function: BlockFunction, U: Any, *shared: Any) -> tuple[Any, Any]:
        return self.X.map_blocks(function, U, *shared)

    def close(self) -> None:
        self.cluster.close()


class RowPartitionedWide(RowPartitioned):
    """X with fewer rows than columns: its factors are no larger than what travels, and are arrays."""

    def right(self, V: Array) -> Array:
        transposed = [part.T for part in self.workers.each(_right, self.X, V)]
        return np.concatenate(transposed, axis=1).T

    def map_blocks(self, function: BlockFunction, U: Any, *shared: Any) -> tuple[Any, Any]:
        apply = partial(_apply, function)
        parts, sums = zip(*self.workers.each(apply, self.X, BOUNDS, as_client_rows(U), *shared), strict=True)
        rows = None if parts[0] is None else np.concatenate([part.T for part in parts], axis=1).T
        return rows, None if sums[0] is None else sum(sums[1:], start=sums[0])


def _apply(
    function: BlockFunction, X: Any, bounds: tuple[int, int], U: Array | None, *shared: Any
) -> tuple[Any, Any]:
    return function(Block(slice(*bounds), lambda: X, no_weights), U, *shared)


def _right(X: Any, V: Array) -> Array:
    return wrap(X).right(V)


def _left(X: Any, U: Array) -> Array:
    return wrap(X).left(U)
