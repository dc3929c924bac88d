"""One HALS sweep: ours, scikit-learn's own kernel, and the matrix product U @ G of the same size."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition._cdnmf_fast import _update_cdnmf_fast

from autonmf import kernels
from autonmf._threads import one_pool
from autonmf._types import Array

SIZES = ((9025, 30), (5000, 50))


class SweepTiming(NamedTuple):
    """Milliseconds of one sweep, one thread."""

    n: int
    rank: int
    dtype: str
    ours: float
    sklearn: float
    product: float


def measure_sweeps(repeats: int = 31) -> list[SweepTiming]:
    """Time the sweeps in turns."""
    rows = []
    with one_pool():
        for dtype in (np.float64, np.float32):
            for n, rank in SIZES:
                rng = np.random.default_rng(0)
                C: Array = rng.random((200, rank)).astype(dtype)
                G = C.T @ C
                U: Array = np.asfortranarray(rng.random((n, rank)), dtype=dtype)
                A = np.asfortranarray(U @ G)
                W, AW, order = np.ascontiguousarray(U), np.ascontiguousarray(A), np.arange(rank)
                works: list[Callable[[], Any]] = [
                    partial(kernels.hals_sweeps, U, A, G, 1e-8, 1),
                    partial(_update_cdnmf_fast, W, G, AW, order),
                    partial(np.matmul, W, G),
                ]
                times: list[list[float]] = [[], [], []]
                for _ in range(repeats):
                    for work, spent in zip(works, times, strict=True):
                        began = time.perf_counter()
                        work()
                        spent.append(1e3 * (time.perf_counter() - began))
                rows.append(SweepTiming(n, rank, np.dtype(dtype).name, *map(median, times)))
    return rows
