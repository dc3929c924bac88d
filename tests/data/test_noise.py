"""The whitened spectrum against simulated noise, full singular value decompositions, and known ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import rank_path, select_rank
from autonmf.data import Data, as_data, equilibration, lead, noise, streamed, unit_scaling
from autonmf.data.noise import NOISE_LIMIT, TRACY_WIDOM, WhitenedSpectrum, noise_edge, whiten, whiten_counts
from autonmf.datasets import make_low_rank
from autonmf.path.view import root_sums

Matrix = np.ndarray
Draw = Callable[[np.random.Generator, Matrix], Matrix]


def equilibrate(data: Data) -> Data:
    """X in unit scale, with rows and columns of comparable norm, as a path sees it."""
    for choose in (unit_scaling, equilibration):
        data = choose(data).apply(data)
    return data


def spectrum_of(data: Data, rank: int = 15) -> WhitenedSpectrum:
    return whiten(data, lead(data, rank, np.random.default_rng(0)))


def whitened(X: Any, rank: int = 15) -> WhitenedSpectrum:
    return spectrum_of(equilibrate(as_data(X)), rank)


def uneven(X: Matrix, seed: int, size: float = 1.0) -> Matrix:
    """Rows and columns multiplied by lognormal numbers."""
    rng = np.random.default_rng(1000 + seed)
    rows, columns = (np.exp(size * rng.standard_normal(side)) for side in X.shape)
    return rows[:, None] * X * columns


# Noise alone

LAWS: dict[str, Draw] = {
    "normal": lambda rng, mean: mean * (1.0 + 0.2 * rng.standard_normal(mean.shape)),
    "Poisson": lambda rng, mean: rng.poisson(5.0 * mean).astype(float),
    "gamma": lambda rng, mean: mean * rng.gamma(4.0, 0.25, mean.shape),
    "uniform": lambda rng, mean: mean * rng.random(mean.shape),
}
"""Positive noise with a mean that is a product of rows and columns, and such a variance."""


@pytest.mark.parametrize("shape", [(120, 80), (60, 200)])
@pytest.mark.parametrize("law", LAWS)
def test_noise_has_no_direction_beyond_its_mean(law: str, shape: tuple[int, int]) -> None:
    counts = []
    for seed in range(20):
        mean = uneven(np.ones(shape), seed, 0.7)
        counts.append(whitened(LAWS[law](np.random.default_rng(seed), mean)).count_above())
    assert counts.count(1) >= 19, counts


@pytest.mark.parametrize("shape", [(20, 20), (60, 40), (100, 30), (30, 100), (80, 80)])
def test_the_edge_is_the_quantile_of_simulated_noise(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    largest = []
    for _ in range(600):
        E = rng.standard_normal(shape)
        largest.append(np.linalg.eigvalsh(E @ E.T if shape[0] < shape[1] else E.T @ E)[-1])
    assert_allclose(noise_edge(*map(np.array, shape)), np.quantile(largest, 0.95), rtol=0.02)


def test_the_quantile_of_tracy_and_widom() -> None:
    """0.9793 in tables of the law of order one (Johnstone 2001 rounds it to 0.98)."""
    assert abs(TRACY_WIDOM - 0.9793) < 1e-3


def test_a_spectrum_by_hand() -> None:
    """Two directions and noise: each ratio is one to the edge of what those before it leave."""
    squares = np.array([0.6, 0.3, 0.004, 0.003])
    found = WhitenedSpectrum((50, 30), squares)
    left = [1.0, 0.4, 0.1, 0.096]
    for k, ratio in enumerate(found.ratios):
        n, m = 50 - k, 30 - k
        a, b = math.sqrt(n - 0.5), math.sqrt(m - 0.5)
        edge = (a + b) ** 2 + 0.98 * (a + b) * (1 / a + 1 / b) ** (1 / 3)
        assert_allclose(ratio, squares[k] / (left[k] / (n * m) * edge))
    assert found.count_above() == 2
    assert found.count_above(found.ratios[0]) == 0
    assert found.count_above(0.999 * found.ratios[:2].min()) == 2
    assert WhitenedSpectrum((50, 30), np.array([0.7, 0.3, 0.0])).count_above() == 2
    assert_array_equal(WhitenedSpectrum((50, 30), np.array([0.7, 0.3, 0.0])).ratios[2:], 0.0)
    assert WhitenedSpectrum((50, 30), np.array([0.7, 0.3])).count_above() == 2, "none is known to be below"


# Scales


def noisy(rank: int, seed: int, shape: tuple[int, int] = (150, 100)) -> Matrix:
    """Low rank with normal noise of equal variance, shifted by nothing: entries are far above zero."""
    rng = np.random.default_rng(seed)
    low = rng.gamma(1.0, 1.0, (shape[0], rank)) @ rng.gamma(1.0, 1.0, (rank, shape[1])) + 2.0
    return low + 0.3 * rng.standard_normal(shape)


@pytest.mark.parametrize("seed", range(5))
def test_scales_of_rows_and_columns_do_not_matter(seed: int) -> None:
    """Equilibration starts the two at slightly different scales, and rounds end before they are the same."""
    X = noisy(3, seed)
    one, other = whitened(X), whitened(uneven(X, seed))
    assert one.count_above() == other.count_above() == 4  # with the constant
    assert_allclose(other.ratios[0], one.ratios[0], rtol=0.02)
    assert_allclose(other.ratios[:4], one.ratios[:4], rtol=0.05)


def test_a_factor_does_not_matter() -> None:
    X = noisy(3, 0)
    one = whitened(X)
    for power in (-300, -20, 300):  # even: rows and columns are divided by roots of the unit
        assert_array_equal(whitened(2.0**power * X).squares, one.squares)
    for factor in (1e-100, 0.3, 32.0, 1e100):
        assert_allclose(whitened(factor * X).squares, one.squares, rtol=1e-9)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_ratios_are_those_of_a_full_decomposition(
    seed: int, scaled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z, made from the scales that were found, has these singular values."""
    X = uneven(noisy(4, seed), seed) if scaled else noisy(4, seed)
    found = []
    last = noise._whiten
    monkeypatch.setattr(noise, "_whiten", lambda *args: found.append(last(*args)) or found[-1])
    data = equilibrate(as_data(X))
    spectrum = spectrum_of(data)
    scaling = found[-1].scaling
    Z = data.map_blocks(lambda block, _: (block.dense(), None), None)[0] / scaling.a / scaling.b.T
    squares = np.linalg.svd(Z, compute_uv=False) ** 2
    full = WhitenedSpectrum(Z.shape, squares / squares.sum())
    count = spectrum.count_above()
    assert count == full.count_above() == 5
    assert_allclose(spectrum.ratios[:count], full.ratios[:count], rtol=1e-3)
    variances = np.square(Z - _truncate(Z, count))
    for axis in (0, 1):  # what whitening is for
        means = variances.mean(axis=axis) / variances.mean()
        assert np.abs(means - 1.0).mean() < 0.15


