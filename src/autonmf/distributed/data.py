"""A Dask array as `Data`: read once, checked, and kept on the workers of a cluster in blocks of rows."""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from autonmf._threads import _cores
from autonmf._types import Array
from autonmf.data import Data, OpenedData
from autonmf.data import as_data as as_local_data
from autonmf.data import open_data as open_local_data
from autonmf.data.protocol import BlockFunction, square_residual, squared_sum
from autonmf.data.sparse import SPARSE_COST
from autonmf.data.validation import check_scale, check_shape, check_values, float_type, wrap
from autonmf.distributed.rows import (
    BOUNDS,
    Node,
    Piece,
    Rows,
    Workers,
    align,
    apply_block,
    as_client_rows,
    results_of,
)

LOOK = 5.0
"""Seconds between two checks of the workers of a local cluster."""

LARGE_BLOCK = 1 << 29
"""Bytes (as if dense) from which a block is complete; smaller chunks are joined: each task has a cost."""

FEW_BLOCKS = 4
"""A block is also complete if it has this fraction of X: one over this number."""

FILL = (
    "Fill these entries first, for example with dask.array.where(dask.array.isnan(X), 0.0, X), or pass "
    "X.compute() and missing='mask'."
)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "numblocks")


class RowPartitioned:
    """X (n x m) in blocks of rows. Factors with n rows stay on the workers."""

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
    """X with fewer rows than columns, whose factors are small and therefore arrays on the client."""

    def right(self, V: Array) -> Array:
        transposed = [part.T for part in self.workers.each(_right, self.X, V)]
        return np.concatenate(transposed, axis=1).T

    def map_blocks(self, function: BlockFunction, U: Any, *shared: Any) -> tuple[Any, Any]:
        args = (self.X, BOUNDS, as_client_rows(U), *shared)
        parts, sums = zip(*self.workers.each(partial(apply_block, function), *args), strict=True)
        rows = None if parts[0] is None else np.concatenate([part.T for part in parts], axis=1).T
        return rows, None if sums[0] is None else sum(sums[1:], start=sums[0])


def _right(X: Any, V: Array) -> Array:
    return wrap(X).right(V)


def _left(X: Any, U: Array) -> Array:
    return wrap(X).left(U)


class OpenedPartition(OpenedData):
    """A Dask array whose rows, and those of left factors, are kept on workers while it is open."""

    @property
    def keeps_rows_remote(self) -> bool:
        return not isinstance(self.data, RowPartitionedWide)

    def check_options(self, options: Any) -> None:
        if options.solver not in ("auto", "hals") or options.grid != "exact":
            raise NotImplementedError(
                "a Dask array is factorised with solver='auto' and grid='exact' only, got "
                f"{options.solver!r} and {options.grid!r}; the others need X in memory: X.compute()"
            )
        if options.init != "random":
            raise NotImplementedError("a Dask array needs init='random'; for another init pass X.compute()")
        if options.checkpoint is not None:
            raise NotImplementedError(
                "the path of a Dask array cannot be saved in a checkpoint, because its left factors stay on "
                "the workers: leave checkpoint out"
            )

    def present_rows(self, U: Any, V: Array, project: Callable[[Any, Array], Array]) -> Any:
        """The left factor as a lazy Dask array, which does not need the cluster of the fit."""
        if not self.keeps_rows_remote:
            return U
        X = self.data.source  # type: ignore[attr-defined]
        V = np.asfortranarray(V, dtype=_result_type(X))
        return map_chunks(X, partial(_project_chunk, project, V), V.shape[1])


def _project_chunk(project: Callable[[Any, Array], Array], V: Array, X: Any) -> Array:
    return project(X, align(V))


@contextmanager
def open_data(
    X: Any, *, missing: str = "error", sample_weight: Any = None, weights: Any = None, power: float = 0.5
) -> Iterator[OpenedData]:
    """Open X. A Dask array occupies workers, perhaps of a temporary local cluster, until it is closed."""
    if not is_dask(X):
        known = {"sample_weight": sample_weight, "weights": weights}
        yield open_local_data(X, missing=missing, power=power, **known)
        return
    if sample_weight is not None or weights is not None:
        raise NotImplementedError("samples and entries of a Dask array cannot be weighted: pass X.compute()")
    data = partition(X, missing=missing)
    try:
        yield OpenedPartition(data)
    finally:
        data.close()


