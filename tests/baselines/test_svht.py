"""Singular value hard thresholding: the published constants, the paper's Table 2, and simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.baselines import spectrum, svht
from autonmf.baselines.spectrum import (
    marchenko_pastur_median,
    median_factor,
    noise_level,
    singular_values,
    threshold_factor,
)
from autonmf.data import Stored, Streamed

BETAS = (1e-6, 0.017, 0.1, 0.5, 0.9, 0.9999, 1.0)


def as_matrix(stored: dict[str, np.ndarray]) -> Any:
    if "X" in stored:
        return stored["X"]
    parts = tuple(stored[name] for name in ("data", "indices", "indptr"))
    return sparse.csr_matrix(parts, shape=tuple(stored["shape"]))


def above_zero(n: int, m: int, signals: int, sigma: float, seed: int) -> np.ndarray:
    """A large mean, ``signals`` further components and Gaussian noise: positive without clipping."""
    rng = np.random.default_rng(seed)
    U, V = (
        np.linalg.qr(rng.standard_normal((n, signals)))[0],
        np.linalg.qr(rng.standard_normal((m, signals)))[0],
    )
    strength = 3.0 * sigma * (np.sqrt(n) + np.sqrt(m))
    return 50.0 + strength * U @ V.T + sigma * rng.standard_normal((n, m))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rank"), [("swimmer_noisy", 22), ("samson", 61), ("olivetti_faces", 114), ("pbmc3k", 665)]
)
def test_ranks_of_table_2(
    benchmark_data: Callable[[str], dict[str, np.ndarray]], name: str, rank: int
) -> None:
    assert svht(as_matrix(benchmark_data(name))).rank == rank


@pytest.mark.parametrize("beta", BETAS)
def test_median_halves_the_density(beta: float) -> None:
    """The density itself, summed by the trapezium rule on a grid that is fine at both ends."""
    low, high = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2
    x = low + (high - low) * np.sin(np.linspace(0, np.pi / 2, 2_000_001)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.nan_to_num(np.sqrt((high - x) * (x - low)) / (2 * np.pi * beta * x), posinf=0.0)
    share = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))])
    assert_allclose(share[-1], 1.0, atol=2e-3)  # at beta = 1 the density is infinite at zero
    median = marchenko_pastur_median(beta)
    assert low <= median <= high
    assert_allclose(np.interp(median, x, share / share[-1]), 0.5, atol=1e-3 if beta == 1.0 else 1e-6)


def test_median_of_a_wishart_matrix() -> None:
    n, m = 3000, 1200
    values = np.linalg.svd(np.random.default_rng(0).standard_normal((n, m)) / np.sqrt(n), compute_uv=False)
    assert_allclose(marchenko_pastur_median(m / n), np.median(values**2), rtol=2e-3)


@pytest.mark.parametrize("beta", [0.0, -0.1, 1.1, np.nan])
def test_ratio_out_of_range(beta: float) -> None:
    with pytest.raises(ValueError, match="beta"):
        marchenko_pastur_median(beta)


def test_published_constants() -> None:
    assert_allclose(threshold_factor(1.0), 4 / np.sqrt(3))
    assert_allclose(median_factor(1.0), 2.858, atol=5e-4)
    for beta in np.linspace(0.001, 1, 50):
        assert 1e-6 < abs(median_factor(beta) - cubic(beta)) < 0.016


def cubic(beta: float) -> float:
    """The approximation of ω that the article gives; good to 0.015."""
    return 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43


def test_the_cubic_approximation_misses(benchmark_data: Callable[[str], dict[str, np.ndarray]]) -> None:
    X = benchmark_data("samson")["X"]
    values = svht(X).evidence["singular_value"]
    assert np.sum(values > cubic(156 / 9025) * np.median(values)) == 60


@pytest.mark.parametrize(("n", "m"), [(300, 200), (150, 600), (250, 250)])
@pytest.mark.parametrize("known", [True, False])
def test_signal_in_noise(n: int, m: int, known: bool) -> None:
    sigma = 0.7
    for seed in range(3):
        X = above_zero(n, m, 3, sigma, seed)
        assert svht(X, noise=sigma if known else None).rank == 4  # the mean and three components
        assert_allclose(noise_level(singular_values_of(X), X.shape), sigma, rtol=0.03)


def singular_values_of(X: np.ndarray) -> np.ndarray:
    return np.linalg.svd(X, compute_uv=False)


def test_the_threshold_with_known_noise_by_hand() -> None:
    X = np.diag([10.0, 6.0, 4.7, 4.5, 1.0])
    # beta = 1: 4/sqrt(3) * sqrt(5) * 0.9 = 4.6476
    estimate = svht(X, noise=0.9)
    assert estimate.rank == 3
    assert_allclose(estimate.evidence["threshold"], 4 / np.sqrt(3) * np.sqrt(5) * 0.9)
    assert_array_equal(estimate.evidence["kept"], [True, True, True, False, False])
    assert estimate.plausible == (2, 3, 4)


def test_data_without_noise() -> None:
    X = np.random.default_rng(0).random((60, 3)) @ np.random.default_rng(1).random((3, 40))
    estimate = svht(X)
    assert estimate.rank == 3
    assert "linear rank" in estimate.warnings[0]


def test_nothing_above_the_threshold() -> None:
    estimate = svht(np.ones((5, 5)), noise=100.0)
    assert estimate.rank == 1
    assert "noise" in estimate.warnings[0]


@pytest.mark.parametrize("noise", [-1.0, np.nan])
def test_bad_noise(noise: float) -> None:
    with pytest.raises(ValueError, match="noise"):
        svht(np.ones((3, 3)), noise=noise)


@pytest.mark.parametrize("tail", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize("turned", [False, True])
def test_singular_values_to_full_accuracy(tail: float, turned: bool) -> None:
    rng = np.random.default_rng(0)
    P, Q = (np.linalg.qr(rng.standard_normal((size, 30)))[0] for size in (200, 30))
    wanted = np.concatenate([np.linspace(100, 10, 10), tail * np.linspace(2, 1, 20)])
    from autonmf.data import wrap

    X = (P * wanted) @ Q.T
    assert_allclose(singular_values(wrap(X.T if turned else X)), wanted, rtol=1e-4)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse_agree(easy: np.ndarray, kind: Any) -> None:
    X = np.where(easy > 1, easy, 0)
    assert_allclose(svht(kind(X)).evidence["singular_value"], svht(X).evidence["singular_value"])


def test_transposed(easy: np.ndarray) -> None:
    assert svht(easy).rank == svht(easy.T).rank


def test_singular_values_of_a_wide_file_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its columns come in blocks; zeros are zero to rounding errors of σ₁, not of its square."""
    monkeypatch.setattr(spectrum, "COLUMN_ENTRIES", 200)  # five blocks
    rng = np.random.default_rng(0)
    X = rng.random((20, 3)) @ rng.random((3, 50))
    found = singular_values(Streamed(Stored(X), X.dtype))
    expected = np.linalg.svd(X, compute_uv=False)
    assert_allclose(found, expected, atol=1e-13 * expected[0])
    assert svht(Streamed(Stored(X), X.dtype)).rank == 3
