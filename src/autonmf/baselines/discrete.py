"""The discrete path of Section VI-C: λ = 0, and the rank changed by hand."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array, Seed
from autonmf.data import as_data
from autonmf.model.initial import initial_point
from autonmf.model.objective import Problem
from autonmf.path import PathOptions, RankPath, Visit, Workspace
from autonmf.path.result import BestByRank
from autonmf.solvers import Solver, make_solver, run
from autonmf.solvers.blocks import breakpoints

DIRECTIONS = ("decreasing", "increasing")

ATTEMPTS = 3
"""A component that vanishes on the way is replaced by a random one, and the rank solved again, so often."""


def discrete_path(
    X: Any,
    ranks: Iterable[int],
    direction: Literal["decreasing", "increasing"] = "decreasing",
    *,
    solver: str | Solver = "pasm",
    mu: float = 1e-8,
    delta: float = 1e-6,
    tol: float = 1e-4,
    max_iter: int = 2000,
    engine: str = "auto",
    scale: bool = True,
    time_budget: float | None = None,
    random_state: Seed = None,
) -> RankPath:
    """Factorise X at given ranks one after another, what the paper compares its λ-path with.

    From large to small, the components of least ‖U_j‖‖V_j‖ are dropped; from small to large, random ones are
    appended, of the size of the smallest at hand. Solver, kernels, engine and stop rule are those of
    ``rank_path(..., budget="full")``.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    ranks : iterable of int
        Ranks to visit, in any order.
    direction : {"decreasing", "increasing"}
        In which order they are visited.
    solver : {"pasm", "s-ipalm", "ipalm", "palm"} or Solver
        The algorithm; at λ = 0 PASM is HALS.
    mu, delta, tol, max_iter, engine, scale
        As in `rank_path`.
    time_budget : float, optional
        Seconds; when they are over the path ends where it is, with ``complete=False``.
    random_state : int, generator or None
        Seed.

    Returns
    -------
    RankPath
        λ is 0 throughout. Where components vanish by themselves again and again, X does not need them, and
        that point has a smaller rank than was asked for.

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
    order = sorted({int(rank) for rank in ranks}, reverse=direction == "decreasing")
    if not order or min(order) < 1 or max(order) > min(data.shape):
        raise ValueError(f"ranks must be between 1 and min(X.shape)={min(data.shape)}, got {order}")
    began = time.monotonic()
    options = PathOptions(
        max_rank=max(order), min_rank=min(order), solver=solver, budget="full", mu=mu, delta=delta, tol=tol,
        max_iter=max_iter, engine=engine, scale=scale, time_budget=time_budget, random_state=random_state,
    )  # fmt: skip
    deadline = math.inf if time_budget is None else began + time_budget
    start, sketch = as_generator(random_state).spawn(2)
    best, visits = BestByRank(), []
    with one_pool():
        workspace = Workspace.of(data, scale=scale).with_engine(engine, max(order), sketch)
        problem = Problem(workspace.matrix, mu=mu, delta=delta)
        chosen = make_solver(solver).plateau()
        U, V = initial_point(problem.data, order[0], "random", start)
        for rank in order:
            spent = 0
            for _ in range(ATTEMPTS):
                U, V = _resized(U, V, rank, start)
                result = run(chosen, chosen.init(problem, U, V), options.stopping, deadline=deadline)
                state = result.state.balanced().compact()
                if state.rank == 0:
                    raise ValueError(options.too_heavy)
                U, V, spent = state.U, state.V, spent + result.n_iter
                if state.rank == rank or result.reason == "time":
                    break
            ahead = breakpoints(problem, U, state.XV, state.gram_V)
            point = workspace.point(0.0, replace(result, state=state, n_iter=spent))
            best.add(point)
            visits.append(
                Visit(
                    start=0,
                    lam=0.0,
                    rank=state.rank,
                    loss=point.loss,
                    n_iter=spent,
                    seconds=time.monotonic() - began,
                    reason=result.reason,
                    next_lam=float(ahead.min()) * workspace.scale**2,
                )
            )
            if result.reason == "time":
                break
        leading = workspace.spectral_norm
    return RankPath(
        points=best.points,
        visits=tuple(visits),
        shape=data.shape,
        squared_norm=data.squared_norm(),
        spectral_norm=leading,
        mu=mu * workspace.scale,
        delta=delta * workspace.scale,
        complete=len(visits) == len(order),
        settings=options.settings() | {"grid": f"discrete-{direction}", "engine": workspace.engine},
    )


def _resized(U: Array, V: Array, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Of balanced factors the strongest components, or all and random ones of the size of the weakest."""
    norms = np.linalg.norm(U, axis=0)
    strongest = np.argsort(-norms, kind="stable")[:rank]
    missing = rank - len(strongest)

    def of_rank(block: Array) -> Array:
        fresh = rng.random((missing, block.shape[0])).T
        fresh *= norms.min() / np.linalg.norm(fresh, axis=0)
        return np.asfortranarray(np.hstack([block[:, strongest], fresh]), dtype=block.dtype)

    return of_rank(U), of_rank(V)
