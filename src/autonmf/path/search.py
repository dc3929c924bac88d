"""`rank_path`: from X to a `RankPath`."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf._random import as_generator
from autonmf._types import Array, Seed
from autonmf.data import as_data
from autonmf.model.initial import initial_point
from autonmf.model.objective import Problem
from autonmf.model.spectral import spectral_norm
from autonmf.path.frame import Frame
from autonmf.path.grids import AdaptiveGrid, ExactPath
from autonmf.path.result import PathPoint, RankPath, Visit, best_by_rank
from autonmf.solvers import Run, Solver, State, Stopping, make_solver, run

GRIDS = ("exact", "adaptive")

Grid = AdaptiveGrid | ExactPath


@dataclass(frozen=True)
class Progress:
    """Where a path is, handed to ``callback`` after each iteration."""

    start: int  # which initial point, from 0
    n_starts: int
    max_rank: int
    rank: int
    iteration: int  # at this λ
    relative_loss: float  # loss / ½‖X‖²
    seconds: float  # since the path began


Callback = Callable[[Progress], bool | None]


def default_max_rank(shape: tuple[int, int]) -> int:
    """The paper's upper bound on the rank: min(⌈min(n, m)/2⌉, 50)."""
    return min(math.ceil(min(shape) / 2), 50)


def default_budget(rank: int) -> int:
    """Iterations of the exact path at a rank.

    High ranks only lead down: few iterations suffice there. Low ranks are solved well, since their losses
    decide.
    """
    if rank > 25:
        return 4
    return 8 if rank > 12 else 25


