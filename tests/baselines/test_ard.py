"""Automatic relevance determination: the posterior descends, and superfluous components are removed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize

from autonmf.baselines import ard_nmf
from autonmf.baselines.ard import Posterior, prior_constants
from autonmf.data import wrap
from autonmf.losses import FROBENIUS


def posterior_of(X: np.ndarray, dispersion: float = 0.05) -> Posterior:
    b, c = prior_constants(sum(X.shape), 5.0, float(X.mean()), 6)
    return Posterior(wrap(X), dispersion, b, c)


def value(posterior: Posterior, U: np.ndarray, V: np.ndarray, scales: np.ndarray) -> float:
    """The negative log posterior."""
    sizes = U.sum(axis=0) + V.sum(axis=0) + posterior.b
    loss = FROBENIUS.value(posterior.data, U, V) / posterior.dispersion
    return loss + float(np.sum(sizes / scales + posterior.c * np.log(scales)))


def start(X: np.ndarray, rank: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return tuple(np.asfortranarray(rng.random((size, rank))) for size in X.shape)


def test_easy_case(easy: np.ndarray) -> None:
    estimate = ard_nmf(easy, max_rank=10, random_state=0)
    relevance = estimate.evidence["relevance"]
    assert (relevance[:4] > 10).all()
    assert estimate.rank == 4
    assert (relevance[4:] < 1e-6).all()


def test_posterior_never_increases(low_rank: np.ndarray) -> None:
    posterior = posterior_of(low_rank)
    U, V = start(low_rank)
    scales = posterior.scales(U, V)
    values = [value(posterior, U, V, scales)]
    for _ in range(50):
        U, V, scales = posterior.step(U, V, scales)
        values.append(value(posterior, U, V, scales))
    assert (np.diff(values) <= 1e-9 * abs(values[0])).all()
    assert values[-1] < values[0]
    assert min(U.min(), V.min()) >= 0


def test_value_by_its_definition(low_rank: np.ndarray) -> None:
    posterior = posterior_of(low_rank)
    U, V = start(low_rank, 3)
    scales = np.array([0.3, 1.0, 2.0])
    wanted = np.sum((low_rank - U @ V.T) ** 2) / (2 * 0.05)
    n, m = low_rank.shape
    for j, scale in enumerate(scales):
        size, c = np.sum(U[:, j]) + np.sum(V[:, j]), n + m + 5 + 1
        wanted += (size + posterior.b) / scale + c * np.log(scale)
    assert_allclose(value(posterior, U, V, scales), wanted)


def test_scales_minimise(low_rank: np.ndarray) -> None:
    posterior = posterior_of(low_rank)
    U, V = start(low_rank, 3)
    best = posterior.scales(U, V)
    for j in range(3):
        for factor in (0.9, 1.1):
            other = best.copy()
            other[j] *= factor
            assert value(posterior, U, V, other) > value(posterior, U, V, best)


def test_a_block_converges_to_its_minimiser() -> None:
    """Updates of one block, again and again, against a general solver with bounds."""
    rng = np.random.default_rng(0)
    X = rng.random((7, 6))
    posterior = posterior_of(X)
    U, V = start(X, 3)
    scales = np.array([0.2, 0.05, 0.5])
    product, gram = X @ V, V.T @ V
    for _ in range(4000):
        U = posterior.update_block(U, product, gram, scales)
    found = minimize(
        lambda u: value(posterior, u.reshape(7, 3), V, scales), np.ones(21), bounds=[(0, None)] * 21,
        method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000},
    )  # fmt: skip
    assert_allclose(U, found.x.reshape(7, 3), atol=2e-3)
    assert value(posterior, U, V, scales) <= found.fun * (1 + 1e-6)


def test_prior_has_the_mean_of_x() -> None:
    """Method of moments: X drawn from the prior has the mean that b was made from."""
    rng = np.random.default_rng(0)
    shape, mean, rank = 30.0, 2.0, 5
    b, _ = prior_constants(100, shape, mean, rank)
    scales = 1.0 / rng.gamma(shape, 1.0 / b, size=(20_000, rank))
    u, v = (rng.exponential(scales) for _ in range(2))
    assert_allclose(np.sum(u * v, axis=1).mean(), mean, rtol=0.03)


def test_units_transposing_and_storage_do_not_matter(easy: np.ndarray) -> None:
    for X in (easy.T, 1e6 * easy, easy.astype(np.float32), sparse.csr_matrix(easy), sparse.csc_matrix(easy)):
        assert ard_nmf(X, max_rank=10, random_state=0).rank == 4


def test_more_noise_keeps_fewer(easy: np.ndarray) -> None:
    assert ard_nmf(easy, max_rank=8, noise=0.1, random_state=0).rank == 4
    heavy = ard_nmf(easy, max_rank=8, noise=100.0, random_state=0)
    assert heavy.rank == 1
    assert "removed" in heavy.warnings[0]


def test_nothing_switched_off(easy: np.ndarray) -> None:
    estimate = ard_nmf(easy, max_rank=3, random_state=0)
    assert estimate.rank == 3
    assert "max_rank" in estimate.warnings[-1]


def test_out_of_iterations(easy: np.ndarray) -> None:
    assert "max_iter" in ard_nmf(easy, max_rank=6, max_iter=2, random_state=0).warnings[0]


def test_data_without_noise() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)) @ rng.random((2, 30))
    assert ard_nmf(X, max_rank=5, random_state=0).rank >= 2


@pytest.mark.parametrize("given", [{"shape": 2.0}, {"max_rank": 0}, {"noise": -1.0}])
def test_what_is_refused(low_rank: np.ndarray, given: dict) -> None:
    with pytest.raises(ValueError, match=r"shape|max_rank|noise"):
        ard_nmf(low_rank, **given)
