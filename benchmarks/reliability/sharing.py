"""Many fits at once: in threads, in joblib, in forked and in spawned workers."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from faults import Fault, require

from autonmf import AutoNMF
from autonmf.datasets import make_low_rank

FITS = 6
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
    shape = (SIDE, 600) if seed % FITS == 0 else (60 + seed % 5, 50)
    X = make_low_rank(*shape, rank=3, random_state=seed)[0]
    model = AutoNMF(max_rank=8, random_state=seed)
    W = model.fit_transform(X)
    return Found(model.n_components_, model.components_.tobytes(), W.tobytes())


@cache
def alone(seed: int) -> Found:
    return fit(seed)


def seeds(round_: int) -> range:
    return range(round_ % 3 * FITS, (round_ % 3 + 1) * FITS)


def compared(found: list[Found], round_: int) -> str:
    """The same as one after another."""
    wrong = [seed for seed, one in zip(seeds(round_), found, strict=True) if one != alone(seed)]
    require(not wrong, f"other bits for {wrong}")
    return f"{FITS} fits, the same bits"


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
    return "the child fits, the same bits"


def shared_estimator(round_: int) -> str:
    """One fitted model, which several threads transform with."""
    X = make_low_rank(80, 50, rank=3, random_state=round_)[0]
    model = AutoNMF(random_state=0).fit(X)
    parts = [X[i : i + 10] for i in range(0, 80, 10)]
    expected = [model.transform(part) for part in parts]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(model.transform, parts))
    require(all(map(np.array_equal, found, expected)), "other bits")
    return "the same bits"


SAME = "the same bits as one after another"
SHARING = [
    Fault("concurrent fits in threads", SAME, in_threads, 2, 20),
    Fault("joblib, threading", SAME, lambda n: in_joblib("threading", n), 1, 10),
    Fault("joblib, loky", SAME, lambda n: in_joblib("loky", n), 1, 5),
    Fault("forked workers", SAME, lambda n: in_processes("fork", n), 1, 20),
    Fault("spawned workers", SAME, lambda n: in_processes("spawn", n), 1, 5),
    Fault("a fork while other threads are fitting", "the child fits too, the same bits",
          forked_amid_threads, 2, 40),
    Fault("one model, transform in threads", SAME, shared_estimator, 3, 40),
]  # fmt: skip
