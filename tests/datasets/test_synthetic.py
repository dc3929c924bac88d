"""The generator of low-rank matrices and its statistics, and Swimmer with its known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import rank_path, select_rank
from autonmf.datasets import load_swimmer, make_low_rank

LIMB_POSITIONS = 16


# The generator


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_low_rank_statistics(noise: float) -> None:
    """Entries max(0, N(0,1)): mean 1/√(2π), mean square ½, half of them zero; five standard errors."""
    X, U, V = make_low_rank(2000, 300, rank=10, noise=noise, random_state=0)
    assert (X.shape, U.shape, V.shape) == ((2000, 300), (2000, 10), (300, 10))
    for factor in (U, V):
        n = np.sqrt(factor.size)
        assert abs(np.mean(factor == 0) - 0.5) < 5 * 0.5 / n
        assert abs(factor.mean() - 1 / np.sqrt(2 * np.pi)) < 5 * 0.6 / n
        assert abs(np.mean(factor**2) - 0.5) < 5 * 1.2 / n
    assert (X >= 0).all()
    if noise == 0:
        assert_allclose(X, U @ V.T)
        assert np.linalg.matrix_rank(X) == 10
    else:
        residual = (X - U @ V.T)[5 * noise < U @ V.T]  # where the clipping does not show
        assert_allclose(residual.std(), noise, rtol=0.02)
        assert abs(residual.mean()) < 5 * noise / np.sqrt(residual.size)


def test_low_rank_seeds() -> None:
    first, again, other = (make_low_rank(9, 8, 2, random_state=s)[0] for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert_array_equal(first, make_low_rank(9, 8, 2, random_state=np.random.default_rng(1))[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 4, 1), "at least 1"),
        ((4, 4, 0), "at least 1"),
        ((4, 4, 1, -0.1), "noise"),
        ((4, 4, 1, np.nan), "noise"),
    ],
)
def test_low_rank_refuses(arguments: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_low_rank(*arguments)


# Swimmer


def test_swimmer_is_the_published_one(benchmark_data) -> None:
    stored = benchmark_data("swimmer")
    X, parts = load_swimmer(return_parts=True)
    assert_array_equal(X, stored["X"])
    assert_array_equal(load_swimmer(), X)
    assert_array_equal(parts, stored["parts"].T)


def test_swimmer_by_its_definition() -> None:
    X, parts = load_swimmer(return_parts=True)
    assert X.shape == (256, 1024)
    assert parts.shape == (17, 1024)
    assert set(np.unique(X)) == {0.0, 1.0}
    assert len({tuple(image) for image in X}) == 256
    assert np.linalg.matrix_rank(X) == 13
    # Each image is the torso and one position of each limb.
    held = np.array([[image @ part == part.sum() for part in parts] for image in X])
    assert_array_equal(held[:, :16].reshape(256, 4, 4).sum(axis=2), 1)
    assert held[:, 16].all()
    assert_array_equal(held.astype(float) @ parts, X)


# HALS on the exact path, the default, is quick enough for ten seeds.
RUNS = [
    *(("auto", "exact", seed) for seed in range(10)),
    *(("pasm", "exact", seed) for seed in range(3)),
    *(("s-ipalm", "exact", seed) for seed in range(3)),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("solver", "grid"),
    [("auto", "exact"), ("pasm", "exact"), ("s-ipalm", "exact"), ("auto", "adaptive"), ("pasm", "adaptive")],
)
def test_noisy_swimmer_has_sixteen_parts(solver: str, grid: str, seed: int, benchmark_data) -> None:
    """S-iPALM on the adaptive grid needs three starts for this: one alone answers 14 to 16."""
    X = benchmark_data("swimmer_noisy")["X"].astype(np.float64)
    path = rank_path(X, solver=solver, grid=grid, random_state=seed)
    assert select_rank(path, tau=2.0).rank == LIMB_POSITIONS


@pytest.mark.parametrize("seed", range(10))
def test_sixteen_stands_out_most_on_the_noisy_swimmer(seed: int, benchmark_data) -> None:
    """Its linear rank is 13, so that the ratio at 12 is near 2 as well and may come first; 16 is larger."""
    X = benchmark_data("swimmer_noisy")["X"].astype(np.float64)
    evidence = select_rank(rank_path(X, random_state=seed)).evidence
    low = evidence["rank"] <= 25
    assert evidence["rank"][low][np.nanargmax(evidence["drop_ratio"][low])] == LIMB_POSITIONS


@pytest.mark.parametrize(("solver", "grid", "seed"), RUNS)
def test_noise_free_swimmer_has_sixteen_parts(solver: str, grid: str, seed: int) -> None:
    path = rank_path(load_swimmer(), solver=solver, grid=grid, random_state=seed)
    assert select_rank(path, tau=2.0).rank == LIMB_POSITIONS


def test_noise_free_swimmer_on_the_adaptive_grid() -> None:
    """One start answers 14 to 16 with S-iPALM, 16 to 18 with PASM; the best of three S-iPALM starts 16."""
    path = rank_path(load_swimmer(), solver="s-ipalm", grid="adaptive", n_starts=3, random_state=0)
    assert select_rank(path, tau=2.0).rank == LIMB_POSITIONS
