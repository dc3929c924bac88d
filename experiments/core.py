"""The parts of the package that experiments use although they are not public.

A change of these parts of the package needs a change of this file, and of no experiment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from autonmf import AutoNMF, RankPath
from autonmf._threads import one_pool
from autonmf._types import Array, as_generator
from autonmf.data import OpenedData, as_data, equilibration, unit_scaling
from autonmf.data.noise import WhitenedSpectrum
from autonmf.losses import FROBENIUS, LOSSES, Problem
from autonmf.losses import FrobeniusState as State
from autonmf.path import Evidence, PathOptions, default_max_rank, prepare, search
from autonmf.path.grids import AdaptiveGrid, ExactGrid, Stop, Task, breakpoints
from autonmf.path.journal import MAGIC, Journal
from autonmf.solvers import (
    SOLVERS as ALL_SOLVERS,
)
from autonmf.solvers import (
    ActiveSet,
    Budget,
    CountDescent,
    Hals,
    Run,
    Solver,
    Stopping,
    make_solver,
    run,
)
from autonmf.solvers.driver import Observer

SOLVERS = {name: solver for name, solver in ALL_SOLVERS.items() if name != "hals"}
"""The algorithms of the paper by name."""

__all__ = [
    "MAGIC",
    "SOLVERS",
    "ActiveSet",
    "Array",
    "Budget",
    "Evidence",
    "History",
    "Journal",
    "Observer",
    "Problem",
    "Run",
    "Solver",
    "State",
    "Stopping",
    "WhitenedSpectrum",
    "as_data",
    "bisect_grid",
    "breakpoints",
    "default_max_rank",
    "equilibrate",
    "fit_counts",
    "fit_nmf",
    "follow_variant",
    "observe_evidence",
    "one_pool",
    "run",
    "start_iterations",
    "step_once",
    "stream_small_files",
    "time_phases",
    "trace_grid",
]


@dataclass
class History:
    """An observer that records a run: pass it as ``observer`` to `run`.

    The time spent on recording (the projected gradient needs both gradients) is not counted, but for the
    product X V, which the next iteration would otherwise compute and now finds done.
    """

    objective: list[float] = field(default_factory=list)
    projected_gradient: list[float] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._resumed = time.perf_counter()
        self._spent = 0.0

    def __call__(self, state: Any, k: int) -> None:
        _ = state.XV
        self._spent += time.perf_counter() - self._resumed
        self.seconds.append(self._spent)
        self.objective.append(state.objective)
        self.projected_gradient.append(state.projected_gradient_norm)
        self.rank.append(state.rank)
        self._resumed = time.perf_counter()


def equilibrate(wanted: bool = True) -> dict[str, Any]:
    """Options of `rank_path` for a path of X with rows and columns scaled to comparable norm."""
    return {"equilibrate": wanted}


class GridPoint(NamedTuple):
    """The solution at one λ of the paper's grid."""

    lam: float
    next_lam: float
    state: State
    n_iter: int
    reason: str


def trace_grid(X: Any, solver: str, n_points: int, max_rank: int, seed: int) -> Iterator[GridPoint]:
    """Every point of the paper's grid, from the initial point that `rank_path` makes from this seed.

    X is not scaled (``scale=False``).
    """
    with one_pool():
        data = as_data(X)
        initial, _ = as_generator(seed).spawn(2)
        chosen, grid, stopping = make_solver(solver), AdaptiveGrid(n_points), Stopping()
        U, V = FROBENIUS.initialize(data, max_rank, "random", initial)
        task: Task | None = grid.begin(chosen, Problem(data), U, V, stopping, 1)
        while task is not None:
            stop = grid.reach(task, run(chosen, task.state, stopping))
            if stop.run.state.rank:
                yield GridPoint(stop.lam, stop.next_lam, stop.run.state, stop.run.n_iter, stop.run.reason)
            task = grid.go_on(stop, stopping, 1)


def bisect_grid(
    X: Any, solver: str, n_points: int, max_rank: int, seed: int, wanted: int, most: int = 20
) -> list[tuple[int, float]]:
    """Ranks and losses at the λ halfway between two points of the paper's grid that jump over a rank.

    Each begins at the last solution with more components. The grid is that of `trace_grid`; nothing is
    returned if it does not jump over the rank.
    """
    with one_pool():
        data = as_data(X)
        initial, _ = as_generator(seed).spawn(2)
        chosen, grid, stopping = make_solver(solver), AdaptiveGrid(n_points), Stopping()
        U, V = FROBENIUS.initialize(data, max_rank, "random", initial)
        before: Stop | None = None
        task: Task | None = grid.begin(chosen, Problem(data), U, V, stopping, 1)
        while task is not None:
            stop = grid.reach(task, run(chosen, task.state, stopping))
            if before is not None and stop.run.state.rank < wanted < before.run.state.rank:
                break
            before, task = stop, grid.go_on(stop, stopping, 1)
        if task is None or before is None:
            return []
        low, high, found = before.lam, stop.lam, list[tuple[int, float]]()
        for _ in range(most):
            lam = 0.5 * (low + high)
            state = before.state.restart(before.state.problem.at(lam))
            stop = grid.reach(task._replace(lam=lam, state=state), run(chosen, state, stopping))
            found.append((stop.run.state.rank, float(stop.run.state.loss)))
            if found[-1][0] == wanted:
                break
            if found[-1][0] > wanted:
                low, before = lam, stop
            else:
                high = lam
        return found


