"""Stability: a rank is believed if random starts agree on its components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array, Seed
from autonmf.baselines.agreement import (
    Factors,
    ambiguous_share,
    component_silhouette,
    consensus,
    cophenetic_correlation,
    dominant_components,
    matched_cosine,
)
from autonmf.data import Data, as_data
from autonmf.model.initial import initial_point
from autonmf.model.objective import Problem
from autonmf.path import PathOptions, PathPoint, Workspace, explore
from autonmf.selection import RankEstimate
from autonmf.solvers import make_solver, run

STATISTICS: dict[str, float] = {"cosine": 0.9, "cophenetic": 0.99, "pac": 0.9, "silhouette": 0.75}
"""What is measured, and from where on a rank counts as stable."""

MOST_ITEMS = 1000
"""Rows in a consensus matrix, at most; a random sample of them if there are more."""


def stability(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    statistic: str = "silhouette",
    n_runs: int = 10,
    threshold: float | None = None,
) -> RankEstimate:
    """The largest rank at which factorisations from random starts agree.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    max_rank : int, optional
        Where the paths start. Default: min(⌈min(n, m)/2⌉, 50).
    random_state : int, generator or None
        Seed.
    statistic : {"silhouette", "cosine", "cophenetic", "pac"}
        "cosine": mean cosine of matched components, over pairs of runs. "silhouette": components of all runs
        are clustered, one of each run a cluster, and the least mean silhouette of a cluster counts (NMFk;
        Alexandrov et al., 2013). "cophenetic" and "pac": each row or column of X, whichever are fewer, goes
        with its largest component; the consensus matrix of these clusterings is compared with its dendrogram
        (Brunet et al., 2004), or 1 - PAC is taken, PAC being the share of pairs that are neither together nor
        apart (Șenbabaoğlu et al., 2014).
    n_runs : int
        Random starts. Each follows a whole path, so that all ranks cost one path a run.
    threshold : float, optional
        From where on a rank is stable. Default: 0.75 for the silhouette, 0.9 for cosine and PAC, 0.99 for the
        cophenetic correlation.

    Returns
    -------
    RankEstimate
        With the statistic and the median loss of the runs at each rank. ``plausible`` are all stable ranks.

    Notes
    -----
    Small ranks are often stable too, and rank one always is: stability alone bounds the rank from above. Data
    without noise can be stable at ranks that split true components.

    Examples
    --------
    >>> from autonmf.baselines import stability
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> stability(X, max_rank=6, n_runs=5, random_state=0).rank
    3
    """
    data = as_data(X)
    if statistic not in STATISTICS:
        raise ValueError(f"unknown statistic {statistic!r}; choose one of {', '.join(STATISTICS)}")
    if n_runs < 2:
        raise ValueError(f"stability needs at least two runs, got n_runs={n_runs}")
    limit = STATISTICS[statistic] if threshold is None else float(threshold)
    rng = as_generator(random_state)
    by_rank = _runs_by_rank(data, max_rank, n_runs, rng)
    measure = _measure(statistic, data.shape, rng)
    ranks = np.array(sorted(by_rank))
    with one_pool():
        values = np.array([measure([(point.U, point.V) for point in by_rank[rank]]) for rank in ranks])
    stable = ranks[values >= limit]
    chosen = int(stable[-1]) if stable.size else int(ranks[np.argmax(values)])
    warnings = [] if stable.size else [f"no rank reaches {limit:g}: the most stable one is given"]
    if chosen == 1:
        warnings.append("rank one is always stable: nothing beyond it is")
    if chosen == ranks[-1] and len(ranks) > 1:
        warnings.append(f"the largest rank, {chosen}, is still stable: raise max_rank")
    return RankEstimate(
        rank=chosen,
        rule=f"stability-{statistic}",
        why=f"{chosen} is the largest rank on which {n_runs} random starts agree ({statistic} ≥ {limit:g})",
        evidence={
            "rank": ranks,
            "stability": values,
            "loss": np.array([np.median([point.loss for point in by_rank[rank]]) for rank in ranks]),
        },
        plausible=tuple(int(rank) for rank in stable) or (chosen,),
        warnings=tuple(warnings),
    )


def _runs_by_rank(
    data: Data, max_rank: int | None, n_runs: int, rng: np.random.Generator
) -> dict[int, list[PathPoint]]:
    """The solutions of every run, at each rank that all runs visited."""
    first, *others = rng.spawn(n_runs)
    options = PathOptions(max_rank=max_rank, random_state=first)
    exploration = explore(data, options)
    path, workspace = exploration.path, exploration.workspace
    with one_pool():
        runs = [path.points, *(_follow(workspace, options, int(path.ranks[-1]), start) for start in others)]
    found: dict[int, dict[int, PathPoint]] = {}
    for index, points in enumerate(runs):
        for point in points:
            found.setdefault(point.rank, {})[index] = point
    return {rank: list(by_run.values()) for rank, by_run in found.items() if len(by_run) == n_runs}


def _follow(
    workspace: Workspace, options: PathOptions, max_rank: int, rng: np.random.Generator
) -> tuple[PathPoint, ...]:
    """One more path on a matrix that is prepared already."""
    problem = Problem(workspace.matrix, mu=options.mu, delta=options.delta)
    U, V = initial_point(problem.data, max_rank, "random", rng)
    stops = options.make_grid().follow(
        make_solver(options.solver), problem, U, V, options.stopping,
        lambda solver, state, stopping, _: run(solver, state, stopping), 1,
    )  # fmt: skip
    return tuple(workspace.point(stop.lam, stop.run) for stop in stops)


def _measure(
    statistic: str, shape: tuple[int, int], rng: np.random.Generator
) -> Callable[[Sequence[Factors]], float]:
    """The statistic as a function of the factors of all runs at one rank."""
    if statistic == "cosine":
        return matched_cosine
    if statistic == "silhouette":
        return component_silhouette
    size = min(shape)
    sample = np.sort(rng.permutation(size)[:MOST_ITEMS])

    def clustered(runs: Sequence[Factors]) -> Array:
        shorter = [(U, V) if U.shape[0] <= V.shape[0] else (V, U) for U, V in runs]
        return consensus([dominant_components(run)[sample] for run in shorter])

    if statistic == "cophenetic":
        return lambda runs: cophenetic_correlation(clustered(runs))
    return lambda runs: 1.0 - ambiguous_share(clustered(runs))