def as_data(X: Any, *, missing: str = "error") -> Data:
    """X as `Data` whose factors are arrays, even if X is a Dask array."""
    return partition(X, missing=missing, on_client=True) if is_dask(X) else as_local_data(X, missing=missing)


def map_chunks(X: Any, function: Callable[[Any], Array], columns: int) -> Any:
    """``function`` of the rows of a Dask array, as a lazy Dask array with ``columns`` columns."""
    X, dtype = in_row_chunks(X), _result_type(X)
    return X.map_blocks(
        _map_chunk, function, columns, dtype, dtype=dtype, chunks=(X.chunks[0], (columns,)),
        meta=np.empty((0, 0), dtype=dtype),
    )  # fmt: skip


def _result_type(X: Any) -> type[np.floating]:
    return np.float32 if X.dtype in (np.float16, np.float32) else np.float64


def _map_chunk(X: Any, function: Callable[[Any], Array], columns: int, dtype: Any) -> Array:
    if X.shape[0] == 0:
        return np.empty((0, columns), dtype=dtype)
    return np.ascontiguousarray(function(align(X)), dtype=dtype)


def partition(X: Any, *, missing: str = "error", on_client: bool = False) -> RowPartitioned:
    """Load a Dask array on the workers of the current client, or of a local cluster that is closed with it.

    With ``on_client``, its factors are arrays on the client.
    """
    if missing != "error":
        raise NotImplementedError("missing='mask' is not available for a Dask array: pass X.compute()")
    check_shape(X.shape)
    if X.dtype.kind == "O":
        raise TypeError("X holds Python objects. Pass a Dask array of numbers: X.astype(float).")
    dtype = np.dtype(float_type(X))
    X = in_row_chunks(X)
    cluster = Cluster()
    try:
        pieces = _load_blocks(X, dtype, cluster.client)
        found = cluster.client.gather(cluster.client.map(results_of, pieces))
        known = [(piece, result[0]) for piece, result in zip(pieces, found, strict=True) if result[0].rows]
        if not known:
            raise ValueError("X is empty: it has no rows. At least one row and one column are needed.")
        kept, summaries = (list(each) for each in zip(*known, strict=True))
        rows, lowest, highest, squares, stored = zip(*summaries, strict=True)
        largest = float(np.max(highest))
        check_values(float(np.min(lowest)), largest, FILL)
        if largest == 0:
            raise ValueError("X is all zeros: there is nothing to factorise.")
        check_scale(largest, sum(squares) / (sum(rows) * X.shape[1]))
        workers = Workers(cluster.client, rows)
        workers.anchor = kept
        node = Node(workers, load, (), (int(X.shape[1]),), dtype)
        node.hold(kept, 0, None)
        kind = RowPartitionedWide if on_client or workers.n < X.shape[1] else RowPartitioned
        entries = [count for count in stored if count is not None]
        return kind(Rows(node), sum(squares), sum(entries) if entries else None, cluster, X)
    except BaseException:
        cluster.close()
        raise


def _load_blocks(X: Any, dtype: Any, client: Any) -> list[Any]:
    """A future for each block. The scheduler chooses the worker, so that it can replace one that is lost."""
    from dask.delayed import delayed

    chunks = X.to_delayed().ravel()
    groups = join_chunks(X.chunks[0], int(X.shape[1]), np.dtype(dtype).itemsize)
    blocks = [delayed(load, pure=False)(list(chunks[group]), dtype) for group in groups]
    return list(client.compute(blocks))


class Summary(NamedTuple):
    """The result of one pass over a block; ``lowest`` and ``highest`` are NaN if any entry is."""

    rows: int
    lowest: float
    highest: float
    squared_norm: float
    stored: int | None  # entries, if sparse


