"""Grids of λ: the paper's adaptive grid, and the exact grid that goes from breakpoint to breakpoint.

A grid gives the first task of a path (`begin`), and the next one after each stop (`go_on`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from autonmf import kernels
from autonmf._types import Array
from autonmf.data.factors import sum_rows
from autonmf.losses import FrobeniusState, Problem
from autonmf.solvers import Budget, Run, Solver, Stopping

CROSSING = 1e-8
"""ς: a λ that is to cross a breakpoint is larger by this fraction."""

PROGRESS = 2e-3
"""The exact path leaves a rank when an iteration lowers the loss by less than this fraction."""

FIRST = 5
"""Minimum number of iterations at the first rank, since a random initial point is far from any solution."""


class Task(NamedTuple):
    """The next problem to solve."""

    lam: float
    state: Any  # where to start
    stopping: Stopping
    number: int  # of the stop that this becomes, from 1
    n_left: int  # maximum number of stops from here on, this one included


class Stop(NamedTuple):
    """A λ and its solution."""

    lam: float
    run: Run  # with its state balanced, and without components that are zero
    next_lam: float  # the smallest breakpoint of the solution
    state: Any  # from which the path continues
    number: int


@dataclass(frozen=True)
class AdaptiveGrid:
    r"""The paper's grid (Section VI-A).

    At most ``n_points`` values of λ, spread up to the second largest breakpoint of the current solution:

    .. math::
        \lambda_1 = \tfrac12(1+\varsigma)\gamma_0 g^{(0)}_{q_0}, \quad
        \bar\lambda_i = \tfrac12(1+\varsigma)\gamma_i g^{(i)}_2, \quad
        \lambda_{i+1} = \lambda_i + \frac{\bar\lambda_i-\lambda_i}{N_\lambda-i}

    with g the squared norms of the forward step's columns of U, in decreasing order. λ never decreases; a λ
    that would remove every component ends the path before it.
    """

    n_points: int = 30

    def begin(
        self, solver: Solver, problem: Problem, U: Any, V: Array, stopping: Stopping, lowest: int
    ) -> Task:
        """The first task of a path."""
        state = solver.init(problem, U, V)
        ahead = _active(_U_breakpoints(state))
        lam = float((1 + CROSSING) * ahead[0]) if len(ahead) > 1 else 0.0
        return self._task(lam, state, stopping, 1)

    def reach(self, task: Task, result: Run) -> Stop:
        """The stop from the solution of a task."""
        paired = self.solution(result.state)
        state = result.state if paired.rank else task.state
        ahead = _active(_U_breakpoints(state)) if paired.rank else np.zeros(0)
        first = float(ahead[0]) if len(ahead) else 0.0
        return Stop(task.lam, replace(result, state=paired), first, state, task.number)

    def resume(self, lam: float, state: FrobeniusState, run: Run, index: int) -> Stop:
        """A stop of an earlier run of the same path."""
        return Stop(lam, run, 0.0, state, index)

    def go_on(self, stop: Stop, stopping: Stopping, lowest: int) -> Task | None:
        """The task after a stop; None if the path ends there."""
        if stop.run.state.rank == 0:
            if stop.number > 1 or stop.lam == 0.0:
                return None
            return self._task(0.0, stop.state, stopping, 1)  # λ removed everything: begin without a penalty
        ahead = _active(_U_breakpoints(stop.state))
        if stop.state.rank <= lowest or len(ahead) < 2 or stop.number == self.n_points:
            return None
        reach = (1 + CROSSING) * ahead[-2]
        lam = float(max(stop.lam, stop.lam + (reach - stop.lam) / (self.n_points - stop.number)))
        return self._task(lam, stop.state, stopping, stop.number + 1)

    @staticmethod
    def solution(state: FrobeniusState) -> FrobeniusState:
        """The solution at a stop that the path went on from at ``state``."""
        return state.balance().compact()

    def _task(self, lam: float, state: FrobeniusState, stopping: Stopping, index: int) -> Task:
        restarted = state.restart(state.problem.at(lam))
        return Task(lam, restarted, stopping, index, self.n_points - index + 1)


@dataclass(frozen=True)
class ExactGrid:
    """Every rank, one after another.

    On a plateau λ only sets a threshold, so that the solution at rank q is computed with λ = 0; the smallest
    breakpoint of both its blocks is the λ at which the plateau ends. There one component must be removed. The
    proximal step would drop the weakest. We merge the two components whose merger costs least, which raises
    the loss by less (`autonmf.model.components`) and leads to better solutions: the weakest component may be
    a true one while a stronger one occurs twice. λ is the running maximum of the breakpoints; a rank whose
    own breakpoint is below it has a plateau of length zero.
    """

    budget: Callable[[int], Budget] | None = None  # iterations at a rank; None: until a criterion is met
    lambdas: bool = True  # False: the ends of plateaus are found later, and all λ are 0 until then

    def begin(
        self, solver: Solver, problem: Problem, U: Any, V: Array, stopping: Stopping, lowest: int
    ) -> Task:
        """The first task of a path."""
        return self._task(0.0, solver.init(problem, U, V), stopping, 1, lowest)

    def reach(self, task: Task, result: Run) -> Stop:
        """The stop from the solution of a task."""
        state = result.state.balance().compact()
        end = end_of_plateau(state) if self.lambdas and state.rank else 0.0
        return Stop(task.lam, replace(result, state=state), end, state, task.number)

    def resume(self, lam: float, state: FrobeniusState, run: Run, index: int) -> Stop:
        """A stop of an earlier run of the same path."""
        return Stop(lam, run, end_of_plateau(state) if self.lambdas else 0.0, state, index)

    def go_on(self, stop: Stop, stopping: Stopping, lowest: int) -> Task | None:
        """The task after a stop; None if the path ends there."""
        if stop.state.rank <= lowest:
            return None
        lam = max(stop.lam, (1 + CROSSING) * stop.next_lam)
        return self._task(lam, stop.state.merge(), stopping, stop.number + 1, lowest)

    @staticmethod
    def solution(state: Any) -> Any:
        """The solution at a stop that the path went on from at ``state``."""
        return state

    def _task(self, lam: float, state: Any, stopping: Stopping, index: int, lowest: int) -> Task:
        n_left = max(state.rank - lowest, 0) + 1
        if self.budget is None:
            return Task(lam, state, stopping, index, n_left)
        fewest, most = self.budget(state.rank)
        if index == 1:  # from a random point
            fewest, most = max(fewest, FIRST), max(most, FIRST)
        most = min(stopping.max_iter, most)
        # A window as long as the budget turns off the paper's criteria, which need more iterations.
        within = replace(stopping, max_iter=most, rank_window=most, progress=PROGRESS, min_iter=fewest)
        return Task(lam, state, within, index, n_left)


Grid = AdaptiveGrid | ExactGrid


def breakpoints(problem: Problem, block: Any, product: Any, gram: Array) -> Array:
    """The λ at which each column of the block would be dropped: ½γ‖·‖² of its column after a forward step."""
    gamma = problem.step_size(gram)
    norms = sum_rows(_forward_norms, block, product, gram, problem.mu, gamma)
    return problem.penalty.breakpoints(norms, gamma)


def end_of_plateau(state: FrobeniusState) -> float:
    """The smallest λ at which a component would be dropped from either block; 0 if all of them are known."""
    of_V = breakpoints(state.problem, state.V, state.XtU, state.gram_U)
    free = np.minimum(_U_breakpoints(state), of_V)[state.problem.n_fixed :]
    return float(free.min()) if free.size else 0.0


def _U_breakpoints(state: FrobeniusState) -> Array:
    return breakpoints(state.problem, state.U, state.XV, state.gram_V)


def _forward_norms(block: Array, product: Array, gram: Array, mu: float, gamma: float) -> Array:
    return np.asarray(kernels.forward_step(block, product, gram, mu, gamma)[1])


def _active(values: Array) -> Array:
    """The nonzero breakpoints, increasing."""
    return np.sort(values[values > 0])
