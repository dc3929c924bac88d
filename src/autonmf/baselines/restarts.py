r"""Stability: the largest rank at which factorisations from random initialisations agree.

A component is the rank-one matrix :math:`U_jV_j^\top`; the cosine between two of them is the product of the
cosines of both columns, so X and its transpose are treated alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.data import Data, OpenedData
from autonmf.distributed import as_data
from autonmf.metrics import unit_columns
from autonmf.path import PathOptions, PathPoint, search
from autonmf.path.walk import Walker
from autonmf.selection import RankEstimate

Factors = tuple[Array, Array]

ROUNDS = 20
"""Maximum number of rounds of matching components to cluster centres; usually two or three are made."""

STATISTICS: dict[str, float] = {"silhouette": 0.75, "cophenetic": 0.99}
"""The statistics, and the value from which a rank is stable."""

MOST_ITEMS = 1000
"""Maximum number of rows in a consensus matrix; a random sample if there are more."""


def stability(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    statistic: str = "silhouette",
    n_runs: int = 10,
    threshold: float | None = None,
) -> RankEstimate:
    """Choose the largest rank at which factorisations from random initialisations agree.

    Parameters
    ----------
    X, max_rank, random_state
        As in `bic`.
    statistic : {"silhouette", "cophenetic"}
        "silhouette": the components of all runs are clustered, with one component of each run per cluster,
        and the lowest mean silhouette of a cluster is taken (NMFk; Alexandrov et al., 2013). "cophenetic":
        each row or column of X, whichever are fewer, is assigned to its largest component, and the consensus
        matrix of these clusterings is compared with its dendrogram (Brunet et al., 2004).
    n_runs : int
        Number of random initialisations. Each run is one path through all ranks.
    threshold : float, optional
        Value from which a rank is stable. Default: 0.75 for the silhouette, 0.99 for the cophenetic
        correlation.

    Returns
    -------
    RankEstimate
        Its evidence has the statistic and the median loss of the runs at each rank. ``plausible`` are all
        stable ranks.

    Notes
    -----
    Small ranks are often stable, too, and rank one always is, so that stability gives only an upper bound.
    Without noise, ranks that split true components can be stable.

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
    measure: Callable[[Sequence[Factors]], float] = component_silhouette
    if statistic == "cophenetic":
        measure = partial(consensus_correlation, np.sort(rng.permutation(min(data.shape))[:MOST_ITEMS]))
    ranks = np.array(sorted(by_rank))
    with one_pool():
        values = np.array([measure([(point.U, point.V) for point in by_rank[rank]]) for rank in ranks])
    stable = ranks[values >= limit]
    chosen = int(stable[-1]) if stable.size else int(ranks[np.argmax(values)])
    warnings = [] if stable.size else [f"no rank reaches {limit:g}: this is the most stable one"]
    if chosen == 1:
        warnings.append("rank one is always stable, and no larger rank is")
    if chosen == ranks[-1] and len(ranks) > 1:
        warnings.append(f"the largest rank, {chosen}, is still stable: raise max_rank")
    return RankEstimate(
        rank=chosen,
        rule=f"stability-{statistic}",
        why=f"{n_runs} random initialisations agree at rank {chosen} and at no larger one "
        f"({statistic} ≥ {limit:g})",
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
    """The solutions of all runs, at each rank that every run visited."""
    seed, *others = rng.spawn(n_runs)
    options = PathOptions(max_rank=max_rank, random_state=seed)
    first = search(OpenedData(data), options)
    last = first.ranks[-1]
    runs = [first.with_points().points]
    with one_pool():
        for other in others:  # on the same scaled and compressed matrix
            walker = Walker(first.opened, options, last, [other], time.monotonic(), None, first.view)
            solutions = walker.walk_all(keep_partial=False).solutions()
            runs.append(tuple(map(first.unscaler.to_point, solutions)))
    by_run = [{point.rank: point for point in points} for points in runs]
    visited = set.intersection(*map(set, by_run))
    return {rank: [points[rank] for points in by_run] for rank in visited}


def component_clusters(runs: Sequence[Factors]) -> Array:
    """Labels of the components of each run (runs x rank), with one component of every run per cluster.

    As in NMFk: components are matched to cluster centres by the Hungarian algorithm, and the centres are
    updated until the labels do not change. The components of the first run are the first centres.
    """
    count, rank = len(runs), runs[0][0].shape[1]
    similar = cosines(runs).reshape(count, rank, count, rank)
    labels = _match([similar[run, :, 0] for run in range(count)])
    for _ in range(ROUNDS):
        members = np.argsort(labels, axis=1)  # members[run, cluster] is the component of that run
        centres = np.stack(
            [similar[:, :, np.arange(count), members[:, c]].sum(axis=-1) for c in range(rank)], axis=-1
        )
        moved = _match(list(centres))
        if (moved == labels).all():
            break
        labels = moved
    return labels


def component_silhouette(runs: Sequence[Factors]) -> float:
    """The lowest mean silhouette of a cluster of components, as in NMFk; 1 for rank one."""
    from sklearn.metrics import silhouette_samples

    if runs[0][0].shape[1] == 1:
        return 1.0
    labels = component_clusters(runs).ravel()
    distances = np.maximum(1.0 - cosines(runs), 0.0)
    np.fill_diagonal(distances, 0.0)  # not exactly zero by rounding, or if a component is zero
    widths = silhouette_samples(distances, labels, metric="precomputed")
    return float(min(widths[labels == cluster].mean() for cluster in np.unique(labels)))


def consensus_correlation(sample: Array, runs: Sequence[Factors]) -> float:
    """The cophenetic correlation of a sample of the rows or columns of X, whichever are fewer."""
    shorter = [(U, V) if U.shape[0] <= V.shape[0] else (V, U) for U, V in runs]
    return cophenetic_correlation(consensus([dominant_components(run)[sample] for run in shorter]))


def dominant_components(run: Factors) -> Array:
    """For each row of X the component that contributes most to it: the largest U_ij‖V_j‖."""
    U, V = run
    return np.asarray(np.argmax(U * np.linalg.norm(V, axis=0), axis=1))


def consensus(labels: Sequence[Array]) -> Array:
    """The fraction of runs in which two items have the same label (Monti et al., 2003)."""
    return np.asarray(np.mean([run[:, None] == run for run in labels], axis=0))


def cophenetic_correlation(shared: Array) -> float:
    """Correlation of 1 - consensus with its dendrogram by average linkage (Brunet et al., 2004).

    1 when every pair is always together or always apart.
    """
    distances = squareform(1.0 - shared, checks=False)
    if np.ptp(distances) == 0:
        return 1.0
    return float(cophenet(linkage(distances, "average"), distances)[0])


def cosines(runs: Sequence[Factors]) -> Array:
    """Cosines between all components of all runs."""
    U, V = (unit_columns(np.hstack(factors)) for factors in zip(*runs, strict=True))
    return np.asarray((U.T @ U) * (V.T @ V))


def _match(similar: Sequence[Array]) -> Array:
    """Labels from the similarities (component x cluster) of each run; each label occurs once per run."""
    return np.array([linear_sum_assignment(run, maximize=True)[1] for run in similar])
