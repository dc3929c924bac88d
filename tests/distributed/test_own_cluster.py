"""The local cluster that a fit starts for itself."""

from __future__ import annotations

import time

import pytest

from autonmf.distributed import data


def test_workers_that_dask_has_given_up_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "LOOK", 0.2)
    cluster = data.Cluster()
    try:
        own = cluster._own
        before = set(cluster.client.scheduler_info()["workers"])
        assert before

        async def give_up() -> None:
            """As Dask does with a worker that is away 15 s after its death."""
            for name in list(own.workers):
                await own.workers.pop(name).close()

        own.sync(give_up)
        deadline = time.monotonic() + 120
        while len(set(cluster.client.scheduler_info()["workers"]) - before) < len(before):
            assert time.monotonic() < deadline, "the workers did not come back"
            time.sleep(0.1)
        assert cluster.client.submit(sum, [1, 2]).result(timeout=60) == 3
    finally:
        cluster.close()
    assert own.status.name == "closed"
