"""Fit after fit in one process: memory, open files and threads stay what they were after a warm-up."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from faults import Fault, require
from scipy import sparse

from autonmf import AutoNMF, rank_path
from autonmf.baselines import bic, svht
from autonmf.datasets import make_low_rank

WARM_UP = 10
"""Fits that fill caches."""

GROWTH = 16 << 20
"""Bytes that the process may be larger than after the warm-up, however many fits follow."""

STATM = Path("/proc/self/statm")

Fit = Callable[[np.ndarray, int], object]


def _with_holes(X: np.ndarray, seed: int) -> object:
    holes = np.where(np.random.default_rng(seed).random(X.shape) < 0.1, np.nan, X)
    return rank_path(holes, 6, missing="mask", random_state=seed)


FITS: dict[str, Fit] = {
    "AutoNMF, dense": lambda X, seed: AutoNMF(random_state=seed).fit(X).transform(X),
    "AutoNMF, sparse": lambda X, seed: AutoNMF(random_state=seed).fit(sparse.csr_matrix(X)),
    "rank_path, several starts in threads": lambda X, seed: rank_path(
        X, 8, n_starts=3, n_jobs=2, random_state=seed
    ),
    "rank_path, missing entries": _with_holes,
    "baselines svht and bic": lambda X, seed: (svht(X), bic(X, random_state=seed)),
}


def state() -> dict[str, int]:
    """Bytes in memory, open files, threads; memory is the peak where the system tells no more."""
    if STATM.exists():
        size = int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return {"bytes": size, "files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count()}
    import resource

    return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "files": 0, "threads": 0}


def attempt(fit: Fit, warm: dict[str, int], seed: int) -> str:
    """One fit, of one of four shapes; ``warm`` keeps the state after the warm-up."""
    X: Any = make_low_rank(60 + 20 * (seed % 4), 50, rank=3, random_state=seed)[0]
    fit(X, seed)
    now = state()
    if seed < WARM_UP:
        warm.update({name: max(value, warm.get(name, 0)) for name, value in now.items()})
        return "warm-up"
    if now["bytes"] > warm["bytes"] + GROWTH:  # perhaps only what Python has not yet given back
        gc.collect()
        now = state()
    for _ in range(50):  # threads of a pool that is closed take a moment to end
        if now["threads"] <= warm["threads"]:
            break
        time.sleep(0.1)
        now["threads"] = threading.active_count()
    grown = now["bytes"] - warm["bytes"]
    require(grown <= GROWTH, f"{grown / 2**20:.1f} MiB more after {seed + 1} fits")
    require(now["files"] <= warm["files"], f"{now['files']} open files, {warm['files']} before")
    require(now["threads"] <= warm["threads"], f"{now['threads']} threads, {warm['threads']} before")
    return f"within {GROWTH >> 20} MiB"


SOAK = [
    Fault(name, f"no file, no thread, no {GROWTH >> 20} MiB more than after {WARM_UP} fits",
          partial(attempt, fit, {}), 15, 250)
    for name, fit in FITS.items()
]  # fmt: skip
