"""Solutions that are no worse than the best one of rank one, which they are grown from.

Small budgets and the way back from the evened copy can leave a solution of many components that explains less
of X than one component would. It is not worth keeping: a grown one takes its place.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from autonmf._types import Array
from autonmf.data.spread import rowwise
from autonmf.model.objective import Problem
from autonmf.path.result import PathPoint
from autonmf.path.workspace import Workspace
from autonmf.solvers import Hals, Run, State

STEPS = 5
"""Iterations after each component that is added."""

SINGLE, DOUBLE = 1e-7, 1e-13
"""Losses that differ by less than this share of ½‖X‖² are equal, in either precision."""


@dataclass(frozen=True)
class Growth:
    """Solutions grown one component after another, as far as somebody needs them.

    The first is the leading singular pair of X; then come components of what is left. Each lowers the
    objective, and so does each iteration.
    """

    workspace: Workspace
    mu: float = 1e-8
    deadline: float = math.inf  # a value of ``time.monotonic()``; after it nothing is grown
    _states: list[State] = field(default_factory=list)

    def no_worse_than_one(self, point: PathPoint) -> PathPoint:
        """The point, or a grown one where it explains less than one component would.

        With a heavy μ solutions explain less on purpose: they stay if their objective is lower.
        """
        scale = self.workspace.scale
        energy = 0.5 * self.workspace.scaled.squared_norm()
        rounding = SINGLE if self.workspace.precision == np.float32 else DOUBLE
        best = energy - 0.5 * (self.workspace.spectral_norm / scale) ** 2
        if point.loss / scale**2 <= best + rounding * energy or time.monotonic() > self.deadline:
            return point
        squares = sum(float(np.linalg.norm(factor / np.sqrt(scale))) ** 2 for factor in (point.U, point.V))
        objective = point.loss / scale**2 + 0.5 * self.mu * squares
        return self.point(point) if self.at_rank(point.rank).objective < objective else point

    def point(self, like: PathPoint) -> PathPoint:
        """A grown solution of the same rank and precision as another."""
        run = Run(self.at_rank(like.rank), like.n_iter, "grown")
        best = replace(self.workspace.point(np.nan, run), lam=like.lam)
        U, V = (factor.astype(like.U.dtype, copy=False) for factor in (best.U, best.V))
        return replace(best, U=U, V=V)

    def at_rank(self, rank: int) -> State:
        """A solution with so many components.

        Where nothing is left before, the strongest component is cut into equal parts.
        """
        hals, states = Hals(), list(self._states)
        if not states:
            u, sigma, v = self.workspace.leading
            states.append(hals.init(Problem(self.workspace.view, mu=self.mu), u * sigma, v).balanced())
        while len(states) < rank:
            state = _one_more(states[-1])
            for _ in range(STEPS):
                state = hals.step(state)
            states.append(state.balanced().compact())
        self._states[:] = states  # all at once: another thread may be here
        return _in_parts(states[rank - 1], rank - states[rank - 1].rank)


def _one_more(state: State) -> State:
    r"""With a component :math:`p q^\top/\|p\|^2`, where p = (Rw)₊ and q = (Rᵀp)₊ for the residual R.

    It lowers the loss by :math:`\tfrac12\|q\|^2/\|p\|^2`. The weights w ≥ 0 are arbitrary, and always the
    same. If no row is left too small, there is nothing to add.
    """
    seen = state.problem.data.seen_from(state.U, state.V)
    w = np.random.default_rng(0).random((len(state.V), 1)).astype(seen.dtype)
    p = rowwise(_positive_part, seen.right(w), state.U, state.V.T @ w)
    square = float(np.linalg.norm(p)) ** 2
    if square == 0.0:
        return state
    q = _positive_part(seen.left(p), state.V, state.U.T @ p) / square
    U, V = rowwise(_side_by_side, state.U, p), _side_by_side(state.V, q)
    return State.start(state.problem, U, V).balanced().compact()


def _in_parts(state: State, more: int) -> State:
    """With as many components more: equal parts of the strongest one."""
    if more == 0:
        return state
    strongest = int(np.argmax(state.gram_U.diagonal() * state.gram_V.diagonal()))
    parts = np.append(np.arange(state.U.shape[1]), np.full(more, strongest))
    share = np.where(parts == strongest, 1.0 / (1 + more), 1.0).astype(state.U.dtype)
    U, V = state.U[:, parts] * share, np.asfortranarray(state.V[:, parts])
    return State.start(state.problem, U, V).balanced()


def _positive_part(product: Array, block: Array, coefficients: Array) -> Array:
    return np.asfortranarray(np.maximum(product - block @ coefficients, 0.0))


def _side_by_side(block: Array, column: Array) -> Array:
    return np.asfortranarray(np.hstack([block, column]))
