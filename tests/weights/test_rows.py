"""Rows projected on given components: each by itself, whatever the energy of the components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls

from autonmf import AutoNMF, rank_path
from autonmf.data import Stored
from autonmf.model.nnls import solve_nnls, solve_nnls_each


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix])
def test_a_row_does_not_depend_on_the_others(
    storage: Callable[..., Any], low_rank: np.ndarray, holed: Callable[..., np.ndarray]
) -> None:
    X = holed(low_rank, 0.3)
    model = AutoNMF(3, missing="mask", random_state=0).fit(storage(X))
    together = model.transform(storage(X))
    for i in range(10):
        known = ~np.isnan(X[i])
        assert_allclose(model.transform(storage(X[i : i + 1]))[0], together[i], rtol=1e-5, atol=1e-7)
        expected = nnls(model.components_.T[known], X[i][known])[0]
        assert_allclose(together[i], expected, atol=1e-5 * expected.max())


def test_weights_count_for_samples_beside_those_left_out(low_rank: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    weights, samples = rng.random(low_rank.shape), np.ones(60)
    weights[:, 0], samples[7] = 1e-6, 0.0
    model = AutoNMF(3, random_state=0)
    W = model.fit_transform(low_rank, sample_weight=samples, weights=weights)
    left = weights * (low_rank - W @ model.components_) ** 2
    assert_allclose(np.sqrt(left[samples > 0].sum()), model.reconstruction_err_, rtol=1e-6)
    roots = np.sqrt(weights[7])
    expected = nnls(model.components_.T * roots[:, None], low_rank[7] * roots)[0]
    assert_allclose(W[7], expected, atol=1e-5 * expected.max())


@pytest.mark.parametrize("ratio", [1.0, 1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("each", [False, True])
def test_low_energy_components_are_solved_for_as_well(ratio: float, each: bool) -> None:
    rng = np.random.default_rng(0)
    C = rng.random((30, 4)) * [1.0, ratio, 1.0, ratio]
    X = rng.random((50, 4)) @ (rng.random((30, 4)) * [1.0, ratio, 1.0, ratio]).T
    gram, unit = C.T @ C, C / np.linalg.norm(C, axis=0)
    W = solve_nnls_each(X @ C, np.repeat(gram[None], 50, axis=0)) if each else solve_nnls(X @ C, gram)
    for x, w in zip(X, W, strict=True):
        assert np.linalg.norm(x - C @ w) <= nnls(unit, x)[1] + 1e-9 * np.linalg.norm(x)


def test_components_beyond_all_proportion_have_no_weight() -> None:
    """They would be rounding errors over squares that hardly are numbers."""
    C = np.array([[1.0, 1e-149], [1.0, 0.0], [1.0, 1e-149]])
    W = solve_nnls(np.array([[2.0, 1.0, 1.0], [1.0, 0.0, 1.0]]) @ C, C.T @ C)
    assert (W[:, 1] == 0.0).all()
    assert_allclose(W[:, 0], [4 / 3, 2 / 3])


@pytest.mark.parametrize("grid", ["exact", "adaptive"])
@pytest.mark.parametrize("solver", ["auto", "pasm", "s-ipalm"])
def test_a_callback_changes_no_loss(
    solver: str, grid: str, low_rank: np.ndarray, holed: Callable[..., np.ndarray]
) -> None:
    options = {"max_rank": 5, "solver": solver, "grid": grid, "missing": "mask", "random_state": 0}
    X = holed(low_rank, 0.2)
    watched = rank_path(X, callback=lambda progress: None, **options)
    assert_array_equal(watched.losses, rank_path(X, **options).losses)


def test_samples_in_a_file_cannot_be_left_out(low_rank: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"needs X in memory: pass X\[:\]"):
        AutoNMF(3).fit(Stored(low_rank), sample_weight=np.arange(60))


@pytest.mark.parametrize("fit", [AutoNMF().fit, rank_path])
def test_weights_that_leave_nothing_of_X(fit: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="X is zero wherever its weights are not"):
        fit(np.eye(8), weights=1.0 - np.eye(8))


def test_rows_whose_squares_do_not_fit(low_rank: np.ndarray) -> None:
    model = AutoNMF(3, random_state=0).fit(low_rank)
    assert_allclose(model.transform(1e100 * low_rank), 1e100 * model.transform(low_rank), rtol=1e-6)
    with pytest.raises(ValueError, match="Divide X by its maximum"):
        model.transform(1e160 * low_rank)