def rank_path(
    X: Any,
    max_rank: int | None = None,
    *,
    min_rank: int = 1,
    solver: str | Solver = "pasm",
    grid: str = "exact",
    n_points: int = 30,
    budget: str | Callable[[int], int] = "auto",
    mu: float = 1e-8,
    delta: float = 1e-6,
    tol: float = 1e-4,
    max_iter: int = 2000,
    init: str | tuple[Any, Any] = "random",
    n_starts: int = 1,
    scale: bool = True,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    random_state: Seed = None,
) -> RankPath:
    r"""Factorise X at every rank, from an upper bound down, along one warm-started path of λ.

    Solves eq. (1) of the paper,

    .. math:: \min_{U,V\ge0} \tfrac12\|X-UV^\top\|_F^2 + \tfrac\mu2(\|U\|_F^2+\|V\|_F^2)
              + \lambda(\|U\|_{2,0}+\|V\|_{2,0}),

    for increasing λ; each solution starts from the one before.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    max_rank : int, optional
        Where the path starts. Default: min(⌈min(n, m)/2⌉, 50). More than min(n, m) is never needed
        and is reduced to it with a warning.
    min_rank : int
        Where the path ends.
    solver : {"pasm", "s-ipalm", "ipalm", "palm"} or Solver
        The algorithm.
    grid : {"exact", "adaptive"}
        "exact" goes from breakpoint to breakpoint and visits every rank; "adaptive" is the paper's
        grid of at most ``n_points`` values of λ, which can jump over ranks.
    n_points : int
        N_λ of the adaptive grid.
    budget : "auto", "full" or callable
        Iterations at each rank of the exact path: "auto" spends few at high ranks; "full" iterates
        until the stop rule holds, as the adaptive grid always does; a function of the rank.
    mu, delta : float
        μ of eq. (1), and δ of the step size γ = τ + δ, in units of the scaled X.
    tol : float
        ε of the stop rule, for the relative change of the objective and of the factors. The projected
        gradient is compared with 10·tol.
    max_iter : int
        Iterations at one λ at most.
    init : {"random", "nndsvd", "nndsvda"} or (U, V)
        Initial point. Given factors set ``max_rank`` and are not modified.
    n_starts : int
        Random initial points; each rank keeps its best solution over all.
    scale : bool
        Divide X by its root mean square inside, so that μ, δ and ``tol`` mean the same at any scale. False
        reproduces the paper.
    time_budget : float, optional
        Seconds. The exact path shares them among the ranks and still reaches the last one.
    n_jobs : int, optional
        Threads over which starts are spread. The result does not depend on it.
    callback : callable, optional
        Called with a `Progress` after each iteration; returning True ends the path there.
    random_state : int, generator or None
        Seed. The same seed gives the same bits.

    Returns
    -------
    RankPath
        With ``complete=False``, and a warning, if it was interrupted (Ctrl-C) after its first rank.

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> path = rank_path(X, max_rank=6, random_state=0)
    >>> path.ranks.tolist()
    [1, 2, 3, 4, 5, 6]
    >>> path.at_rank(3).U.shape
    (60, 3)
    """
    began = time.monotonic()
    data = as_data(X)
    settings: dict[str, Any] = {
        "solver": solver if isinstance(solver, str) else type(solver).__name__,
        "grid": grid, "n_points": n_points, "tol": tol, "max_iter": max_iter, "n_starts": n_starts,
        "budget": budget if isinstance(budget, str) else "custom",
        "init": init if isinstance(init, str) else "given", "scale": scale,
        "random_state": int(random_state) if isinstance(random_state, int | np.integer) else None,
    }  # fmt: skip
    max_rank = _checked_ranks(data.shape, max_rank, min_rank, init)
    _check_positive(n_points=n_points, max_iter=max_iter, n_starts=n_starts)
    if not (mu >= 0 and delta >= 0 and tol >= 0):
        raise ValueError(f"mu, delta and tol must be nonnegative, got {mu}, {delta} and {tol}")
    if time_budget is not None and not time_budget > 0:
        raise ValueError(f"time_budget must be a positive number of seconds, got {time_budget}")
    stopping = Stopping(tol=tol, tol_gradient=10 * tol, max_iter=max_iter)
    frame = Frame.of(data, scale=scale, tall=grid == "exact")
    search = _Search(
        frame=frame,
        problem=Problem(frame.data, mu=mu, delta=delta),
        solver=make_solver(solver),
        grid=_make_grid(grid, n_points, budget),
        stopping=stopping,
        lowest=min_rank,
        max_rank=max_rank,
        n_starts=n_starts,
        began=began,
        deadline=math.inf if time_budget is None else began + time_budget,
        callback=callback,
    )
    starts = as_generator(random_state).spawn(n_starts)
    if isinstance(init, str):
        results = _each_start(
            lambda i: search.from_start(i, *initial_point(frame.data, max_rank, init, starts[i])),
            n_starts,
            n_jobs,
        )
    else:
        U, V = initial_point(data, max_rank, init, starts[0])
        results = [search.from_start(0, *frame.inward(U, V))]
    points = best_by_rank(point for result in results for point in result.points)
    return RankPath(
        points=points,
        visits=tuple(visit for result in results for visit in result.visits),
        shape=data.shape,
        squared_norm=search.problem.squared_norm * frame.scale**2,
        spectral_norm=spectral_norm(frame.data) * frame.scale,
        mu=mu * frame.scale,
        delta=delta * frame.scale,
        complete=all(result.complete for result in results),
        settings=settings,
    )


@dataclass
class _Followed:
    """What one start found."""

    points: tuple[PathPoint, ...] = ()
    visits: tuple[Visit, ...] = ()
    complete: bool = False


