"""The discrete path of Section VI-C of the paper: λ = 0, and the rank set explicitly."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.distributed import as_data
from autonmf.losses import FROBENIUS, Problem
from autonmf.path import PathOptions, RankPath, Visit, prepare
from autonmf.path.grids import breakpoints
from autonmf.path.unscale import Unscaler
from autonmf.path.walk import Solution, Walked
from autonmf.solvers import Solver, run

DIRECTIONS = ("decreasing", "increasing")

ATTEMPTS = 3
"""Maximum number of runs at a rank: components that vanish are replaced by random ones."""


def discrete_path(
    X: Any,
    ranks: Iterable[int],
    direction: Literal["decreasing", "increasing"] = "decreasing",
    *,
    solver: str | Solver = PathOptions.solver,
    mu: float = PathOptions.mu,
    delta: float = PathOptions.delta,
    tol: float = PathOptions.tol,
    max_iter: int = PathOptions.max_iter,
    engine: str = PathOptions.engine,
    scale: bool = PathOptions.scale,
    time_budget: float | None = None,
    random_state: Seed = None,
) -> RankPath:
    """Factorise X at given ranks one after another; the paper compares its λ-path with this.

    When the rank decreases, the components with the smallest ‖U_j‖‖V_j‖ are dropped; when it increases,
    random ones are appended, as large as the smallest component. Solver, kernels, engine and stopping
    criterion are those of ``rank_path(..., budget="full")``.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    ranks : iterable of int
        Ranks to visit, in any order.
    direction : {"decreasing", "increasing"}
        The order in which they are visited.
    solver : {"auto", "hals", "pasm", "s-ipalm", "ipalm", "palm"} or Solver
        The algorithm; "auto" is HALS.
    mu, delta, tol, max_iter, engine, scale
        As in `rank_path`.
    time_budget : float, optional
        Seconds after which the path ends, with ``complete=False``.
    random_state : int, generator or None
        Seed.

    Returns
    -------
    RankPath
        λ is 0 throughout. If components vanish repeatedly, X does not need them, and the point has a smaller
        rank than requested.

    Examples
    --------
    >>> from autonmf.baselines import discrete_path
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> discrete_path(X, range(2, 6), "increasing", random_state=0).ranks.tolist()
    [2, 3, 4, 5]
    """
    data = as_data(X)
    if direction not in DIRECTIONS:
        raise ValueError(f"unknown direction {direction!r}; choose one of {', '.join(DIRECTIONS)}")
    order = check_ranks(ranks, data.shape)[:: -1 if direction == "decreasing" else 1]
    began = time.monotonic()
    options = PathOptions(
        max_rank=max(order), min_rank=min(order), solver=solver, budget="full", mu=mu, delta=delta, tol=tol,
        max_iter=max_iter, engine=engine, scale=scale, time_budget=time_budget, random_state=random_state,
    )  # fmt: skip
    deadline = math.inf if time_budget is None else began + time_budget
    start, sketch = as_generator(random_state).spawn(2)
    walked = Walked()
    with one_pool():
        view = prepare(data, options, max(order), sketch)
        unit = view.scaling.unit
        problem = Problem(view.matrix, mu=mu, delta=delta)
        chosen = options.make_solver()
        U, V = FROBENIUS.initialize(problem.data, order[0], "random", start)
        for rank in order:
            spent = 0
            for _ in range(ATTEMPTS):
                U, V = _resize(U, V, rank, start)
                result = run(chosen, chosen.init(problem, U, V), options.stopping, deadline=deadline)
                state = result.state.balance().compact()
                if state.rank == 0:
                    raise ValueError(options.too_heavy)
                U, V, spent = state.U, state.V, spent + result.n_iter
                if state.rank == rank or result.reason == "time":
                    break
            ahead = breakpoints(problem, U, state.XV, state.gram_V)
            loss = view.evaluate(U, V) if view.is_single else state.loss
            visit = Visit(
                start=0,
                lam=0.0,
                rank=state.rank,
                loss=loss * unit**2,
                n_iter=spent,
                seconds=time.monotonic() - began,
                reason=result.reason,
                next_lam=float(ahead.min()) * unit**2,
            )
            walked.add(Solution(U, V, loss, 0.0, spent), visit)
            if result.reason == "time":
                break
        unscaler = Unscaler(view, view.scaling, mu)
        points = tuple(map(unscaler.to_point, walked.solutions()))
        rank_one_loss, energy = (value * view.loss_unit for value in (view.rank_one[2], view.energy))
    return RankPath(
        points=points,
        visits=tuple(walked.visits),
        shape=data.shape,
        squared_norm=data.squared_norm(),
        rank_one_loss=rank_one_loss,
        energy=energy,
        mu=mu * unit,
        delta=delta * unit,
        complete=len(walked.visits) == len(order),
        settings=options.settings() | {"grid": f"discrete-{direction}", "engine": view.engine},
    )


def _resize(U: Array, V: Array, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The largest components of balanced factors, or all of them and random ones as large as the smallest."""
    norms = np.linalg.norm(U, axis=0)
    strongest = np.argsort(-norms, kind="stable")[:rank]
    missing = rank - len(strongest)

    def of_rank(block: Array) -> Array:
        fresh = rng.random((missing, block.shape[0])).T
        fresh *= norms.min() / np.linalg.norm(fresh, axis=0)
        return np.asfortranarray(np.hstack([block[:, strongest], fresh]), dtype=block.dtype)

    return of_rank(U), of_rank(V)


def check_ranks(ranks: Iterable[int], shape: tuple[int, int]) -> list[int]:
    """The ranks, increasing, if X can have all of them."""
    wanted = sorted({int(rank) for rank in ranks})
    if not wanted or wanted[0] < 1 or wanted[-1] > min(shape):
        raise ValueError(f"ranks must be between 1 and min(X.shape)={min(shape)}, got {wanted}")
    return wanted
