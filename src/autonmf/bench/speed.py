"""``autonmf bench speed``: a whole `AutoNMF.fit` against one scikit-learn fit at the known rank."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF, kernels
from autonmf._threads import one_pool
from autonmf.bench.cases import Case
from autonmf.data import as_data
from autonmf.path import PathOptions, Workspace, explore

GRID_SAMPLE = (2, 14, 26, 38, 50)
"""Ranks at which scikit-learn is timed to extrapolate the grid 2..50, linearly in between."""


@dataclass
class Timing:
    """Seconds, medians; what was not run is NaN."""

    case: str
    rank: int
    found: list[int]
    ours: float
    peer: float  # NMF(rank, init="random", tol=1e-4, max_iter=500)
    nndsvda: float
    given: float = float("nan")  # ours with the rank given: every rank down to it, and the polish there
    direct: float = float("nan")  # our engine without compression
    svd: float = float("nan")  # numpy.linalg.svd, values only
    grid: float = float("nan")  # scikit-learn over 2..50, extrapolated
    extra_memory: float = float("nan")  # peak of a fit above X, as a share of X
    iterations: int = 0
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.ours / self.peer


def measure(
    cases: Iterable[Case], repeats: int = 3, *, grid: bool = True, floor: bool = True, memory: bool = True
) -> Iterator[Timing]:
    """Time each case; ours and the peers take turns, so that both meet the same noise."""
    for case in cases:
        X = case.load()
        AutoNMF(max_rank=2, random_state=0).fit(X)  # warm up: imports, pages
        models: list[AutoNMF] = []
        ours: list[float] = []
        peer: list[float] = []
        for seed in range(repeats):  # in turns
            ours.append(_seconds(partial(_fit_ours, X, seed, models)))
            peer.append(_seconds(partial(_peer(case.rank, "random", seed).fit, X)))
        yield Timing(
            case.name,
            case.rank,
            [model.n_components_ for model in models],
            median(ours),
            median(peer),
            _seconds(partial(_peer(case.rank, "nndsvda", 0).fit, X)),
            given=_seconds(partial(AutoNMF(case.rank, random_state=0).fit, X)),
            direct=_seconds(partial(AutoNMF(engine="direct", random_state=0).fit, X))
            if floor and not sparse.issparse(X)
            else float("nan"),
            svd=_seconds(partial(np.linalg.svd, X, compute_uv=False))
            if floor and not sparse.issparse(X)
            else float("nan"),
            grid=_grid_seconds(X) if grid and case.grid else float("nan"),
            extra_memory=_extra_memory(case) if memory and case.known else float("nan"),
            iterations=models[0].n_iter_,
            phases=_phases(X),
        )


def describe(timings: Iterable[Timing]) -> dict[str, Any]:
    """Everything measured, as JSON holds it."""
    return {
        "kernels": kernels.BACKEND,
        "timings": [asdict(t) | {"ratio": t.ratio} for t in timings],
    }


def _fit_ours(X: Any, seed: int, models: list[AutoNMF]) -> None:
    models.append(AutoNMF(random_state=seed).fit(X))


def _peer(rank: int, init: str, seed: int) -> NMF:
    return NMF(rank, init=init, tol=1e-4, max_iter=500, random_state=seed)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        work()
    return time.perf_counter() - began


def _grid_seconds(X: Any) -> float:
    """scikit-learn at every rank from 2 to 50, extrapolated from `GRID_SAMPLE`."""
    sampled = [_seconds(partial(_peer(rank, "random", 0).fit, X)) for rank in GRID_SAMPLE]
    return float(np.interp(np.arange(2, 51), GRID_SAMPLE, sampled).sum())


def _phases(X: Any) -> dict[str, float]:
    """Where the time of a fit goes."""
    marks = [("start", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    data = as_data(X)
    mark("check X")
    with one_pool():
        Workspace.of(data).with_engine("auto", 50, np.random.default_rng(0))
    mark("compress")
    explore(data, PathOptions(random_state=0))
    mark("path, with compression")
    AutoNMF(random_state=0).fit(X)
    mark("whole fit")
    return {name: now - before for (_, before), (name, now) in pairwise(marks)}


def _extra_memory(case: Case) -> float:
    """Peak memory of a fit above that of X, as a share of X, in a process of its own."""
    n, m = case.name.split("x")
    command = [sys.executable, "-m", "autonmf.bench.memory", n, m, str(case.rank)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["extra"])
