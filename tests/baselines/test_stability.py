"""Agreement between runs: each statistic against SciPy, its definition or brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_samples

from autonmf.baselines import stability
from autonmf.baselines.restarts import (
    component_clusters,
    component_silhouette,
    consensus,
    cophenetic_correlation,
    cosines,
    dominant_components,
)

STATISTICS = ("silhouette", "cophenetic")


def runs_around(noise: float, seed: int = 0, *, n_runs: int = 5, rank: int = 4) -> list[tuple]:
    """Permuted, rescaled and perturbed copies of one factorisation."""
    rng = np.random.default_rng(seed)
    U, V = rng.random((12, rank)), rng.random((9, rank))
    runs = []
    for _ in range(n_runs):
        order, scale = rng.permutation(rank), rng.uniform(0.1, 10, rank)
        near = [block + noise * rng.random(block.shape) for block in (U, V)]
        runs.append((near[0][:, order] * scale, near[1][:, order] / scale**2))
    return runs


def test_cosine_of_components_is_that_of_their_matrices() -> None:
    first, second = runs = runs_around(0.5, n_runs=2)
    for i in range(4):
        for j in range(4):
            a, b = (np.outer(run[0][:, k], run[1][:, k]) for run, k in ((first, i), (second, j)))
            wanted = np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)
            assert_allclose(cosines(runs)[i, 4 + j], wanted)


def test_clusters_hold_one_component_of_each_run() -> None:
    for noise in (0.0, 0.3, 5.0):
        labels = component_clusters(runs_around(noise))
        assert_array_equal(np.sort(labels, axis=1), np.tile(np.arange(4), (5, 1)))


def test_clusters_find_the_permutation() -> None:
    rng = np.random.default_rng(1)
    U, V = np.eye(6)[:, :4] + 0.05 * rng.random((6, 4)), rng.random((5, 4))
    orders = [rng.permutation(4) for _ in range(6)]
    labels = component_clusters([(U[:, order], V[:, order]) for order in orders])
    for order, run in zip(orders, labels, strict=True):
        assert_array_equal(run, np.argsort(orders[0])[order])


def test_component_silhouette_is_the_least_of_the_clusters() -> None:
    runs = runs_around(0.4)
    labels = component_clusters(runs).ravel()
    distances = np.maximum(1 - cosines(runs), 0)
    np.fill_diagonal(distances, 0)
    widths = silhouette_samples(distances, labels, metric="precomputed")
    wanted = min(widths[labels == cluster].mean() for cluster in range(4))
    assert_allclose(component_silhouette(runs), wanted, atol=1e-6)
    assert component_silhouette(runs_around(0.0)) > 0.999
    assert component_silhouette(runs_around(0.0, rank=1)) == 1.0


def test_dominant_component_contributes_most() -> None:
    U, V = np.array([[1.0, 2.0], [5.0, 1.0]]), np.array([[3.0, 0.1], [4.0, 0.0]])
    # Norms of V: 5 and 0.1. Rows: 5 against 0.2, 25 against 0.1.
    assert_array_equal(dominant_components((U, V)), [0, 0])
    assert_array_equal(dominant_components((U, V[:, ::-1])), [1, 1])


def test_consensus_by_brute_force() -> None:
    labels = np.random.default_rng(0).integers(3, size=(7, 10))
    shared = consensus(list(labels))
    for i in range(10):
        for j in range(10):
            assert_allclose(shared[i, j], np.mean([run[i] == run[j] for run in labels]))


def test_cophenetic_correlation_is_that_of_scipy() -> None:
    labels = np.random.default_rng(0).integers(3, size=(7, 20))
    shared = consensus(list(labels))
    distances = squareform(1 - shared)
    wanted, _ = cophenet(linkage(distances, method="average"), distances)
    assert_allclose(cophenetic_correlation(shared), wanted)


def test_perfect_consensus() -> None:
    shared = consensus([np.array([0, 0, 1, 1, 2])] * 4)
    assert_allclose(cophenetic_correlation(shared), 1.0)
    assert cophenetic_correlation(np.ones((4, 4))) == 1.0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_easy_case(easy: np.ndarray, statistic: str) -> None:
    estimate = stability(easy, max_rank=8, statistic=statistic, n_runs=6, random_state=0)
    assert estimate.rank == 4
    assert estimate.rule == f"stability-{statistic}"
    values = estimate.evidence["stability"]
    assert_array_equal(estimate.evidence["rank"], np.arange(1, 9))
    assert_allclose(values[0], 1.0, atol=1e-6)
    assert values[3] > 0.98
    assert values[4] < values[3]


def test_sparse_and_transposed(low_rank: np.ndarray) -> None:
    given = {"max_rank": 5, "n_runs": 4, "random_state": 0}
    for X in (low_rank, low_rank.T, sparse.csr_matrix(low_rank), sparse.csc_matrix(low_rank)):
        assert stability(X, **given).rank == 3


def test_threshold(easy: np.ndarray) -> None:
    estimate = stability(easy, max_rank=6, n_runs=4, threshold=1.1, random_state=0)
    assert "no rank reaches" in estimate.warnings[0]
    estimate = stability(easy, max_rank=6, n_runs=4, threshold=-1.0, random_state=0)
    assert estimate.rank == 6
    assert "max_rank" in estimate.warnings[0]


def test_a_seed_is_an_answer(low_rank: np.ndarray) -> None:
    first, again = (stability(low_rank, max_rank=5, n_runs=3, random_state=7).evidence for _ in range(2))
    assert_array_equal(first["stability"], again["stability"])


@pytest.mark.parametrize("given", [{"statistic": "amari"}, {"n_runs": 1}, {"max_rank": 0}])
def test_what_is_refused(low_rank: np.ndarray, given: dict) -> None:
    with pytest.raises(ValueError, match=r"statistic|runs|max_rank"):
        stability(low_rank, **given)
