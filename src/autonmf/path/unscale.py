"""From the solutions of a scaled matrix to points of X, whose losses never rise with the rank.

With small budgets, or after scaling back from the equilibrated matrix, a solution may have a larger loss than
one with fewer components, or than the best one of rank one. It is then replaced by the greedy fallback: the
solution of a smaller rank plus components that are added one at a time, each of which lowers the loss, with a
few iterations after each. The other ranks get as many, so that the losses of all ranks compare.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Scaling
from autonmf.data.factors import as_factor, persist, scale_rows
from autonmf.losses import FROBENIUS, FrobeniusState, Problem
from autonmf.model.components import balance, column_norms
from autonmf.model.nnls import approximate_nnls
from autonmf.path.grids import CROSSING, end_of_plateau
from autonmf.path.result import PathPoint, RankPath, Visit
from autonmf.path.view import View
from autonmf.path.walk import Solution
from autonmf.solvers import CountDescent, Hals

FALLBACK_STEPS = 3
"""Maximum number of iterations after each component that the fallback adds; fewer at high ranks."""

SINGLE, DOUBLE = 1e-9, 1e-13
"""Losses are equal if they differ by less than this fraction of ½‖X‖², in single or double precision."""


@dataclass(frozen=True, eq=False)
class Unscaler:
    """Converts solutions of X' to points of X."""

    view: View  # of X in its own units: losses are evaluated there
    scaling: Scaling  # from X to X'
    mu: float  # in the units of the view
    deadline: float = math.inf  # a value of ``time.monotonic()``; after it no fallback is computed
    sampled: bool = False  # whether solutions are those of some rows, and all are projected on V

    def to_point(self, solution: Solution) -> PathPoint:
        """Convert a solution to a point of X that is no worse than the best one of the smallest rank."""
        point = self._unscale(solution)
        n_fixed = self.view.n_fixed
        if solution.rank == max(n_fixed, 1) and (n_fixed or not self.scaling.is_uniform):
            return self._to_point_like(point, *self.view.smallest)
        return self._no_worse_than(None, point)

    def improve(self, point: PathPoint) -> PathPoint:
        """A point that was scaled back after a few iterations on X in its own units, as the fallback makes.

        The rows of a sampled path are fitted to X already.
        """
        fitted = self.scaling.is_uniform or self.sampled
        if fitted or point.rank <= max(self.view.n_fixed, 1) or time.monotonic() > self.deadline:
            return point
        state = self._iterate(self._start(point.U, point.V))
        if state.rank != point.rank:
            return point
        improved = self._to_point_like(point, state.U, state.V, self.view.measure(state))
        return improved if self._objective(improved) < self._objective(point) else point

    def make_monotone(self, points: Iterable[PathPoint]) -> Iterator[PathPoint]:
        """Replace points whose loss is larger than that of a smaller rank by the fallback."""
        best: PathPoint | None = None
        for point in points:
            point = self._no_worse_than(best, point)
            if best is None or point.loss <= best.loss:
                best = point
            yield point

    def _no_worse_than(self, before: PathPoint | None, point: PathPoint) -> PathPoint:
        """The point, or the fallback if ``before`` (None: the smallest rank) explains more."""
        if not self._is_worse(point, before):
            return point
        grown = self._grow(point.rank, before)
        fallback = self._to_point_like(point, grown.U, grown.V, self.view.measure(grown))
        is_better = self._objective(fallback) < self._objective(point)  # with a large μ it may not be
        return fallback if is_better else point

    def _unscale(self, solution: Solution) -> PathPoint:
        """A solution of X' as one of X: balanced, by decreasing energy, in the units of X."""
        if self.sampled:
            return self._project(solution)
        view, dtype = self.view, choose_dtype(solution.V.dtype, float(np.sqrt(self.view.scaling.unit)))
        U, V = (factor.astype(dtype, copy=False) for factor in (solution.U, solution.V))
        U, V = self.scaling.to_original(U, V)
        if self.scaling.is_uniform:
            unit = self.scaling.unit
            loss, lam = solution.loss * unit**view.loss.degree, solution.lam * unit**2
        else:
            U, V = persist(U), persist(V)
            loss, lam = view.evaluate(*view.scaling.to_scaled(U, V)) * view.loss_unit, 0.0
        U, V = balance(U, V, sort=True, n_fixed=view.n_fixed)
        return PathPoint(U, V, loss, lam, solution.n_iter, view.compressed is None)

    def unscale_columns(self, V: Array) -> Array:
        """The right factor of X' in the units of the view."""
        scales = self.scaling.a if self.scaling.transposed else self.scaling.b
        scaled = scale_rows(V, scales / np.sqrt(self.view.scaling.unit))
        return np.asfortranarray(scaled, dtype=self.view.scaled.dtype)

    def _project(self, solution: Solution) -> PathPoint:
        """All rows of X fitted, nearly as well as they can be, by the components of some of them."""
        view, V = self.view, self.unscale_columns(solution.V)
        U, loss = FROBENIUS.project(view.scaled, V, solve=approximate_nnls)
        return self._to_point_like(PathPoint(U, V, 0.0, 0.0, solution.n_iter), U, V, loss)

    def _is_worse(self, point: PathPoint, before: PathPoint | None) -> bool:
        """Whether a point explains less than the best one before it, or than the smallest rank would."""
        if time.monotonic() > self.deadline:
            return False
        energy = self.view.energy * self.view.loss_unit
        best = self.view.smallest[2] * self.view.loss_unit if before is None else before.loss
        return point.loss > best + energy * (SINGLE if point.V.dtype == np.float32 else DOUBLE)

    def _objective(self, point: PathPoint) -> float:
        """Loss and ridge of a point, in the units of the view."""
        if self.view.loss is not FROBENIUS:
            return point.loss / self.view.loss_unit
        squares = sum(float(np.square(column_norms(factor)).sum()) for factor in (point.U, point.V))
        return point.loss / self.view.loss_unit + 0.5 * self.mu * squares / self.view.scaling.unit

    def _grow(self, rank: int, before: PathPoint | None) -> Any:
        """The greedy fallback with ``rank`` components, from the point before or the smallest rank.

        If no component lowers the loss, the strongest one is split into equal parts.
        """
        state = self._start(before.U, before.V) if before else self._start()
        while state.rank < rank:
            grown = self._iterate(state.grow())
            if grown.rank <= state.rank:  # it vanishes: only rounding errors are left
                break
            state = grown
        return state if state.rank == rank else state.split(rank)

    def _start(self, *factors: Any) -> Any:
        """The state at factors of X, by default at those of the smallest rank."""
        view = self.view
        U, V = view.scaling.to_scaled(*factors) if factors else view.smallest[:2]
        U, V = view.fix(*(as_factor(factor, view.matrix.dtype, keep=False) for factor in (U, V)))
        problem = view.pose(mu=self.mu)
        if view.compressed is None:
            return problem.start(U, V).balance()
        # on workers the product with it in double precision is known from the loss
        return problem.start(U, V, view.compressed.left(U).astype(view.matrix.dtype)).balance()

    def _iterate(self, state: Any) -> Any:
        """A few iterations; fewer at high ranks."""
        solver = Hals() if self.view.loss is FROBENIUS else CountDescent()
        for _ in range(min(FALLBACK_STEPS, solver.budget(state.rank).fewest)):
            state = solver.step(state)
        return state.balance().compact()

    def _to_point_like(self, point: PathPoint, U: Any, V: Any, loss: float) -> PathPoint:
        """Factors of the view and their loss in place of a point, in the same precision."""
        view = self.view
        factors = (as_factor(factor, point.V.dtype, keep=False) for factor in (U, V))
        U, V = balance(*view.scaling.to_original(*factors), sort=True, n_fixed=view.n_fixed)
        return replace(point, U=U, V=V, loss=loss * view.loss_unit)

    def without_X(self, most: int) -> Unscaler | None:
        """The same without X, if what replaces it has at most ``most`` bytes; otherwise None."""
        view = self.view.without_X(most, single=self.sampled)
        return None if view is None else replace(self, view=view, deadline=math.inf)


