"""Noise that was clipped at zero: recognised where it was, undone, and left alone where zeros are zeros."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from autonmf.data import Data, Stored, as_data, equilibration, lead, noise, streamed, unit_scaling
from autonmf.data.dense import Dense
from autonmf.data.noise import Unclipped, WhitenedSpectrum, draw_half_normal, unclip, whiten
from autonmf.datasets import load_swimmer

Matrix = np.ndarray


def whitened(X: Any) -> WhitenedSpectrum:
    return spectrum_of(as_data(X))


def spectrum_of(data: Data) -> WhitenedSpectrum:
    for choose in (unit_scaling, equilibration):
        data = choose(data).apply(data)
    return whiten(data, lead(data, 15, np.random.default_rng(0)))


def clipped(rank: int, seed: int, sigma: float = 0.5, shape: tuple[int, int] = (200, 120)) -> Matrix:
    """Sparse components, and normal noise clipped at zero."""
    rng = np.random.default_rng(seed)
    U, V = (rng.gamma(1.0, 1.0, (side, rank)) * (rng.random((side, rank)) < 0.4) for side in shape)
    return np.maximum(U @ V.T + sigma * rng.standard_normal(shape), 0.0)


@pytest.mark.parametrize("rank", range(2, 9))
def test_clipped_noise_is_undone(rank: int) -> None:
    spectra = [whitened(clipped(rank, seed)) for seed in range(8)]
    counts = [spectrum.count_above() for spectrum in spectra if spectrum.clipped]
    assert counts.count(rank) >= 7, counts


@pytest.mark.parametrize("rank", [2, 5])
def test_rounded_noise_is_undone(rank: int) -> None:
    """Integers, with a standard deviation of three."""
    spectra = [whitened(np.rint(6.0 * clipped(rank, seed))) for seed in range(5)]
    assert all(spectrum.clipped for spectrum in spectra)
    assert [spectrum.count_above() for spectrum in spectra].count(rank) >= 4


@pytest.mark.parametrize("rank", [2, 4])
def test_what_clipping_adds_without_it(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of clipped noise is a direction that is no component: that is why it is undone."""
    monkeypatch.setattr(noise, "_undo_clipping", lambda data, found: None)
    assert min(whitened(clipped(rank, seed)).count_above() for seed in range(4)) > rank


@pytest.mark.parametrize("shape", [(100, 60), (60, 100), (300, 20)])
def test_clipped_noise_alone(shape: tuple[int, int]) -> None:
    for seed in range(5):
        found = whitened(np.maximum(np.random.default_rng(seed).standard_normal(shape), 0.0))
        assert found.clipped
        assert found.count_above() == 0, "its mean is undone, too"


# Zeros that were not clipped


def poisson_counts(rng: np.random.Generator) -> Matrix:
    return rng.poisson(rng.gamma(1.0, 1.0, (150, 4)) @ rng.gamma(1.0, 1.0, (4, 100))).astype(float)


def topics(rng: np.random.Generator) -> Matrix:
    words, texts = rng.dirichlet(np.full(300, 0.05), 8), rng.dirichlet(np.full(8, 0.3), 200)
    return rng.poisson(80 * texts @ words).astype(float)


def image(rng: np.random.Generator) -> Matrix:
    """Blocks that overlap, on an empty ground, without noise."""
    X = np.zeros((90, 70))
    for _ in range(6):
        i, j = rng.integers(0, 60), rng.integers(0, 50)
        X[i : i + 25, j : j + 18] += rng.random() + 0.5
    return X


def multiplicative(rng: np.random.Generator) -> Matrix:
    U, V = (rng.random((side, 4)) * (rng.random((side, 4)) < 0.3) for side in (150, 100))
    return U @ V.T * rng.gamma(5.0, 0.2, (150, 100))


@pytest.mark.parametrize("make", [poisson_counts, topics, image, multiplicative])
def test_other_zeros_are_left_alone(make: Callable[[np.random.Generator], Matrix]) -> None:
    for seed in range(6):
        X = make(np.random.default_rng(seed))
        assert (X == 0).any()
        assert not whitened(X).clipped


def test_swimmers_are_left_alone() -> None:
    assert not whitened(load_swimmer()).clipped


# What is given back


def test_the_law_of_what_is_drawn() -> None:
    i, j = (index.ravel() for index in np.indices((300, 200)))
    drawn = draw_half_normal(i, j)
    assert (drawn >= 0).all()
    assert stats.kstest(drawn, stats.halfnorm.cdf).statistic < 0.01
    matrix = drawn.reshape(300, 200)
    for one, other in ((matrix[:-1], matrix[1:]), (matrix[:, :-1], matrix[:, 1:])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.02


def test_noise_has_mean_zero_again() -> None:
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((400, 300)), 0.0)
    ones = np.ones((400, 1)), np.ones((300, 1))
    back = unclip(Dense(X), *ones).read(slice(0, 400))
    assert abs(back.mean()) < 0.01
    assert_allclose(back.std(), 1.0, rtol=0.01)
    assert_array_equal(back[X > 0], X[X > 0])
    assert (X >= 0).all(), "X itself is not changed"


