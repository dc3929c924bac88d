"""The one loop that every algorithm runs in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from autonmf._types import Array
from autonmf.model.objective import Problem
from autonmf.solvers.budget import Budget
from autonmf.solvers.state import State
from autonmf.solvers.stopping import Stopping

Observer = Callable[[State, int], bool | None]
"""Called after each iteration with the iterate and its number; True stops the run."""


class Solver(Protocol):
    """An algorithm: a first state and a step. Everything else is the driver's."""

    def init(self, problem: Problem, U: Array, V: Array) -> State:
        """The state at the given factors, which are not modified."""

    def step(self, state: State) -> State:
        """One iteration on both blocks."""

    def budget(self, rank: int) -> Budget:
        """Iterations that the exact path spends at a rank by default."""

    def plateau(self) -> Solver:
        """The algorithm for a stretch where λ = 0 and no column can be dropped; itself, if need be."""


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    state: State
    n_iter: int
    reason: str  # "objective", "change", "gradient", "max_iter", "time", "stopped" or "empty"

    @property
    def converged(self) -> bool:
        return self.reason in ("objective", "change", "gradient")


def run(
    solver: Solver,
    state: State,
    stopping: Stopping,
    *,
    deadline: float = float("inf"),
    observer: Observer | None = None,
) -> Run:
    """Iterate ``solver`` from ``state`` until it converges or a limit is reached.

    At least one iteration is made. ``deadline`` is a value of ``time.monotonic()``. A run whose last
    component vanishes ends with the reason "empty".
    """
    watch = stopping.watch()
    for k in range(1, stopping.max_iter + 1):
        state = solver.step(state)
        if state.rank == 0:
            return Run(state, k, "empty")
        if observer is not None and observer(state, k):
            return Run(state, k, "stopped")
        if reason := watch.see(state):
            return Run(state, k, reason)
        if time.monotonic() >= deadline:
            return Run(state, k, "time")
    return Run(state, stopping.max_iter, "max_iter")
