"""Section VI-C: the λ-path against paths of discrete ranks, timed in one process and in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from autonmf.baselines import discrete_path
from autonmf.path import RankPath, rank_path
from autonmf.reproduce.work.inputs import diagnostic
from autonmf.selection import select_rank
from autonmf.solvers import ActiveSet, Solver


@dataclass(frozen=True)
class SameStep(ActiveSet):
    """PASM that makes its own step at λ = 0, too, so that both kinds of path iterate alike."""

    def plateau(self) -> Solver:  # type: ignore[override]
        return self


def compare_times(
    *,
    data: str,
    noise: float,
    solver: str,
    seed: int,
    n_points: int,
    max_rank: int,
    last: int,
    tau: float,
    repeats: int,
    size: tuple[int, int] = (100, 80),
    rank: int = 10,
    data_home: str | None = None,
) -> dict[str, Any]:
    """A cell: five ways to go through the ranks of one matrix; medians of ``repeats`` rounds."""
    given = diagnostic(data, noise, seed, size, rank, data_home)
    X, ranks = given.X, range(2, last + 1)
    alike: str | Solver = SameStep() if solver == "pasm" else solver
    common: dict[str, Any] = {"scale": False, "engine": "direct", "random_state": seed}
    ways: dict[str, Callable[[], RankPath]] = {
        "λ-path": lambda: rank_path(X, max_rank, solver=solver, grid="adaptive", n_points=n_points, **common),
        "decreasing": lambda: discrete_path(X, ranks, "decreasing", solver=alike, **common),
        "increasing": lambda: discrete_path(X, ranks, "increasing", solver=alike, **common),
        "exact": lambda: rank_path(X, max_rank, solver=solver, **common),
        "exact, full": lambda: rank_path(X, max_rank, solver=solver, budget="full", **common),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    paths: dict[str, RankPath] = {}
    for _ in range(repeats):
        for way, compute in ways.items():
            began = time.perf_counter()
            paths[way] = compute()
            seconds[way].append(time.perf_counter() - began)
    return {
        "rows": [
            {
                "way": way,
                "seconds": median(seconds[way]),
                "fastest": min(seconds[way]),
                "slowest": max(seconds[way]),
                "iterations": sum(visit.n_iter for visit in path.visits),
                "points": len(path.visits),
                "found": select_rank(path, "marginal", tau=tau).rank,
                "order": given.order,
            }
            for way, path in paths.items()
        ]
    }