def choose_dtype(dtype: np.dtype[np.floating], size: float) -> np.dtype[np.floating]:
    """The type, or double precision where entries of this size do not fit: X may be far larger than 1."""
    safe = float(np.finfo(dtype).max) ** 0.5
    return dtype if 1 / safe < size < safe else np.dtype(np.float64)


def find_plateaus(path: RankPath, view: View) -> RankPath:
    """The path with the λ at which each of its solutions would lose a component.

    As on an exact path, λ is the running maximum of the breakpoints, and each rank is reached just above
    the end of the plateau before.
    """
    unit = view.scaling.unit
    problem = Problem(view.matrix, mu=path.mu / unit, delta=path.delta / unit, n_fixed=view.n_fixed)
    points, visits, lam = [], [], 0.0
    for point, visit in zip(reversed(path.points), best_visits(path), strict=True):
        factors = view.scaling.to_scaled(point.U, point.V)
        U, V = (as_factor(factor, view.matrix.dtype, keep=False) for factor in factors)
        XtU = view.double.completed_at(U, V).left(U).astype(view.matrix.dtype)
        end = end_of_plateau(FrobeniusState.at(problem, U, V, XtU=XtU)) * unit**2
        points.append(replace(point, lam=lam))
        visits.append(visit._replace(lam=lam, loss=point.loss, next_lam=end))
        lam = max(lam, (1 + CROSSING) * end)
    return replace(path, points=tuple(reversed(points)), visits=tuple(visits))


def best_visits(path: RankPath) -> tuple[Visit, ...]:
    """The visit that led to each point, by decreasing rank."""
    return tuple(
        min((visit for visit in path.visits if visit.rank == point.rank), key=lambda visit: visit.loss)
        for point in reversed(path.points)
    )
