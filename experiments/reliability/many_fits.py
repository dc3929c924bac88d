"""Many fits: at once, in threads, joblib, forked and spawned workers; and one after another.

One after another in one process, memory, open files and threads stay what they were after a warm-up.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from autonmf import AutoNMF, rank_path
from autonmf.baselines import bic, svht
from autonmf.datasets import make_low_rank
from experiments.reliability.faults import Fault, require

FITS_AT_ONCE = 6
WORKERS = 3
SIDE = 900
"""Of one matrix in each round: large enough for products in blocks and threads of our own."""


class Found(NamedTuple):
    """What a fit found, as bytes."""

    rank: int
    components: bytes
    weights: bytes


def fit(seed: int) -> Found:
    """One fit; every sixth of a larger matrix."""
    shape = (SIDE, 600) if seed % FITS_AT_ONCE == 0 else (60 + seed % 5, 50)
    X = make_low_rank(*shape, rank=3, random_state=seed)[0]
    model = AutoNMF(max_rank=8, random_state=seed)
    W = model.fit_transform(X)
    return Found(model.n_components_, model.components_.tobytes(), W.tobytes())


@cache
def alone(seed: int) -> Found:
    return fit(seed)


def seeds(round_: int) -> range:
    return range(round_ % 3 * FITS_AT_ONCE, (round_ % 3 + 1) * FITS_AT_ONCE)


def compared(found: list[Found], round_: int) -> str:
    """The same as one after another."""
    wrong = [seed for seed, one in zip(seeds(round_), found, strict=True) if one != alone(seed)]
    require(not wrong, f"other bits for {wrong}")
    return f"{FITS_AT_ONCE} fits, bitwise identical"


def by(executor: Executor, round_: int) -> str:
    with executor as pool:
        return compared(list(pool.map(fit, seeds(round_))), round_)


def in_threads(round_: int) -> str:
    return by(ThreadPoolExecutor(WORKERS), round_)


def in_processes(method: str, round_: int) -> str:
    return by(ProcessPoolExecutor(2, multiprocessing.get_context(method)), round_)


def in_joblib(backend: str, round_: int) -> str:
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    found = Parallel(n_jobs=2, backend=backend)(delayed(fit)(seed) for seed in seeds(round_))
    if backend == "loky":
        get_reusable_executor().shutdown()  # its workers would wait for more
    return compared(list(found), round_)


def forked_amid_threads(round_: int) -> str:
    """Fork while other threads are in the middle of fits; the child fits too."""
    expected = alone(1)
    over = threading.Event()
    began = threading.Barrier(3)

    def busy(seed: int) -> None:
        began.wait()
        while not over.is_set():
            fit(seed)

    threads = [threading.Thread(target=busy, args=(seed,)) for seed in (0, 2)]
    for thread in threads:
        thread.start()
    began.wait()
    try:
        time.sleep(np.random.default_rng(round_).uniform(0.0, 0.3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Python warns of forks with threads
            child = os.fork()
        if child == 0:
            os._exit(0 if fit(1) == expected else 3)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        over.set()
        for thread in threads:
            thread.join()
    require(code == 0, f"exit code {code}")
    return "fit of the child bitwise identical"


def shared_estimator(round_: int) -> str:
    """One fitted model, which several threads transform with."""
    X = make_low_rank(80, 50, rank=3, random_state=round_)[0]
    model = AutoNMF(random_state=0).fit(X)
    parts = [X[i : i + 10] for i in range(0, 80, 10)]
    expected = [model.transform(part) for part in parts]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(model.transform, parts))
    require(all(map(np.array_equal, found, expected)), "other bits")
    return "bitwise identical"


SAME = "bitwise identical to sequential fits"
SHARING = [
    Fault("concurrent fits in threads", SAME, in_threads, 2, 20),
    Fault("joblib, threading", SAME, lambda n: in_joblib("threading", n), 1, 10),
    Fault("joblib, loky", SAME, lambda n: in_joblib("loky", n), 1, 5),
    Fault("forked workers", SAME, lambda n: in_processes("fork", n), 1, 20),
    Fault("spawned workers", SAME, lambda n: in_processes("spawn", n), 1, 5),
    Fault("a fork while other threads are fitting", "the fit of the child is bitwise identical",
          forked_amid_threads, 2, 40),
    Fault("one model, transform in threads", SAME, shared_estimator, 3, 40),
]  # fmt: skip


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
    "rank_path, several initial points in threads": lambda X, seed: rank_path(
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
    Fault(name, f"at most {GROWTH >> 20} MiB more than after {WARM_UP} fits, no more files or threads",
          partial(attempt, fit, {}), 15, 250, in_turn=True)
    for name, fit in FITS.items()
]  # fmt: skip
