"""When an iteration has converged (Section VI-A)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.model.objective import gram, rough_loss
from autonmf.solvers.state import State


@dataclass(frozen=True)
class Stopping:
    """The rank unchanged for T₁ iterations, and any one of three criteria.

    1. the objective changed by at most ``tol`` over T₂ iterations, relative to max(1, Φ);
    2. the factors changed by at most ``tol`` over T₃ iterations, relative to max(1, ‖(U, V)‖);
    3. the projected gradient is at most ``tol_gradient``.

    The second can be looked at now and then only; the last is left out where ``tol_gradient`` is zero.
    """

    tol: float = 1e-4  # ε
    tol_gradient: float = 1e-3  # ε₁
    rank_window: int = 20  # T₁
    objective_window: int = 10  # T₂
    change_window: int = 10  # T₃
    change_every: int = 1  # iterations from one look at the factors to the next
    max_iter: int = 2000
    progress: float = 0.0  # stop when an iteration lowers the loss by less than this share of it ...
    min_iter: int = 1  # ... after so many iterations

    def watch(self) -> Watch:
        return Watch(self)


DOUBT = 10.0
"""Sums of products are taken to be right to this many units of their precision."""


class Loss:
    """The loss of an iterate, as exactly as somebody wants it."""

    def __init__(self, state: State) -> None:
        self.problem, self.U, self.V = state.problem, state.U, state.V  # not its products, which are as large
        self.rough = state.rough_loss

    @property
    def doubt(self) -> float:
        """How far the rough one may be off."""
        return DOUBT * float(np.finfo(self.problem.data.dtype).eps) * self.problem.squared_norm

    @cached_property
    def precise(self) -> float:
        """The same from sums in double precision, for one more product with X."""
        data = self.problem.data
        if not data.complete:
            return self.rough
        U, V = (factor.astype(np.float64) for factor in (self.U, self.V))
        return rough_loss(self.problem.squared_norm, data.inner(U, V), gram(U), gram(V))


class Watch:
    """The recent iterates that a `Stopping` rule looks at."""

    def __init__(self, rule: Stopping) -> None:
        self.rule = rule
        self.ranks: deque[int] = deque(maxlen=rule.rank_window + 1)
        self.objectives: deque[float] = deque(maxlen=rule.objective_window + 1)
        self.iterates: deque[tuple[Array, Array]] = deque(maxlen=rule.change_window + 1)
        self.seen = 0
        self.loss: Loss | None = None

    def see(self, state: State) -> str | None:
        """Take the next iterate in; the criterion that is met, or None."""
        rule = self.rule
        self.seen += 1
        if rule.progress > 0 and self._stalled(state):
            return "progress"
        if rule.max_iter <= rule.rank_window:
            return None  # no other criterion can be met before the limit: spare the objective
        self.ranks.append(state.rank)
        self.objectives.append(state.objective)
        self.iterates.append((state.U, state.V))
        if len(self.ranks) <= rule.rank_window or len(set(self.ranks)) > 1:
            return None
        if self._objective_settled():
            return "objective"
        if self.seen % rule.change_every == 0 and self._factors_settled(state):
            return "change"
        if rule.tol_gradient and state.projected_gradient_norm <= rule.tol_gradient:
            return "gradient"
        return None

    def _stalled(self, state: State) -> bool:
        """Whether the last iteration made too little progress.

        Rounding must not decide it: on other chunks, or with other kernels, the path would be another one.
        """
        if self.seen < self.rule.min_iter - 1:
            return False  # the loss is not needed yet
        before, self.loss = self.loss, Loss(state)
        if before is None or self.seen < self.rule.min_iter:
            return False
        needed = 1.0 + self.rule.progress
        surplus = before.rough - needed * self.loss.rough
        if abs(surplus) <= self.loss.doubt:
            surplus = before.precise - needed * self.loss.precise
        return surplus <= 0.0

    def _objective_settled(self) -> bool:
        if len(self.objectives) <= self.rule.objective_window:
            return False
        then, now = self.objectives[0], self.objectives[-1]
        return abs(now - then) <= self.rule.tol * max(1.0, abs(now))

    def _factors_settled(self, state: State) -> bool:
        U, V = self.iterates[0]
        if len(self.iterates) <= self.rule.change_window or U.shape != state.U.shape:
            return False
        change = np.hypot(np.linalg.norm(state.U - U), np.linalg.norm(state.V - V))
        size = np.hypot(np.linalg.norm(state.U), np.linalg.norm(state.V))
        return bool(change <= self.rule.tol * max(1.0, float(size)))
