"""The Dask cluster that a fit runs on: the caller's, or one of our own for as long as it takes."""

from __future__ import annotations

import logging
import weakref
from typing import Any

from autonmf._threads import _cores

LOOK = 5.0
"""Seconds between two checks of our own workers."""


class Cluster:
    """A client, and what is to be closed when the fit is over."""

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
        """Close what we have opened; a client of the caller stays open."""
        self._finalizer()


def _local(dask: Any) -> Any:
    """A process for each processor."""
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
    """Restart workers: Dask gives a worker up for good if it does not return within 15 s."""
    if own.status.name == "running":
        own.scale(count)
        own.loop.call_later(LOOK, _look_after, own, count)


def _close(own: Any, client: Any) -> None:
    if own is not None:
        client.close()
        own.close()