def test_what_is_drawn_depends_on_the_place_alone() -> None:
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((50, 30)), 0.0)
    rows, columns = rng.random((50, 1)), rng.random((30, 1))
    data = Unclipped(Dense(X), rows, columns)
    whole = data.read(slice(0, 50))
    for size in (1, 7, 49):
        parts = [data.read(slice(start, min(start + size, 50))) for start in range(0, 50, size)]
        assert_array_equal(np.vstack(parts), whole)
    assert_array_equal(-whole[X == 0], (draw_half_normal(*np.indices(X.shape)) * rows * columns.T)[X == 0])


def test_what_is_made_anew_is_what_a_copy_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    X = clipped(3, 0)
    copied = whitened(X)
    monkeypatch.setattr(noise, "COPIED", 0)
    for entries in (1 << 30, 2000):
        monkeypatch.setattr(Dense, "block_entries", entries)
        anew = whitened(X)
        assert anew.clipped
        assert copied.clipped
        assert_allclose(anew.squares, copied.squares, rtol=1e-9)


def test_products_of_what_is_made_anew() -> None:
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((50, 30)), 0.0)
    data = Unclipped(Dense(X), rng.random((50, 1)), rng.random((30, 1)))
    data.block_entries = 200
    whole = data.read(slice(0, 50))
    U, V = rng.random((50, 3)), rng.random((30, 3))
    assert_allclose(data.right(V), whole @ V)
    assert_allclose(data.left(U), whole.T @ U)
    assert_allclose(data.squared_norm(), np.sum(whole**2))


@pytest.mark.parametrize("kind", ["hdf5", "floats"])
def test_streamed_data(kind: str, in_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "SMALL", 0)
    X = clipped(3, 0)
    expected = whitened(X)
    found = whitened(in_file(kind, tmp_path, X))
    assert found.clipped
    assert expected.clipped
    assert found.count_above() == expected.count_above() == 3
    assert_allclose(found.squares, expected.squares, rtol=1e-9)


@pytest.mark.parametrize("transposed", [False, True])
def test_rows_and_columns_of_zeros_stay_so(transposed: bool) -> None:
    X = clipped(3, 0)
    padded = np.zeros((220, 150))
    padded[10:210, 5:125] = X
    found = whitened(padded.T if transposed else padded)
    assert found.clipped
    assert found.shape == (X.T if transposed else X).shape
    assert found.count_above() == 3


@pytest.mark.parametrize("by_columns", [False, True])
def test_a_file_of_rows_or_columns(by_columns: bool) -> None:
    """Both give the same entries back, whichever way the file runs; where they look for them differs."""
    X = clipped(3, 0)
    expected, found = whitened(X), whitened(Stored(X, by_columns=by_columns))
    assert found.clipped
    assert found.count_above() == 3
    assert_allclose(found.squares, expected.squares, rtol=0.02)


def test_what_is_drawn_for_a_transpose() -> None:
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((50, 30)), 0.0)
    rows, columns = rng.random((50, 1)), rng.random((30, 1))
    one, other = Unclipped(Dense(X), rows, columns), Unclipped(Dense(X.T), columns, rows, transposed=True)
    assert_allclose(one.read(slice(0, 50)), other.read(slice(0, 30)).T, rtol=1e-12)
    assert_allclose(one.read(slice(10, 20)), other.read(slice(0, 30)).T[10:20], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_order_and_permission(dtype: type) -> None:
    X = np.asfortranarray(clipped(3, 0), dtype=dtype)
    X.setflags(write=False)
    found = whitened(X)
    assert found.clipped
    assert found.count_above() == 3


@pytest.mark.parametrize("seed", range(6))
def test_counts_with_clipped_noise_of_the_instrument(seed: int) -> None:
    """Poisson noise in the peaks makes the noise of the empty places look larger than it is."""
    rng = np.random.default_rng(100 + seed)
    places, n_components = np.arange(250), 4
    centres = np.linspace(30, 220, n_components) + rng.uniform(-10, 10, n_components)
    peaks = np.exp(-0.5 * ((places[:, None] - centres) / 9) ** 2)
    spectra = rng.gamma(0.6, 1.0, (n_components, 110)) * (rng.random((n_components, 110)) < 0.25)
    means = peaks @ spectra
    means *= 600 / means.max()
    X = np.maximum(rng.poisson(means) + 2.0 * rng.normal(size=means.shape), 0.0)
    found = whitened(X)
    assert found.clipped
    assert found.count_above() == n_components