def in_row_chunks(X: Any) -> Any:
    """The array in chunks that have all columns."""
    if any(math.isnan(size) for size in X.chunks[1]):
        raise ValueError("the number of columns of X is unknown: call X.compute_chunk_sizes() first")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def join_chunks(lengths: tuple[float, ...], m: int, itemsize: int) -> list[slice]:
    """The chunks of each block, which depend only on their sizes; chunks of unknown length are not joined."""
    if any(math.isnan(length) for length in lengths):
        return [slice(i, i + 1) for i in range(len(lengths))]
    enough = min(LARGE_BLOCK / (m * itemsize), sum(lengths) / FEW_BLOCKS)
    cuts, rows = [0], 0.0
    for i, length in enumerate(lengths):
        rows += length
        if rows >= enough:
            cuts.append(i + 1)
            rows = 0.0
    if rows > 0:
        cuts = [*cuts[:-1], len(lengths)] if len(cuts) > 1 else [0, len(lengths)]
    return [slice(*cut) for cut in pairwise(cuts)]


def load(parts: list[Any], dtype: Any) -> Piece:
    """A block from its chunks, and its `Summary`."""
    X: Any = _join_sparse(parts, dtype) if any(map(sparse.issparse, parts)) else _join_dense(parts, dtype)
    stored = None if isinstance(X, np.ndarray) else int(X.nnz)
    entries = X if stored is None else X.data
    with np.errstate(over="ignore", invalid="ignore"):  # the caller reports it
        lowest, highest = (float(f(entries)) if entries.size else 0.0 for f in (np.min, np.max))
        summary = Summary(X.shape[0], lowest, highest, squared_sum(entries), stored)
    return (X,), (summary,)


def _join_dense(parts: list[Any], dtype: Any) -> Array:
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise TypeError("X has masked arrays as chunks, whose masks would be ignored: fill them first")
    whole = np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)
    return np.require(whole, dtype, ["C", "A"])


def _join_sparse(parts: list[Any], dtype: Any) -> Any:
    whole = sparse.csr_matrix(parts[0]) if len(parts) == 1 else sparse.vstack(parts, format="csr")
    whole = align(whole.astype(dtype, copy=False))
    if not whole.has_canonical_format:
        whole = whole.copy()
        whole.sum_duplicates()
    return whole


# The cluster of a fit: that of the caller, or a temporary one


class Cluster:
    """A client, and the temporary cluster to close after the fit, if there is one."""

    def __init__(self) -> None:
        self._own: Any = None
        try:
            import distributed
        except ImportError:
            raise ImportError("a Dask array needs a Dask cluster: pip install 'dask[distributed]'") from None
        dask: Any = distributed  # which has no types
        try:
            self.client = dask.default_client()
        except ValueError:
            self._own = _local(dask)
            self._own.loop.add_callback(_look_after, self._own, len(self._own.workers))
            self.client = self._own.get_client()
        if self.client.asynchronous:
            raise ValueError("the current Dask client is asynchronous: open one with asynchronous=False")
        self._finalizer = weakref.finalize(self, _close, self._own, self.client)

    def close(self) -> None:
        """Close what was opened here; a client of the caller stays open."""
        self._finalizer()


def _local(dask: Any) -> Any:
    """A local cluster with a process per processor."""
    try:
        return dask.LocalCluster(
            n_workers=_cores(), threads_per_worker=1, processes=True, dashboard_address=":0",
            worker_dashboard_address=":0", silence_logs=logging.CRITICAL,
        )  # fmt: skip
    except RuntimeError as error:
        raise RuntimeError(
            "the processes of a local Dask cluster did not start. They import the running script: put its "
            "code below if __name__ == '__main__':, or open your own distributed.Client first."
        ) from error


def _look_after(own: Any, count: int) -> None:
    """Restart lost workers, since Dask gives up on a worker that does not return within 15 s."""
    if own.status.name == "running":
        own.scale(count)
        own.loop.call_later(LOOK, _look_after, own, count)


def _close(own: Any, client: Any) -> None:
    if own is not None:
        client.close()
        own.close()
