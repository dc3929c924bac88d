"""Matrices on the workers of a cluster that lose them, and in files that are read in blocks."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from autonmf import AutoNMF, rank_path
from autonmf.datasets import make_low_rank
from experiments.core import stream_small_files
from experiments.reliability.faults import COUNTS, Fault, require, same

X = make_low_rank(400, 60, rank=4, noise=0.1, random_state=0)[0]
X.setflags(write=False)
BAD = (np.nan, np.inf, -1.0)


@contextmanager
def cluster() -> Iterator[Any]:
    """The client of two workers of its own."""
    from distributed import LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, **options) as workers, workers.get_client() as client:
        yield client


def in_chunks(matrix: np.ndarray, rows: Any = 100, columns: Any = -1) -> Any:
    import dask.array as da

    return da.from_array(matrix, chunks=(rows, columns))


def killed(workers: slice, options: dict[str, Any], seed: int) -> str:
    """Workers killed at a random rank and iteration."""
    rng = np.random.default_rng(seed)
    rank, iteration = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    done: list[int] = []
    with cluster() as client:
        undisturbed = rank_path(in_chunks(X), 8, random_state=0, **options).computed()

        def kill(progress: Any) -> None:
            if (progress.rank, progress.iteration) == (rank, iteration) and not done:
                done.extend(sorted(client.run(os.getpid).values())[workers])
                for pid in done:
                    os.kill(pid, signal.SIGKILL)

        path = rank_path(in_chunks(X), 8, random_state=0, callback=kill, **options).computed()
        require(done, "no worker was killed")
        require(same(path, undisturbed), "other bits")
    return "bitwise identical"


def bad_chunk(seed: int) -> str:
    """One bad entry somewhere in a Dask array."""
    rng = np.random.default_rng(seed)
    damaged = X.copy()
    damaged[rng.integers(400), rng.integers(60)] = BAD[seed % len(BAD)]
    with cluster():
        return _refused(in_chunks(damaged, int(rng.integers(20, 200))))


def chunking(seed: int) -> str:
    """The same matrix in other chunks: rows, columns, uneven, of one row, of unknown length."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, 400), 4, replace=False))
    chunks = in_chunks(X, tuple(np.diff([0, *cuts, 400]).tolist()), int(rng.integers(20, 61)))
    if seed % 3 == 0:
        chunks = chunks.rechunk({1: -1})
        chunks = chunks[chunks.sum(axis=1) > 0]  # of unknown length
    here = rank_path(X, 8, random_state=0)
    with cluster():
        path = rank_path(chunks, 8, random_state=0)
    differences = abs(path.relative_losses - here.relative_losses)
    require(differences.max() <= 1e-6, f"losses differ: {differences}")
    return "the same losses as in memory"


@contextmanager
def in_file(kind: str, matrix: np.ndarray) -> Iterator[Any]:
    """A matrix in a file, and streamed however small it is."""
    stream_small_files()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x")
        if kind == "memmap":
            np.save(file, matrix)
            yield np.load(f"{file}.npy", mmap_mode="r")
        elif kind == "zarr":
            import zarr

            yield zarr.create_array(store=file, data=matrix, chunks=(50, 60))
        else:
            import h5py

            with h5py.File(file, "w") as opened:
                yield opened.create_dataset("X", data=matrix)


def streamed(kind: str, seed: int) -> str:
    matrix = make_low_rank(300, 50, rank=2 + seed % 4, noise=0.1, random_state=seed)[0]
    with in_file(kind, matrix) as stored:
        there = AutoNMF(random_state=0).fit(stored)
    here = AutoNMF(random_state=0).fit(matrix)
    require(there.n_components_ == here.n_components_, "another rank than in memory")
    require(np.allclose(there.path_.losses, here.path_.losses, rtol=1e-5), "other losses than in memory")
    return "the same rank as in memory"


def bad_file(kind: str, seed: int) -> str:
    rng = np.random.default_rng(seed)
    damaged = X.copy()
    damaged[rng.integers(400), rng.integers(60)] = BAD[seed % len(BAD)]
    with in_file(kind, damaged) as stored:
        return _refused(stored)


def _refused(matrix: Any) -> str:
    try:
        AutoNMF(random_state=0).fit(matrix)
    except ValueError as error:
        require(any(word in str(error) for word in ("NaN", "infinity", "egative")), str(error))
        return "refused: ValueError"
    require(False, "not refused")
    return ""


LOSSES: dict[str, dict[str, Any]] = {"": {}, ", Kullback-Leibler loss": COUNTS}
LARGER = [
    *(Fault(f"Dask: {which} killed during the path{more}", "bitwise identical",
            partial(killed, slice(number), options), 1, 4, counted="deaths", times=number)
      for number, which in ((1, "one of two workers"), (2, "both workers"))
      for more, options in LOSSES.items()),
    Fault("Dask: NaN, infinity or a negative entry in one chunk", "refused", bad_chunk, 1, 10),
    Fault("Dask: other chunks, uneven, by columns or of unknown length",
          "the losses in memory, to within 1e-6 of ½‖X‖²",
          chunking, 1, 10),
    *(Fault(f"{kind}: read in blocks", "the same rank as in memory", partial(streamed, kind), 3, 40)
      for kind in ("memmap", "HDF5", "zarr")),
    *(Fault(f"{kind}: NaN, infinity or a negative entry, read in blocks", "refused",
            partial(bad_file, kind), 3, 30)
      for kind in ("memmap", "HDF5", "zarr")),
]  # fmt: skip
