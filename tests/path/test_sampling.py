"""A path on a sample of the rows of a tall X."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition import NMF

from autonmf import AutoNMF, rank_path
from autonmf._threads import one_pool
from autonmf.data import as_data, lead
from autonmf.datasets import make_low_rank
from autonmf.path.sampling import _find_probabilities, draw_sample


@pytest.fixture(scope="module")
def tall() -> np.ndarray:
    return make_low_rank(20000, 30, rank=4, noise=0.2, random_state=0)[0]


def draw(X: np.ndarray, seed: int = 0):
    with one_pool():
        data = as_data(X)
        return draw_sample(data, lead(data, 15, np.random.default_rng(0)), np.random.default_rng(seed))


@pytest.mark.parametrize("transposed", [False, True])
def test_the_rank_and_a_loss_as_low_as_scikit_learns(tall: np.ndarray, transposed: bool) -> None:
    X = np.ascontiguousarray(tall.T) if transposed else tall
    model = AutoNMF(random_state=0).fit(X)
    assert model.n_components_ == 4
    best = min(
        NMF(4, init="random", tol=1e-6, max_iter=500, random_state=seed).fit(X).reconstruction_err_
        for seed in range(2)
    )
    assert model.reconstruction_err_ <= best * (1 + 5e-4)


def test_a_sparse_matrix_and_a_given_rank(tall: np.ndarray) -> None:
    X = np.where(tall < 1.0, 0.0, tall)
    dense = AutoNMF(5, random_state=0).fit(X)
    compressed = AutoNMF(5, random_state=0).fit(sparse.csr_array(X))
    assert dense.n_components_ == compressed.n_components_ == 5
    assert_allclose(dense.reconstruction_err_, compressed.reconstruction_err_, rtol=1e-3)


def test_losses_and_products_of_a_sample_are_estimates_without_bias(tall: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    U, V = rng.random((len(tall), 3)), rng.random((30, 3))
    true = np.square(tall - U @ V.T).sum()
    losses, products = [], []
    for seed in range(20):
        sample = draw(tall, seed)
        rows = sample.view.scaled.X
        weights = 1.0 / np.sqrt(sample.probabilities)[:, None]
        assert_allclose(rows, tall[sample.taken] * weights)
        losses.append(np.square(rows - weights * U[sample.taken] @ V.T).sum())
        products.append(rows.T @ rows)
    assert_allclose(np.mean(losses), true, rtol=0.02)
    assert_allclose(np.mean(products, axis=0), tall.T @ tall, rtol=0.06)


def test_a_row_that_has_a_direction_to_itself_is_always_taken(tall: np.ndarray) -> None:
    X = tall.copy()
    X[123] = 0.0
    X[123, 7] = 1e4
    assert all(draw(X, seed).taken[123] for seed in range(20))


def test_probabilities() -> None:
    importance = np.array([1000.0, 10.0, *np.ones(998)])
    probabilities = _find_probabilities(importance, 100)
    assert probabilities[0] == 1.0
    assert_allclose(probabilities.sum(), 100, rtol=1e-3)
    assert_allclose(probabilities[1], 10 * probabilities[2])
    assert_allclose(_find_probabilities(np.ones(10), 10), 1.0)


def test_what_a_sample_lacks_is_noticed_and_found() -> None:
    """A component whose rows were not drawn stands out in all rows, and is in a larger sample."""
    X = make_low_rank(30000, 30, rank=4, noise=0.1, random_state=1)[0]
    X[:40] += 5.0 * np.random.default_rng(0).random((40, 1)) * (np.arange(30) < 3)
    sample = draw(X)
    with one_pool():
        fitted = rank_path(X[40:], max_rank=8, random_state=0).at_rank(5).V
        everything = rank_path(X, max_rank=8, n_starts=3, random_state=0).at_rank(5).V
        without = draw(X[40:])
        lacking = type(sample)(
            sample.whole, sample.leading, sample.importance, sample.taken, sample.probabilities, without.view
        )
        assert not lacking.shows_all(fitted)
        assert sample.shows_all(everything)
        larger = sample.enlarge(fitted, np.random.default_rng(0))
    assert larger is not None
    assert larger.taken.sum() == pytest.approx(2 * sample.taken.sum(), rel=0.1)
    assert larger.taken[:40].mean() > 0.9


def test_the_path_has_all_rows_and_is_that_of_X(tall: np.ndarray) -> None:
    X = tall.copy()
    model = AutoNMF(random_state=0, max_rank=6).fit(X)
    X[:] = 0.0  # the owner may change it
    path = model.path_
    assert_array_equal(path.ranks, np.arange(1, 7))
    for point in path.points:
        assert point.U.shape == (20000, point.rank)
        loss = 0.5 * np.square(tall - point.U.astype(float) @ point.V.astype(float).T).sum()
        assert_allclose(point.loss, loss, rtol=1e-4)
    assert np.all(np.diff(path.losses) <= 0)
    wanted = rank_path(tall, max_rank=6, equilibrate=True, random_state=0)
    assert_allclose(path.losses, wanted.losses, rtol=1e-4)


def test_the_same_bits_for_the_same_seed(tall: np.ndarray) -> None:
    first, second = (AutoNMF(random_state=3).fit(tall) for _ in range(2))
    assert_array_equal(first.components_, second.components_)


def test_rows_fit_the_components_of_every_rank_nearly_as_well_as_they_can() -> None:
    """Also above the true rank, where components are nearly collinear; SciPy solves some rows exactly."""
    rng = np.random.default_rng(0)
    X = rng.random((20000, 4)) @ rng.random((4, 30))
    X = np.maximum(X + 0.3 * X.std() * rng.standard_normal(X.shape), 0.0)
    path = AutoNMF(random_state=0).fit(X).path_
    some = rng.choice(len(X), 200, replace=False)
    for rank in (2, 4, 10, 15):
        point = path.at_rank(rank)
        V = point.V.astype(float)
        found = np.square(X[some] - point.U[some] @ V.T).sum()
        best = sum(nnls(V, X[i])[1] ** 2 for i in some)
        assert found <= 1.03 * best
