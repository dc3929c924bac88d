"""The paper's grid, with the factors looked at after every λ."""

from __future__ import annotations

import time
from typing import Any

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import as_data
from autonmf.metrics import recovery_error
from autonmf.model.initial import initial_point
from autonmf.model.objective import Problem
from autonmf.path.grids import AdaptiveGrid
from autonmf.reproduce.work.inputs import diagnostic, relative
from autonmf.solvers import Run, Solver, State, Stopping, make_solver, run


def trace(
    X: Any, solver: str, n_points: int, max_rank: int, seed: int, U_true: Array | None
) -> dict[str, Any]:
    """λ, rank, errors and iterations at every point of the grid, X as it lies (``scale=False``)."""

    def solve(chosen: Solver, state: State, stopping: Stopping, stops_left: int) -> Run:
        return run(chosen, state, stopping)

    found: dict[str, list[Any]] = {
        name: [] for name in ("lam", "next_lam", "rank", "error", "recovery_error", "n_iter", "reason")
    }
    with one_pool():
        data = as_data(X)
        problem = Problem(data)
        start, _ = as_generator(seed).spawn(2)  # the start that rank_path makes from this seed
        U, V = initial_point(data, max_rank, "random", start)
        grid = AdaptiveGrid(n_points)
        for stop in grid.follow(make_solver(solver), problem, U, V, Stopping(), solve, 1):
            state = stop.run.state
            found["lam"].append(stop.lam)
            found["next_lam"].append(stop.next_lam)
            found["rank"].append(state.rank)
            found["error"].append(relative(state.loss, X))
            found["recovery_error"].append(None if U_true is None else recovery_error(U_true, state.U))
            found["n_iter"].append(stop.run.n_iter)
            found["reason"].append(stop.run.reason)
    return found


def trace_path(
    *,
    data: str,
    noise: float,
    solver: str,
    seed: int,
    n_points: int,
    max_rank: int,
    size: tuple[int, int] = (100, 80),
    rank: int = 10,
    data_home: str | None = None,
) -> dict[str, Any]:
    """A cell: one path with all of its points."""
    given = diagnostic(data, noise, seed, size, rank, data_home)
    began = time.perf_counter()
    curve = trace(given.X, solver, n_points, max_rank, seed, given.U)
    return {
        "rows": [
            {
                "order": given.order,
                "points": len(curve["rank"]),
                "iterations": sum(curve["n_iter"]),
                "seconds": time.perf_counter() - began,
            }
        ],
        "curves": [curve | {"order": given.order}],
    }