def fit_nmf(X: Any, rank: int, max_iter: int, seed: int) -> Array:
    """U of an NMF at a rank: HALS from a random initial point until the paper's stopping criterion holds."""
    with one_pool():
        data = as_data(X)
        solver = Hals(sweeps=1, sweeps_above=1)
        U, V = FROBENIUS.initialize(data, rank, "random", as_generator(seed))
        found = run(solver, solver.init(Problem(data), U, V), Stopping(max_iter=max_iter))
        return np.asarray(found.state.U)


def observe_evidence(X: Any, seed: int) -> Evidence:
    """What the default rule reads."""
    evidence = search(OpenedData(as_data(X)), PathOptions(random_state=seed, equilibrate=True)).path.evidence
    assert evidence is not None
    return evidence


def time_phases(X: Any) -> dict[str, float]:
    """Seconds of each phase of a fit."""
    marks = [("start", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    data = as_data(X)
    mark("check X")
    with one_pool():
        prepare(data, PathOptions(), 50, np.random.default_rng(0))
    mark("compress")
    search(OpenedData(data), PathOptions(random_state=0))
    mark("path, with compression")
    AutoNMF(random_state=0).fit(X)
    mark("whole fit")
    return {name: now - before for (_, before), (name, now) in pairwise(marks)}


def start_iterations(matrices: list[Any], rank: int) -> list[State]:
    """States after the first iteration on each matrix, scaled as a path does it, from one initial point.

    NaN means a missing entry.
    """
    masks = ["mask" if np.isnan(X).any() else "error" for X in matrices]
    data = [as_data(X, missing=missing) for X, missing in zip(matrices, masks, strict=True)]
    views = [equilibration(unit_scaling(one).apply(one)).apply(unit_scaling(one).apply(one)) for one in data]
    U, V = FROBENIUS.initialize(views[0], rank, "random", np.random.default_rng(0))
    return [Hals().step(Hals().init(Problem(view), U, V)) for view in views]


def step_once(state: State) -> State:
    """An iteration of the path, with the loss that its stopping criterion looks at."""
    state = Hals().step(state)
    _ = state.quick_loss
    return state


class DropWeakest(ExactGrid):
    """What the proximal step would do: the component of the smallest breakpoint is dropped."""

    def go_on(self, stop: Stop, stopping: Stopping, lowest: int) -> Task | None:
        task = super().go_on(stop, stopping, lowest)
        if task is None:
            return None
        state = stop.state
        found = np.minimum(
            breakpoints(state.problem, state.U, state.XV, state.gram_V),
            breakpoints(state.problem, state.V, state.XtU, state.gram_U),
        )
        return task._replace(state=state.select(np.arange(len(found)) != np.argmin(found)))


@dataclass(frozen=True)
class _Variant(PathOptions):
    """Options with a grid of their own."""

    kind: type[ExactGrid] = ExactGrid
    length: Callable[[int], Budget] = Hals().budget

    def make_grid(self, *, lambdas: bool = True) -> ExactGrid:
        return self.kind(self.length, lambdas)


def follow_variant(
    X: Any, seed: int, *, drop: bool = False, length: Callable[[int], Budget] | None = None
) -> RankPath:
    """The exact path where a component is dropped instead of merged, or with other numbers of iterations."""
    options: dict[str, Any] = {"kind": DropWeakest} if drop else {}
    options |= {} if length is None else {"length": length}
    return search(OpenedData(as_data(X)), _Variant(random_state=seed, **options)).path


def stream_small_files() -> None:
    """Let matrices in files be read in blocks however small they are."""
    from autonmf.data import streamed

    streamed.SMALL = 0


class CountFit(NamedTuple):
    """Factors of counts, and their Kullback-Leibler loss."""

    U: Array
    V: Array
    loss: float


def fit_counts(X: Any, rank: int, *, tol: float, random_state: int, max_iter: int = 5000) -> CountFit:
    """One fit of counts at a fixed rank, from a random initial point to a tolerance."""
    data, loss, solver = as_data(X), LOSSES["kullback-leibler"], CountDescent()
    scaling = unit_scaling(data)
    scaled = scaling.apply(data)
    with one_pool():
        problem = loss.prepare(scaled, single=True)
        start = loss.initialize(problem, rank, "random", np.random.default_rng(random_state))
        stopping = Stopping(tol, 0.0, max_iter=max_iter, change_every=max_iter)
        state = run(solver, problem.start(*start), stopping).state
        value = float(loss.value(scaled, state.U, state.V) * scaling.unit)
        return CountFit(*scaling.to_original(state.U, state.V), value)
