"""Solutions that are no worse than the best one of rank one, which they are grown from.

Small budgets and the way back from the evened copy can leave a solution of many components that explains less
of X than one component would. It is not worth keeping: this one takes its place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.spread import rowwise
from autonmf.model.objective import Problem
from autonmf.path.result import PathPoint
from autonmf.path.workspace import Workspace
from autonmf.solvers import Hals, Run, State

STEPS = 5
"""Iterations after each component that is added."""

ROUNDING = 1e-7
"""Losses that differ by less than this share of ½‖X‖² are equal."""


def no_worse_than_one(point: PathPoint, workspace: Workspace, rank_one_loss: float) -> PathPoint:
    """The point, or one of the same rank whose loss is at most ``rank_one_loss``."""
    energy = workspace.scaled.squared_norm() * workspace.scale**2
    if point.loss <= rank_one_loss + ROUNDING * 0.5 * energy:
        return point
    return grown_point(point, workspace)


def grown_point(point: PathPoint, workspace: Workspace) -> PathPoint:
    """A grown solution of the same rank and precision."""
    state = grown(workspace.view, workspace.leading, point.rank)
    best = replace(workspace.point(np.nan, Run(state, point.n_iter, "grown")), lam=point.lam)
    U, V = (factor.astype(point.U.dtype, copy=False) for factor in (best.U, best.V))
    return replace(best, U=U, V=V)


def grown(data: Data, leading: tuple[Array, float, Array], rank: int) -> State:
    """The leading singular pair of X and, one after another, components of what is left.

    Each lowers the loss, and so does each iteration. Where nothing is left before ``rank`` is reached, the
    strongest component is cut into equal parts.
    """
    hals = Hals()
    u, sigma, v = leading
    state = hals.init(Problem(data), u * sigma, v).balanced()
    for _ in range(rank - 1):
        state = _one_more(state)
        for _ in range(STEPS):
            state = hals.step(state)
        state = state.balanced().compact()
    return _in_parts(state, rank - state.rank)


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
    strongest = int(np.argmax(state.gram_U.diagonal() * state.gram_V.diagonal()))
    parts = np.append(np.arange(state.U.shape[1]), np.full(more, strongest))
    share = np.where(parts == strongest, 1.0 / (1 + more), 1.0).astype(state.U.dtype)
    U, V = state.U[:, parts] * share, np.asfortranarray(state.V[:, parts])
    return State.start(state.problem, U, V).balanced()


def _positive_part(product: Array, block: Array, coefficients: Array) -> Array:
    return np.asfortranarray(np.maximum(product - block @ coefficients, 0.0))


def _side_by_side(block: Array, column: Array) -> Array:
    return np.asfortranarray(np.hstack([block, column]))
