r"""How well several factorisations of the same rank agree.

A component is the rank-one matrix :math:`U_jV_j^\top`; the cosine between two of them is the product of the
cosines of both columns, which treats X and its transpose alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform

from autonmf._types import Array

Factors = tuple[Array, Array]

AMBIGUOUS = (0.1, 0.9)
"""A pair that shares a cluster in between these shares of the runs is ambiguous (PAC)."""

ROUNDS = 20
"""Rounds of matching components to cluster centres, at most; two or three are usual."""


def cosines(first: Factors, second: Factors) -> Array:
    """Cosines between the components of two factorisations."""
    return np.asarray(np.prod([_unit(a).T @ _unit(b) for a, b in zip(first, second, strict=True)], axis=0))


def matched_cosine(runs: Sequence[Factors]) -> float:
    """The mean cosine of components matched one to one (Hungarian algorithm), over all pairs of runs."""
    similar = _by_run(runs)
    pairs = (similar[first, :, second] for first, second in combinations(range(len(runs)), 2))
    return float(np.mean([pair[linear_sum_assignment(pair, maximize=True)].mean() for pair in pairs]))


def component_clusters(runs: Sequence[Factors]) -> Array:
    """A label for each component of each run (runs x rank): clusters that hold one component of every run.

    As in NMFk: components are matched to the cluster centres by the Hungarian algorithm, and the centres (the
    mean similarity to a cluster's members) move until nothing changes. The first run seeds them.
    """
    similar = _by_run(runs)
    count, rank = similar.shape[:2]
    labels = _matched([similar[run, :, 0] for run in range(count)])
    for _ in range(ROUNDS):
        members = np.argsort(labels, axis=1)  # members[run, cluster] is the component of that run
        centres = np.stack(
            [similar[:, :, np.arange(count), members[:, c]].sum(axis=-1) for c in range(rank)], axis=-1
        )
        moved = _matched(list(centres))
        if (moved == labels).all():
            break
        labels = moved
    return labels


def silhouette(distances: Array, labels: Array) -> Array:
    """The silhouette width (b - a)/max(a, b) of each item, from a distance matrix.

    a is its mean distance to its own cluster, b that to the nearest other one; 0 for clusters of one
    (Rousseeuw, 1987).
    """
    member = labels[:, None] == np.unique(labels)[None, :]
    sums, sizes = distances @ member, member.sum(axis=0)
    own = member.argmax(axis=1)
    items = np.arange(len(labels))
    others = np.where(member, np.inf, sums / sizes)
    a = sums[items, own] / np.maximum(sizes[own] - 1, 1)
    b = others.min(axis=1)
    largest = np.maximum(a, b)
    width = np.divide(b - a, largest, out=np.zeros_like(a), where=largest > 0)
    return np.where(sizes[own] > 1, width, 0.0)


def component_silhouette(runs: Sequence[Factors]) -> float:
    """The least mean silhouette of a cluster of components, as in NMFk; 1 for rank one."""
    if runs[0][0].shape[1] == 1:
        return 1.0
    labels = component_clusters(runs).ravel()
    widths = silhouette(np.maximum(1.0 - _similarities(runs), 0.0), labels)
    return float(min(widths[labels == cluster].mean() for cluster in np.unique(labels)))


def dominant_components(run: Factors) -> Array:
    """For each row of X the component that contributes most to it: the largest U_ij‖V_j‖."""
    U, V = run
    return np.asarray(np.argmax(U * np.linalg.norm(V, axis=0), axis=1))


def consensus(labels: Sequence[Array]) -> Array:
    """The share of the runs in which two items have the same label (Monti et al., 2003)."""
    together = np.zeros((len(labels[0]), len(labels[0])))
    for run in labels:
        together += run[:, None] == run[None, :]
    return together / len(labels)


def cophenetic_correlation(shared: Array) -> float:
    """Correlation of 1 - consensus with its dendrogram by average linkage (Brunet et al., 2004).

    1 when every pair is always together or always apart.
    """
    distances = squareform(1.0 - shared, checks=False)
    if np.ptp(distances) == 0:
        return 1.0
    return float(cophenet(linkage(distances, "average"), distances)[0])


def ambiguous_share(shared: Array) -> float:
    """PAC: the share of pairs that are neither together nor apart (Șenbabaoğlu et al., 2014)."""
    pairs = shared[np.triu_indices_from(shared, k=1)]
    low, high = AMBIGUOUS
    return float(np.mean((pairs > low) & (pairs < high)))


def _similarities(runs: Sequence[Factors]) -> Array:
    """Cosines between all components of all runs, run by run."""
    stacked = tuple(np.hstack([run[side] for run in runs]) for side in (0, 1))
    return cosines((stacked[0], stacked[1]), (stacked[0], stacked[1]))


def _by_run(runs: Sequence[Factors]) -> Array:
    """The same indexed by run, component, run and component."""
    count, rank = len(runs), runs[0][0].shape[1]
    return _similarities(runs).reshape(count, rank, count, rank)


def _matched(similar: Sequence[Array]) -> Array:
    """Labels from similarities (component x cluster) of each run, every label once a run."""
    return np.array([linear_sum_assignment(run, maximize=True)[1] for run in similar])


def _unit(block: Array) -> Array:
    norms = np.linalg.norm(block, axis=0)
    return block / np.where(norms > 0, norms, 1.0)