def _truncate(Z: Matrix, rank: int) -> Matrix:
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    return np.asarray(U[:, :rank] * s[:rank] @ Vt[:rank])


# Components in noise

NOISES: dict[str, Draw] = {
    "white": lambda rng, low: low + 0.5 * rng.standard_normal(low.shape),
    "of rows": lambda rng, low: (
        low + 0.3 * np.exp(0.7 * rng.standard_normal((len(low), 1))) * rng.standard_normal(low.shape)
    ),
    "product": lambda rng, low: (
        low
        + 0.3
        * np.exp(0.5 * rng.standard_normal((len(low), 1)))
        * np.exp(0.5 * rng.standard_normal(low.shape[1]))
        * rng.standard_normal(low.shape)
    ),
    "Poisson": lambda rng, low: rng.poisson(low).astype(float),
}


@pytest.mark.parametrize("rank", [2, 5, 8])
@pytest.mark.parametrize("kind", NOISES)
def test_the_number_of_components(kind: str, rank: int) -> None:
    """Small counts have variances that are no products: what they add is near the edge, not clearly above."""
    right = 0
    limit = NOISE_LIMIT if kind == "Poisson" else 1.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        low = 3.0 * rng.gamma(0.5, 1.0, (200, rank)) @ rng.gamma(0.5, 1.0, (rank, 120)) + 0.01
        X = NOISES[kind](rng, low)
        data = as_data(X + max(0.0, -X.min()))
        expected = rank + (X.min() < 0)  # the shift is a direction, too
        right += spectrum_of(equilibrate(data)).count_above(limit) == expected
    assert right >= 9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [1, 2, 5, 9])
