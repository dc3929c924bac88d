"""A matrix larger than the memory that the process may use.

A file of known rank is written in blocks, then factorised by a process whose anonymous memory the operating
system limits (RLIMIT_DATA): an allocation beyond it fails, so that the run itself is the proof. Prints the
rank, the time, and the peak of anonymous memory.

    python -m experiments out-of-core --gigabytes 20 --limit 4 --folder DIR [--kind hdf5|npy|zarr]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autonmf import AutoNMF
from experiments.shared import RESULTS, ROOT

RANK, NOISE = 10, 0.1
FIGURES = RESULTS / "out_of_core.json"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m experiments out-of-core",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=0.5, help="gigabytes of anonymous memory")
    parser.add_argument("--kind", choices=["hdf5", "npy", "zarr"], default="hdf5")
    parser.add_argument("--max-rank", type=int)
    parser.add_argument("--folder", type=Path, help="where there is room; default: the temporary folder")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.read:
        print(json.dumps(fit(given)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        n = int(given.gigabytes * 1e9 / 8 / given.columns)
        file = write(given.kind, Path(folder), n, given.columns)
        began = time.perf_counter()
        options = [*sys.argv[2:]] if arguments is None else [*arguments]
        command = [sys.executable, "-m", "experiments", "out-of-core", "--read", str(file), *options]
        found = json.loads(
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        )
        found |= {"rows": n, "columns": given.columns, "bytes": 8 * n * given.columns, "kind": given.kind}
        found["seconds with start-up"] = time.perf_counter() - began
    print(json.dumps(found, indent=2))
    kept = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    FIGURES.write_text(json.dumps(kept | {f"{given.kind} {given.gigabytes:g} GB": found}, indent=2) + "\n")


def write(kind: str, folder: Path, n: int, m: int) -> Path:
    """A nonnegative matrix of rank `RANK` plus clipped noise, as the paper's generator makes it."""
    rng = np.random.default_rng(0)
    V = np.maximum(rng.standard_normal((m, RANK)), 0)
    step = max(1, (1 << 24) // m)
    file, target = _target(kind, folder, n, m, step)
    for start in range(0, n, step):
        U = np.maximum(rng.standard_normal((min(step, n - start), RANK)), 0)
        block = U @ V.T
        block += NOISE * rng.standard_normal(block.shape)
        target[start : start + len(U)] = np.maximum(block, 0)
    return file


def _target(kind: str, folder: Path, n: int, m: int, step: int) -> tuple[Path, Any]:
    if kind == "npy":
        file = folder / "x.npy"
        return file, np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(n, m))
    if kind == "zarr":
        import zarr

        file = folder / "x.zarr"
        chunks = (max(1, step // 16), m)
        return file, zarr.create_array(store=file, shape=(n, m), chunks=chunks, dtype="f8", compressors=None)
    import h5py

    file = folder / "x.h5"
    return file, h5py.File(file, "w").create_dataset("X", shape=(n, m), dtype="f8")


def fit(given: argparse.Namespace) -> dict[str, Any]:
    """Factorise the file within the limit; runs in a process of its own."""
    limit = int(given.limit * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    X = _open(given.kind, given.read)
    watch = AnonymousMemory()
    began = time.perf_counter()
    model = AutoNMF(max_rank=given.max_rank, random_state=0).fit(X)
    return {
        "rank": model.n_components_,
        "truth": RANK,
        "confidence": getattr(model.rank_estimate_, "confidence", None),
        "seconds": time.perf_counter() - began,
        "peak of anonymous memory, bytes": watch.peak(),
        "limit, bytes": limit,
    }


def _open(kind: str, file: Path) -> Any:
    if kind == "npy":
        return np.load(file, mmap_mode="r")
    if kind == "zarr":
        import zarr

        return zarr.open_array(file, mode="r")
    import h5py

    return h5py.File(file)["X"]


class AnonymousMemory:
    """The largest RssAnon of this process, looked at twenty times a second."""

    def __init__(self) -> None:
        self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.05):
            status = Path("/proc/self/status").read_text()
            kilobytes = int(status.split("RssAnon:")[1].split()[0])
            self._peak = max(self._peak, 1024 * kilobytes)

    def peak(self) -> int:
        self._done.set()
        self._thread.join()
        return self._peak
