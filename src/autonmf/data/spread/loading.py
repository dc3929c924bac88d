"""A Dask array as `Data`: read once, checked on the way, and held by the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autonmf.data.spread.chunks import Survey, in_row_chunks, joined, load
from autonmf.data.spread.cluster import Cluster
from autonmf.data.spread.program import results_of
from autonmf.data.spread.rows import Node, Rows
from autonmf.data.spread.tall import Tall, Wide
from autonmf.data.spread.workers import Workers


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "numblocks")


def spread_out(
    X: Any, dtype: Any, check: Callable[[float, float, float], None], *, on_client: bool = False
) -> Tall:
    """X on the workers of the current client, or of a local cluster that is closed with it.

    ``check`` is given the smallest and the largest entry, and the mean of the squares. ``on_client`` makes
    factors arrays.
    """
    X = in_row_chunks(X)
    cluster = Cluster()
    try:
        pieces = _loaded(X, dtype, cluster.client)
        surveys = [result[0] for result in cluster.client.gather(cluster.client.map(results_of, pieces))]
        known = [(piece, survey) for piece, survey in zip(pieces, surveys, strict=True) if survey.rows]
        if not known:
            raise ValueError("X is empty: it has no rows. At least one row and one column are needed.")
        kept, surveys = (list(each) for each in zip(*known, strict=True))
        whole = Survey.of(surveys)
        check(whole.lowest, whole.highest, whole.squared_norm / (whole.rows * X.shape[1]))
        return _tall(kept, surveys, X, dtype, cluster, on_client)
    except BaseException:
        cluster.close()
        raise


def _tall(
    pieces: list[Any], surveys: list[Survey], X: Any, dtype: Any, cluster: Cluster, on_client: bool
) -> Tall:
    workers = Workers(cluster.client, [survey.rows for survey in surveys])
    workers.anchor = pieces
    node = Node(workers, load, (), (int(X.shape[1]),), np.dtype(dtype))
    node.settle(pieces, 0, None)
    whole = Survey.of(surveys)
    kind = Wide if on_client or workers.n < X.shape[1] else Tall
    return kind(Rows(node), whole.squared_norm, whole.stored, cluster, X)


def _loaded(X: Any, dtype: Any, client: Any) -> list[Any]:
    """A future for each block, where the scheduler sees fit.

    None is bound to a worker: with that worker gone for good, it could never be computed again.
    """
    from dask.delayed import delayed

    chunks = X.to_delayed().ravel()
    groups = joined(X.chunks[0], int(X.shape[1]), np.dtype(dtype).itemsize)
    blocks = [delayed(load, pure=False)(list(chunks[group]), dtype) for group in groups]
    return list(client.compute(blocks))
