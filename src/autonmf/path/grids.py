"""Where the next λ is: the paper's adaptive grid, and the exact path from breakpoint to breakpoint.

Both are generators of `Stop`s: they solve at a λ, hand the solution over, and go on from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.model.merging import cheapest_merger
from autonmf.model.objective import Problem
from autonmf.solvers import Budget, Run, Solver, State, Stopping
from autonmf.solvers.blocks import breakpoints

CROSSING = 1e-8
"""ς: a λ is put this fraction above the breakpoint that it is to cross."""

PROGRESS = 2e-3
"""Within its budget the exact path leaves a rank once an iteration lowers the loss by less than this."""

FIRST = 5
"""Iterations at the first rank, at least: a random start is far from any solution."""

Solve = Callable[[Solver, State, Stopping, int], Run]
"""Run a solver from a state; the int is how many stops are still to come at most."""


class Stop(NamedTuple):
    """A λ, and the solution there, balanced."""

    lam: float
    run: Run
    next_lam: float  # smallest breakpoint of the solution
    state: State  # what the grid goes on from


class Reached(NamedTuple):
    """A stop that a path goes on from."""

    lam: float
    state: State
    n_stops: int  # up to this one


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

    def follow(
        self, solver: Solver, problem: Problem, U: Array, V: Array, stopping: Stopping, solve: Solve,
        lowest: int, after: Reached | None = None,
    ) -> Iterator[Stop]:  # fmt: skip
        next_lam: float | None
        if after is None:
            state, done = solver.init(problem, U, V), 0
            start = _active(_U_breakpoints(state))
            next_lam = float((1 + CROSSING) * start[0]) if len(start) > 1 else 0.0
        else:
            state, done = after.state, after.n_stops
            next_lam = self._next(after, _active(_U_breakpoints(state)), lowest)
        for i in range(done + 1, self.n_points + 1):
            if next_lam is None:
                return
            lam = next_lam
            result = solve(solver, state.restarted(problem.at(lam)), stopping, self.n_points - i + 1)
            paired = result.state.balanced().compact()
            if paired.rank == 0 and i == 1 and lam > 0:  # a poor start: begin without a penalty
                lam = 0.0
                result = solve(solver, state.restarted(problem.at(lam)), stopping, self.n_points)
                paired = result.state.balanced().compact()
            if paired.rank == 0:
                return
            state = result.state
            ahead = _active(_U_breakpoints(state))
            yield Stop(lam, replace(result, state=paired), _first(ahead), state)
            next_lam = self._next(Reached(lam, state, i), ahead, lowest)

    def _next(self, stop: Reached, ahead: Array, lowest: int) -> float | None:
        """The λ after a stop; None if the path ends there."""
        if stop.state.rank <= lowest or len(ahead) < 2 or stop.n_stops == self.n_points:
            return None
        reach = (1 + CROSSING) * ahead[-2]
        return float(max(stop.lam, stop.lam + (reach - stop.lam) / (self.n_points - stop.n_stops)))

    @staticmethod
    def solution(state: State) -> State:
        """The solution at a stop that went on from ``state``."""
        return state.balanced().compact()


@dataclass(frozen=True)
class ExactPath:
    """Every rank, one after another.

    On a plateau λ only sets a threshold, so the solution at rank q is computed with no column at risk; the
    smallest breakpoint of both its blocks is the λ where the plateau ends. There one component must go. The
    proximal step would drop the weakest; we merge the two whose merger costs least, which raises the loss by
    less (`autonmf.model.merging`) and leads to better solutions: the weakest component may be a real one
    while a stronger one is there twice. λ is the running maximum of the breakpoints; a rank whose own
    breakpoint is below it has a plateau of length zero.
    """

    budget: Callable[[int], Budget] | None = None  # iterations at a rank; None: until the stop rule holds
    lambdas: bool = True  # False: nobody asks where plateaus end, and all are left at 0

    def follow(
        self, solver: Solver, problem: Problem, U: Array, V: Array, stopping: Stopping, solve: Solve,
        lowest: int, after: Reached | None = None,
    ) -> Iterator[Stop]:  # fmt: skip
        problem = problem.at(0.0)
        solver = solver.plateau()
        if after is None:
            lam, state = 0.0, solver.init(problem, U, V)
        elif after.state.rank <= lowest:
            return
        else:
            lam, state = self._next(after.lam, after.state, self._ahead(after.state))
        first = after is None
        while True:
            rule = self._stopping(stopping, state.rank, first=first)
            result = solve(solver, state, rule, max(state.rank - lowest, 0) + 1)
            state = result.state.balanced().compact()
            if state.rank == 0:
                return
            ahead = self._ahead(state)
            yield Stop(lam, replace(result, state=state), _first(ahead), state)
            if state.rank <= lowest:
                return
            lam, state = self._next(lam, state, ahead)
            first = False

    @staticmethod
    def solution(state: State) -> State:
        """The solution at a stop that went on from ``state``."""
        return state

    def _ahead(self, state: State) -> Array:
        return breakpoints_of(state) if self.lambdas else np.zeros(1)

    def _next(self, lam: float, state: State, ahead: Array) -> tuple[float, State]:
        """The λ after a stop, and the start there."""
        return max(lam, float((1 + CROSSING) * ahead.min())), self.one_fewer(state)

    @staticmethod
    def one_fewer(state: State) -> State:
        """The start at the next rank: two components merged."""
        return state.merged(cheapest_merger(state.gram_U, state.gram_V))

    def _stopping(self, stopping: Stopping, rank: int, *, first: bool) -> Stopping:
        """The stop rule at a rank: within its budget, and only as long as there is progress."""
        if self.budget is None:
            return stopping
        fewest, most = self.budget(rank)
        if first:  # from a random start
            fewest, most = max(fewest, FIRST), max(most, FIRST)
        most = min(stopping.max_iter, most)
        # The paper's criteria need more iterations than a budget has: a window of its length rests them.
        return replace(stopping, max_iter=most, rank_window=most, progress=PROGRESS, min_iter=fewest)


Grid = AdaptiveGrid | ExactPath


def breakpoints_of(state: State) -> Array:
    """The λ at which each component would be dropped from either block."""
    return np.minimum(_U_breakpoints(state), _V_breakpoints(state))


def _U_breakpoints(state: State) -> Array:
    return breakpoints(state.problem, state.U, state.XV, state.gram_V)


def _V_breakpoints(state: State) -> Array:
    return breakpoints(state.problem, state.V, state.XtU, state.gram_U)


def _first(values: Array) -> float:
    """The smallest nonzero breakpoint, or 0 if there is none."""
    return float(values[values > 0].min()) if np.any(values > 0) else 0.0


def _active(values: Array) -> Array:
    """The nonzero breakpoints, increasing."""
    return np.sort(values[values > 0])
