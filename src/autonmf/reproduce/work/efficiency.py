"""Section VI-B: four algorithms from one start, at one λ."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import as_data
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error
from autonmf.model.objective import Problem
from autonmf.path import rank_path
from autonmf.reproduce.work.starts import random_start
from autonmf.solvers import SOLVERS, History, Run, State, Stopping, run
from autonmf.solvers.blocks import breakpoints
from autonmf.solvers.driver import Observer

SCANNED = 60
"""Values of λ tried, over a factor of 10 up to the largest breakpoint of the start."""

STEP = 1.01
"""The plateau is followed to both sides in steps of this factor."""

ATTEMPTS = 5
"""Starts tried until PASM ends at r* from one."""

RESTING = 1e-3
"""A λ this many times smaller puts no column at risk."""


def compare_solvers(
    *, n: int, m: int, rank: int, noise: float, start_rank: int, seed: int, iterations: int, repeats: int
) -> dict[str, Any]:
    """A cell: the runs of all four at three values of λ, and their curves at the first."""
    X, U_true, _ = make_low_rank(n, m, rank, noise, random_state=seed)
    with one_pool():
        data = as_data(X)
        attempt, start, plateau, cold = _start_with_plateau(data, rank, start_rank, seed)
        on_path = _path_plateau(X, rank, start_rank, seed)
        settings = {"cold": cold, "resting": RESTING * cold, "path": _middle(on_path)}
        rows, curves = [], []
        for setting, lam in settings.items():
            problem = Problem(data, lam=lam)
            runs = {name: _timed(name, problem, start, repeats) for name in SOLVERS}
            palm = runs["palm"][1]
            target = palm.state.objective if palm.state.rank else None
            for name, (seconds, ended) in runs.items():
                shortest = iterations if setting == "cold" else 1
                history = _history(name, problem, start, shortest, max(shortest, palm.n_iter), target)
                rows.append(
                    {
                        "setting": setting,
                        "lam": lam,
                        "solver": name,
                        "rank_found": ended.state.rank,
                        "iterations": ended.n_iter,
                        "seconds": seconds,
                        "reason": ended.reason,
                        "objective": ended.state.objective if ended.state.rank else None,
                        "gradient": ended.state.projected_gradient_norm if ended.state.rank else None,
                        "recovery_error": _recovery(U_true, ended),
                        **_reached(history, target),
                    }
                )
                if setting == "cold":
                    curves.append(_curve(name, history, iterations))
    note = {
        "attempt": attempt, "plateau_low": plateau[0], "plateau_high": plateau[1],
        "path_low": on_path[0], "path_high": on_path[1],
    }  # fmt: skip
    note |= _bounds(X, rank, cold)
    return {"rows": [row | note for row in rows], "curves": curves}


def _bounds(X: Array, rank: int, lam: float) -> dict[str, float]:
    """The largest λ that Prop. 4 allows without noise, and Φ of the best solution with one component."""
    values = np.linalg.svd(X, compute_uv=False)
    return {
        "recovery_lam": float(values[rank - 1] ** 2) / 32,
        "rank_one_objective": 0.5 * float(np.sum(values[1:] ** 2)) + 2 * lam,
    }


def _start_with_plateau(
    data: Any, rank: int, start_rank: int, seed: int
) -> tuple[int, tuple[Array, Array], tuple[float, float], float]:
    """The first start from which PASM ends at ``rank`` for some λ, the plateau there, and its middle."""
    for attempt in range(ATTEMPTS):
        start = random_start("normal", data.shape, start_rank, seed + 1000 * attempt)
        problem = Problem(data)
        solver = SOLVERS["pasm"]
        state = solver.init(problem, *start)
        top = float(breakpoints(problem, state.U, state.XV, state.gram_V).max())

        def ends(lam: float, start: tuple[Array, Array] = start) -> bool:
            return _run("pasm", Problem(data, lam=lam), start, Stopping()).state.rank == rank

        hits = [(float(lam), ends(float(lam))) for lam in np.geomspace(top / 10, top, SCANNED)]
        if any(hit for _, hit in hits):
            plateau = max(
                (_widened(*ends_at, ends) for ends_at in _runs(hits)), key=lambda pair: pair[1] / pair[0]
            )
            return attempt, start, plateau, _inside(plateau, ends)
    raise ValueError(f"from {ATTEMPTS} starts PASM ended at rank {rank} for no λ")


def _runs(hits: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    """The ends of the stretches of consecutive hits."""
    stretches = [[lam for lam, _ in group] for hit, group in groupby(hits, key=lambda pair: pair[1]) if hit]
    return [(stretch[0], stretch[-1]) for stretch in stretches]


def _widened(low: float, high: float, ends: Callable[[float], bool]) -> tuple[float, float]:
    """The same followed to where the rank changes, to within one step."""
    while ends(low / STEP):
        low /= STEP
    while ends(high * STEP):
        high *= STEP
    return low, high


def _inside(plateau: tuple[float, float], ends: Callable[[float], bool]) -> float:
    """The geometric middle, or the nearest λ in the plateau: from a cold start it may have gaps."""
    middle = _middle(plateau)
    inside = np.geomspace(*plateau, 41)
    return next(float(lam) for lam in sorted(inside, key=lambda lam: abs(np.log(lam / middle))) if ends(lam))


def _path_plateau(X: Array, rank: int, start_rank: int, seed: int) -> tuple[float, float]:
    """Where PASM's exact path is at ``rank``: from the λ that leads there to the next breakpoint."""
    path = rank_path(X, start_rank, engine="direct", scale=False, random_state=seed)
    visit = next(visit for visit in path.visits if visit.rank == rank)
    return visit.lam, visit.next_lam


