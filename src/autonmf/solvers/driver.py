"""The loop that runs any algorithm, and its stopping criteria (Section VI-A)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from autonmf._types import Array, Lazy
from autonmf.data.factors import map_rows, norm
from autonmf.losses import Problem, State

PRECISE_EVERY = 4
"""Iterations between two precise losses, which are computed where rounding could decide whether to stop."""

Observer = Callable[[Any, int], bool | None]
"""Called after each iteration with the iterate and its number; True stops the run."""


class Budget(NamedTuple):
    """Range of the number of iterations at a rank of the exact path; it stops when progress is small."""

    fewest: int
    most: int


class Solver(Protocol):
    """An algorithm: an initial state and a step. `run` does the rest."""

    def init(self, problem: Problem, U: Array, V: Array) -> Any:
        """The state at the given factors, which are not modified."""

    def step(self, state: Any) -> Any:
        """One iteration on both blocks."""

    def budget(self, rank: int) -> Budget:
        """Iterations that the exact path spends at a rank by default."""


@dataclass(frozen=True)
class Stopping:
    """Stop when the rank has not changed for T₁ iterations and any of three criteria holds.

    1. the objective changed by at most ``tol`` over T₂ iterations, relative to max(1, Φ);
    2. the factors changed by at most ``tol`` over T₃ iterations, relative to max(1, ‖(U, V)‖);
    3. the projected gradient is at most ``tol_gradient``.

    The second can be checked every few iterations only; the third is left out where ``tol_gradient`` is zero.
    """

    tol: float = 1e-4  # ε
    tol_gradient: float = 1e-3  # ε₁
    rank_window: int = 20  # T₁
    objective_window: int = 10  # T₂
    change_window: int = 10  # T₃
    change_every: int = 1  # iterations between two checks of the factors
    max_iter: int = 2000
    progress: float = 0.0  # stop when an iteration lowers the loss by less than this fraction of it
    min_iter: int = 1  # minimum number of iterations before that


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    state: Any
    n_iter: int
    reason: str  # "objective", "change", "gradient", "progress", "max_iter", "time", "stopped" or "empty"

    @property
    def converged(self) -> bool:
        return self.reason in ("objective", "change", "gradient")


def run(
    solver: Solver,
    state: Any,
    stopping: Stopping,
    *,
    deadline: float = float("inf"),
    observer: Observer | None = None,
) -> Run:
    """Iterate ``solver`` from ``state`` until it converges or a limit is reached.

    At least one iteration is made. ``deadline`` is a value of ``time.monotonic()``. A run whose last
    component vanishes ends with the reason "empty".
    """
    watch = Watch(stopping)
    for k in range(1, stopping.max_iter + 1):
        state = solver.step(state)
        if state.rank == 0:
            return Run(state, k, "empty")
        if observer is not None and observer(state, k):
            return Run(state, k, "stopped")
        if reason := watch.check(state):
            return Run(state, k, reason)
        if time.monotonic() >= deadline:
            return Run(state, k, "time")
    return Run(state, stopping.max_iter, "max_iter")


class Watch:
    """The recent iterates that a `Stopping` criterion compares."""

    def __init__(self, stopping: Stopping) -> None:
        self.stopping = stopping
        self.ranks: deque[int] = deque(maxlen=stopping.rank_window + 1)
        self.objectives: deque[float] = deque(maxlen=stopping.objective_window + 1)
        self.iterates: deque[tuple[Any, Array] | None] = deque(maxlen=stopping.change_window + 1)
        self.n_seen = 0
        self.losses: deque[MeasuredLoss] = deque(maxlen=2)
        self.next_loss = stopping.min_iter - 1  # the iteration whose loss is looked at next

    def check(self, state: Any) -> str | None:
        """Record the next iterate; the criterion that holds, or None."""
        stopping = self.stopping
        self.n_seen += 1
        if stopping.progress > 0 and self.n_seen >= self.next_loss:
            self.losses.append(
                MeasuredLoss(self.n_seen, state.quick_loss, state.loss_error, state.precise_loss)
            )
            if self._has_stalled():
                return "progress"
            self.next_loss += 1
        if stopping.max_iter <= stopping.rank_window:
            return None  # no other criterion can hold before the limit: skip the objective
        self.ranks.append(state.rank)
        self.objectives.append(state.objective)
        compared = (self.n_seen + stopping.change_window) % stopping.change_every == 0  # only these are kept
        self.iterates.append((state.U, state.V) if compared else None)
        if len(self.ranks) <= stopping.rank_window or len(set(self.ranks)) > 1:
            return None
        if self._objective_converged():
            return "objective"
        if self.n_seen % stopping.change_every == 0 and self._factors_converged(state):
            return "change"
        if stopping.tol_gradient and state.projected_gradient_norm <= stopping.tol_gradient:
            return "gradient"
        return None

    def _has_stalled(self) -> bool:
        """Whether the last iterations made too little progress.

        Rounding must not decide this, or the path would depend on the chunks and the kernels.
        """
        if len(self.losses) < 2 or self.n_seen < self.stopping.min_iter:
            return False
        before, now = self.losses
        needed = 1.0 + self.stopping.progress * (now.iteration - before.iteration)
        surplus = before.quick - needed * now.quick
        if abs(surplus) <= now.error:
            self.next_loss += PRECISE_EVERY - 1
            surplus = before.precise.value - needed * now.precise.value
        return surplus <= 0.0

    def _objective_converged(self) -> bool:
        if len(self.objectives) <= self.stopping.objective_window:
            return False
        then, now = self.objectives[0], self.objectives[-1]
        return abs(now - then) <= self.stopping.tol * max(1.0, abs(now))

    def _factors_converged(self, state: State) -> bool:
        before = self.iterates[0]
        if before is None or len(self.iterates) <= self.stopping.change_window:
            return False
        U, V = before
        if U.shape != state.U.shape:
            return False
        change = np.hypot(norm(map_rows(np.subtract, state.U, U)), np.linalg.norm(state.V - V))
        size = np.hypot(norm(state.U), np.linalg.norm(state.V))
        return bool(change <= self.stopping.tol * max(1.0, float(size)))


class MeasuredLoss(NamedTuple):
    """The loss of an iterate, and a more precise one where that is needed to decide."""

    iteration: int
    quick: float
    error: float  # a bound on the rounding error of ``quick``
    precise: Lazy[float]