@dataclass(frozen=True)
class _Search:
    """One path search; its starts share everything but the initial point."""

    frame: Frame
    problem: Problem
    solver: Solver
    grid: Grid
    stopping: Stopping
    lowest: int
    max_rank: int
    n_starts: int
    began: float
    deadline: float
    callback: Callback | None

    def from_start(self, index: int, U: Array, V: Array) -> _Followed:
        """Follow the grid from one initial point, keeping what is found when interrupted."""
        found = _Followed()
        stopped = False

        def solve(state: State, stopping: Stopping, stops_left: int) -> Run:
            nonlocal stopped
            now = time.monotonic()
            deadline = now + max(self.deadline - now, 0.0) / stops_left
            result = run(self.solver, state, stopping, deadline=deadline, observer=self._observer(index))
            stopped = result.reason == "stopped"
            return result

        try:
            for lam, result, next_lam in self.grid.follow(
                self.solver, self.problem, U, V, self.stopping, solve, self.lowest
            ):
                point = self.frame.point(self.problem, lam, result)
                found.points = best_by_rank((*found.points, point))
                found.visits += (self._visit(index, point, result, next_lam),)
                if stopped:
                    return found
            found.complete = True
        except KeyboardInterrupt:
            if not found.points:
                raise
            warnings.warn(
                f"interrupted at rank {found.points[0].rank}: the path is incomplete and has ranks "
                f"{found.points[-1].rank} to {found.points[0].rank} only",
                RuntimeWarning,
                stacklevel=4,
            )
        return found

    def _observer(self, index: int) -> Callable[[State, int], bool | None] | None:
        callback = self.callback
        if callback is None:
            return None

        def observe(state: State, k: int) -> bool | None:
            return callback(
                Progress(
                    start=index,
                    n_starts=self.n_starts,
                    max_rank=self.max_rank,
                    rank=state.rank,
                    iteration=k,
                    relative_loss=2.0 * state.loss / self.problem.squared_norm,
                    seconds=time.monotonic() - self.began,
                )
            )

        return observe

    def _visit(self, index: int, point: PathPoint, result: Run, next_lam: float) -> Visit:
        return Visit(
            start=index,
            lam=point.lam,
            rank=result.state.rank,
            loss=point.loss,
            n_iter=result.n_iter,
            seconds=time.monotonic() - self.began,
            reason=result.reason,
            next_lam=next_lam * self.frame.scale**2,
        )


def _each_start(follow: Callable[[int], _Followed], n_starts: int, n_jobs: int | None) -> list[_Followed]:
    """Every start's result, in order; after an incomplete one no other is begun."""
    if n_jobs in (None, 1) or n_starts == 1:
        results: list[_Followed] = []
        for index in range(n_starts):
            results.append(follow(index))
            if not results[-1].complete:
                break
        return results
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs, prefer="threads")(delayed(follow)(i) for i in range(n_starts)))


def _make_grid(grid: str, n_points: int, budget: str | Callable[[int], int]) -> Grid:
    if grid == "adaptive":
        return AdaptiveGrid(n_points)
    if grid != "exact":
        raise ValueError(f"unknown grid {grid!r}; choose one of {', '.join(GRIDS)}")
    if callable(budget):
        return ExactPath(budget)
    if budget == "auto":
        return ExactPath(default_budget)
    if budget == "full":
        return ExactPath()
    raise ValueError(f"unknown budget {budget!r}; choose 'auto', 'full' or a function of the rank")


def _checked_ranks(
    shape: tuple[int, int], max_rank: int | None, min_rank: int, init: str | tuple[Any, Any]
) -> int:
    """The rank to start from, after checking both ends."""
    _check_positive(min_rank=min_rank, **({} if max_rank is None else {"max_rank": max_rank}))
    if not isinstance(init, str):
        columns = np.shape(init[0])[-1] if np.ndim(init[0]) else 0
        if max_rank not in (None, columns):
            raise ValueError(f"init has {columns} components but max_rank is {max_rank}")
        max_rank = columns
    elif max_rank is None:
        max_rank = max(default_max_rank(shape), min_rank)
    if max_rank > min(shape):
        warnings.warn(
            f"max_rank={max_rank} is more than min(X.shape)={min(shape)}, which no nonnegative rank "
            f"exceeds; the path starts at {min(shape)}",
            UserWarning,
            stacklevel=3,
        )
        max_rank = min(shape)
    if min_rank > max_rank:
        raise ValueError(f"min_rank={min_rank} is more than max_rank={max_rank}")
    return max_rank


def _check_positive(**values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