def test_exact_low_rank(rank: int, dtype: type) -> None:
    for seed in range(5):
        X = make_low_rank(60, 40, rank=rank, noise=0.0, random_state=seed)[0].astype(dtype)
        assert whitened(X).count_above() == np.linalg.matrix_rank(X) == rank


# Storage


def sparse_counts(seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    low = rng.gamma(0.3, 1.0, (300, 4)) @ rng.gamma(0.3, 1.0, (4, 150))
    return sparse.csr_array(rng.poisson(low).astype(float))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_data_are_not_made_dense(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = form(sparse_counts())
    dense = X.toarray()
    assert np.mean(dense == 0) > 0.5
    expected = whitened(dense)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, None)
    found = whitened(X)
    assert found.shape == expected.shape
    assert not expected.clipped
    assert_allclose(found.squares, expected.squares, rtol=1e-6)


@pytest.mark.parametrize("kind", ["hdf5", "floats"])
def test_streamed_data(kind: str, in_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "SMALL", 0)
    X = noisy(3, 0)
    data = as_data(in_file(kind, tmp_path, X))
    assert not hasattr(data, "T") or kind == "floats"
    found = spectrum_of(equilibrate(data))
    assert_allclose(found.squares, whitened(X).squares, rtol=1e-9)


def test_the_same_for_the_transpose() -> None:
    X = noisy(3, 0)
    options: dict[str, Any] = {"max_rank": 10, "equilibrate": True, "random_state": 0}
    one, other = (rank_path(matrix, **options).evidence.whitened for matrix in (X, X.T))
    assert_allclose(one.squares, other.squares, rtol=1e-9)


@pytest.mark.parametrize(("missing", "limit"), [(0.05, 1.0), (0.2, 2.0)])
def test_missing_entries(missing: float, limit: float) -> None:
    """Gaps are filled by a fit that has more components than X, which adds directions near the edge."""
    right = 0
    for seed in range(5):
        X = noisy(3, seed)
        X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
        path = rank_path(X, max_rank=10, missing="mask", equilibrate=True, random_state=0)
        right += path.evidence.whitened.count_above(limit) == 4
        assert select_rank(path, "auto").rank == 4
    assert right >= 4


def test_rows_and_columns_of_zeros_are_left_out() -> None:
    X = noisy(3, 0)
    padded = np.zeros((170, 130))
    padded[10:160, 5:105] = X
    found = whitened(padded)
    assert found.shape == X.shape
    assert found.count_above() == 4


# Anything at all


@settings(deadline=None, max_examples=150)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 8)),
        elements=st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(1e-6, 1e6)),
    ),
    copies=st.sampled_from([(1, 1), (2, 1), (1, 3)]),
)
def test_any_matrix_has_a_spectrum(X: Matrix, copies: tuple[int, int]) -> None:
    X = np.tile(X, copies)
    if not X.any():
        X[0, 0] = 1.0
    found = whitened(X, rank=3)
    assert np.isfinite(found.squares).all()
    assert (found.squares >= 0).all()
    assert np.isfinite(found.ratios).all()
    assert (found.ratios >= 0).all()
    assert 0 <= found.count_above() <= len(found.squares)
    assert found.shape == (np.count_nonzero(X.any(axis=1)), np.count_nonzero(X.any(axis=0)))


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (2, 2), (3, 40)])
def test_thin_matrices(shape: tuple[int, int]) -> None:
    found = whitened(np.random.default_rng(0).random(shape) + 0.1, rank=2)
    assert found.shape == shape
    assert np.isfinite(found.ratios).all()


# Counts that vary more than Poisson's


