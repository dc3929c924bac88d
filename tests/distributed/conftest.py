"""A Dask cluster of two worker processes for the tests of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from autonmf.datasets import make_low_rank

pytest.importorskip("distributed", reason="dask and distributed are not installed")


Cluster = Callable[..., Any]


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """A local cluster with so many worker processes."""
    from distributed import LocalCluster

    return partial(LocalCluster, threads_per_worker=1, dashboard_address=":0", silence_logs=50)


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Iterator[Any]:
    with cluster(n_workers=2) as workers, workers.get_client() as client:
        yield client


@pytest.fixture(scope="session")
def tall() -> np.ndarray:
    """Three components, 240 x 30; the noise is not clipped, which is undone in memory and in files only."""
    M = make_low_rank(240, 30, rank=3, noise=0.0, random_state=0)[0]
    return np.asarray(M * np.random.default_rng(0).gamma(100.0, 0.01, M.shape))


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every round that the workers are asked for."""
    from autonmf.distributed import rows

    counted: list[Any] = []
    run = rows.Workers.run_on_blocks

    def run_on_blocks(*args: Any, **options: Any) -> Any:
        counted.append(args[1])
        return run(*args, **options)

    monkeypatch.setattr(rows.Workers, "run_on_blocks", run_on_blocks)
    return counted