def _middle(interval: tuple[float, float]) -> float:
    return float(np.sqrt(interval[0] * interval[1]))


def _run(
    name: str,
    problem: Problem,
    start: tuple[Array, Array],
    stopping: Stopping,
    observer: Observer | None = None,
) -> Run:
    solver = SOLVERS[name]
    return run(solver, solver.init(problem, *start), stopping, observer=observer)


def _history(
    name: str, problem: Problem, start: tuple[Array, Array], shortest: int, longest: int, target: float | None
) -> History:
    """A run whatever the stop rule says: until the objective is at ``target``, in these limits."""
    history = History()

    def watch(state: State, k: int) -> bool:
        _ = state.XV  # the next step needs it: part of the algorithm's time, not of the record's
        history(state, k)
        return k >= shortest and target is not None and history.objective[-1] <= target

    _run(name, problem, start, Stopping(tol=0.0, tol_gradient=0.0, max_iter=longest), watch)
    return history


def _timed(name: str, problem: Problem, start: tuple[Array, Array], repeats: int) -> tuple[float, Run]:
    """The run until the paper's stop rule holds; the median of its times."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        ended = _run(name, problem, start, Stopping())
        seconds.append(time.perf_counter() - began)
    return median(seconds), ended


def _recovery(U_true: Array, ended: Run) -> float | None:
    state = ended.state.balanced().compact()
    return recovery_error(U_true, state.U) if state.rank else None


def _reached(history: History, target: float | None) -> dict[str, Any]:
    """Iterations and seconds until the objective at which PALM stopped."""
    first = next((k for k, value in enumerate(history.objective) if target and value <= target), None)
    if first is None:
        return {"iterations_to_palm": None, "seconds_to_palm": None}
    return {"iterations_to_palm": first + 1, "seconds_to_palm": history.seconds[first]}


def _curve(name: str, history: History, iterations: int) -> dict[str, Any]:
    """Six digits are enough for a picture."""
    short = {
        key: [float(f"{value:.6g}") for value in getattr(history, key)[:iterations]]
        for key in ("objective", "projected_gradient", "seconds")
    }
    return {"solver": name, "rank_found": history.rank[:iterations], **short}