def negative_binomial(seed: int, phi: float = 0.1) -> tuple[Matrix, Matrix, Matrix]:
    """Counts of rank four with rows of very different size, and the factors of their mean."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(2, 4, (300, 1))
    U, V = sizes * rng.dirichlet(np.full(4, 0.5), 300), rng.dirichlet(np.full(80, 0.3), 4).T
    return rng.poisson(rng.gamma(1 / phi, phi * (U @ V.T))).astype(float), U, V


def test_scales_of_counts() -> None:
    """Their variances, divided by the squared scales, average to one in every row and column."""
    _, U, V = negative_binomial(0)
    scaling = noise._count_scales(U, V, 0.1)
    mean = U @ V.T
    variances = (mean + 0.1 * mean**2) / np.square(scaling.a * scaling.b.T)
    variances /= variances.mean()
    bounded = (scaling.a[:, 0] < 0.031, scaling.b[:, 0] < 0.031)  # nearly empty rows and columns are not
    assert bounded[0].sum() < 30
    assert_allclose(variances.mean(axis=1)[~bounded[0]], 1.0, atol=0.05)
    assert_allclose(variances.mean(axis=0)[~bounded[1]], 1.0, atol=0.05)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("seed", range(5))
def test_directions_of_negative_binomial_counts(seed: int, kind: Any) -> None:
    X, U, V = negative_binomial(seed)
    found = whiten_counts(as_data(kind(X)), U, V, 0.1, 15)
    assert found.count_above(NOISE_LIMIT) == 4
    scaling = noise._count_scales(U, V, 0.1)
    squares = np.linalg.svd(X / (scaling.a * scaling.b.T), compute_uv=False) ** 2
    assert_allclose(found.squares[:4], (squares / squares.sum())[:4], rtol=0.2)


def test_a_dispersion_that_is_understated() -> None:
    X, U, V = negative_binomial(0)
    assert whiten_counts(as_data(X), U, V, 0.005, 15).count_above(NOISE_LIMIT) == 4


@pytest.mark.parametrize("seed", range(4))
def test_directions_of_rounded_counts_with_very_different_totals(seed: int) -> None:
    """Rounding is the only noise, alike in all entries; after division by the totals it is not."""
    rng = np.random.default_rng(seed)
    U = rng.gamma(0.3, 1.0, (400, 12)) * 10.0 ** rng.uniform(2.5, 6.0, (400, 1))
    V = rng.gamma(0.3, 1.0, (12, 90)) * 10.0 ** rng.uniform(-2.0, 0.0, (1, 90))
    X = as_data(np.rint(U @ (V / V.sum(axis=1, keepdims=True))))
    found = spectrum_of(root_sums(X).apply(X), 35)
    assert found.count_above() == 12
    assert found.ratios[11] > 10.0


@pytest.mark.parametrize("transposed", [False, True])
def test_a_component_of_few_rows_is_not_hidden_by_their_scales(transposed: bool) -> None:
    """Five times the edge of the true noise; its rows would get scales that make it look like noise."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n, m = 500, 90
        rows = rng.choice(n, 4, replace=False)
        rare = np.zeros((n, m))
        rare[rows] = rng.gamma(1.0, 1.0, m)
        rare *= np.sqrt(5.0) * (np.sqrt(n) + np.sqrt(m)) / np.linalg.norm(rare)
        strong = 3.0 * rng.gamma(2.0, 0.5, (n, 2)) @ rng.gamma(0.5, 2.0, (2, m))
        X = strong + rare + rng.normal(size=(n, m)) + 10.0
        assert whitened(X.T if transposed else X).count_above(NOISE_LIMIT) == 4


def with_outliers(seed: int, count: int, transposed: bool = False) -> Matrix:
    """Three components and white noise on an offset, with outliers in single entries."""
    rng = np.random.default_rng(seed)
    n, m = 240, 150
    X = 10.0 + rng.gamma(1.0, 1.0, (n, 3)) @ rng.gamma(1.0, 1.0, (3, m)) + rng.normal(size=(n, m))
    X[rng.choice(n, count, replace=False), rng.choice(m, count, replace=False)] += rng.uniform(60, 200, count)
    return X.T if transposed else X


@pytest.mark.parametrize("transposed", [False, True])
def test_outliers_make_the_count_doubtful(transposed: bool) -> None:
    """A single entry far above the noise is a direction, and perhaps no component."""
    assert not any(whitened(with_outliers(seed, 0, transposed)).doubtful for seed in range(4))
    found = [whitened(with_outliers(seed, 6, transposed)).doubtful for seed in range(4)]
    assert sum(found) >= 3, "outliers of similar size share their directions, and may look like a component"
