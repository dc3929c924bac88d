"""From a Dask array to blocks of rows on the workers, read once and checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data import Data, OpenedData
from autonmf.data import as_data as as_local_data
from autonmf.data import open_data as open_local_data
from autonmf.data.protocol import squared_sum
from autonmf.data.validation import check_scale, check_shape, check_values, float_type
from autonmf.distributed.cluster import Cluster
from autonmf.distributed.data import RowPartitioned, RowPartitionedWide
from autonmf.distributed.program import Piece, align, results_of
from autonmf.distributed.rows import Node, Rows
from autonmf.distributed.workers import Workers

LARGE_BLOCK = 1 << 29
"""Bytes (as if dense): chunks are joined until a block has this many ..."""

FEW_BLOCKS = 4
"""... or this fraction of X: a task costs the scheduler the same, however small it is."""

FILL = (
    "Fill these entries first, for example with dask.array.where(dask.array.isnan(X), 0.0, X), or pass "
    "X.compute() and missing='mask'."
)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "numblocks")


class OpenedPartition(OpenedData):
    """A Dask array whose rows, and those of its left factors, are on workers while it is open."""

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
            raise NotImplementedError("a Dask array needs init='random'; for others pass X.compute()")
        if options.checkpoint is not None:
            raise NotImplementedError(
                "the path of a Dask array cannot be saved in a checkpoint, because its left factors stay on "
                "the workers: leave checkpoint out"
            )

    def present_rows(self, U: Any, V: Array, project: Callable[[Any, Array], Array]) -> Any:
        """A lazy Dask array: nothing of length n is left on the workers, whose cluster may soon be gone."""
        if not self.keeps_rows_remote:
            return U
        X = in_row_chunks(self.data.source)  # type: ignore[attr-defined]
        dtype = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
        return map_chunks(X, partial(_project_chunk, project, np.asfortranarray(V, dtype=dtype)), V.shape[1])


def _project_chunk(project: Callable[[Any, Array], Array], V: Array, X: Any) -> Array:
    return project(X, align(V))


@contextmanager
def open_data(
    X: Any, *, missing: str = "error", sample_weight: Any = None, weights: Any = None, power: float = 0.5
) -> Iterator[OpenedData]:
    """X for as long as it is read: a Dask array occupies workers, perhaps of a cluster of our own."""
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
    """X as `Data` whose factors are arrays, wherever X lies."""
    return partition(X, missing=missing, on_client=True) if is_dask(X) else as_local_data(X, missing=missing)


def map_chunks(X: Any, function: Callable[[Any], Array], columns: int) -> Any:
    """``function`` of the rows of a Dask array, as a lazy Dask array with as many columns."""
    X = in_row_chunks(X)
    dtype = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
    return X.map_blocks(
        _map_chunk, function, columns, dtype, dtype=dtype, chunks=(X.chunks[0], (columns,)),
        meta=np.empty((0, 0), dtype=dtype),
    )  # fmt: skip


def _map_chunk(X: Any, function: Callable[[Any], Array], columns: int, dtype: Any) -> Array:
    if X.shape[0] == 0:
        return np.empty((0, columns), dtype=dtype)
    return np.ascontiguousarray(function(align(X)), dtype=dtype)


def partition(X: Any, *, missing: str = "error", on_client: bool = False) -> RowPartitioned:
    """A Dask array on the workers of the current client, or of a local cluster that is closed with it.

    ``on_client``: the factors that are made from it are arrays on the client.
    """
    if missing != "error":
        raise NotImplementedError("missing entries of a Dask array: fill them first, or pass X.compute()")
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
        whole = Summary.of(summaries)
        _check(whole, whole.rows * X.shape[1])
        workers = Workers(cluster.client, [summary.rows for summary in summaries])
        workers.anchor = kept
        node = Node(workers, load, (), (int(X.shape[1]),), dtype)
        node.hold(kept, 0, None)
        kind = RowPartitionedWide if on_client or workers.n < X.shape[1] else RowPartitioned
        return kind(Rows(node), whole.squared_norm, whole.stored, cluster, X)
    except BaseException:
        cluster.close()
        raise


def _check(whole: Summary, entries: int) -> None:
    """Refuse what `autonmf.data.as_data` would, with the same words."""
    check_values(whole.lowest, whole.highest, FILL)
    if whole.highest == 0:
        raise ValueError("X is all zeros: there is nothing to factorise.")
    check_scale(whole.highest, whole.squared_norm / entries)


def _load_blocks(X: Any, dtype: Any, client: Any) -> list[Any]:
    """A future for each block, on workers that the scheduler chooses.

    No block is tied to a worker: if that worker were lost, the block could not be computed again.
    """
    from dask.delayed import delayed

    chunks = X.to_delayed().ravel()
    groups = join_chunks(X.chunks[0], int(X.shape[1]), np.dtype(dtype).itemsize)
    blocks = [delayed(load, pure=False)(list(chunks[group]), dtype) for group in groups]
    return list(client.compute(blocks))


class Summary(NamedTuple):
    """What one pass over a block tells."""

    rows: int
    lowest: float
    highest: float
    squared_norm: float
    stored: int | None  # entries, if sparse

    @staticmethod
    def of(parts: list[Summary]) -> Summary:
        """Of all blocks together; the smallest and the largest entry are NaN if there is one."""
        sparse_ones = [part.stored for part in parts if part.stored is not None]
        return Summary(
            sum(part.rows for part in parts),
            float(np.min([part.lowest for part in parts])),
            float(np.max([part.highest for part in parts])),
            sum(part.squared_norm for part in parts),
            sum(sparse_ones) if sparse_ones else None,
        )


def in_row_chunks(X: Any) -> Any:
    """The array in chunks that have all columns."""
    if any(math.isnan(size) for size in X.chunks[1]):
        raise ValueError("the number of columns of X is unknown: call X.compute_chunk_sizes() first")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def join_chunks(lengths: tuple[float, ...], m: int, itemsize: int) -> list[slice]:
    """Which chunks make a block, by their sizes alone. Chunks of unknown length stay as they are."""
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
    """A block from its chunks, and what there is to know about it."""
    X: Any = _join_sparse(parts, dtype) if any(map(sparse.issparse, parts)) else _join_dense(parts, dtype)
    stored = None if isinstance(X, np.ndarray) else int(X.nnz)
    entries = X if stored is None else X.data
    with np.errstate(over="ignore", invalid="ignore"):  # the caller says what is wrong
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
