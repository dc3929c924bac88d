"""HALS with inertia: descent, its limits, and how many iterations it saves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import non_negative_factorization

from autonmf import AutoNMF
from autonmf.data import as_data
from autonmf.losses import FrobeniusState, Problem
from autonmf.solvers import Hals, LongHals, Stopping, run


def dense_factors(n: int, m: int, rank: int, noise: float, seed: int) -> tuple[np.ndarray, ...]:
    """X from factors without zeros, which are nearly collinear, and an initial point."""
    rng = np.random.default_rng(seed)
    signal = rng.random((n, rank)) @ rng.random((rank, m))
    X = signal + noise * signal.std() * rng.standard_normal(signal.shape)
    U, V = (np.asfortranarray(rng.random((size, rank))) for size in (n, m))
    return np.maximum(X, 0.0), U, V


def losses(solver: Hals, state: FrobeniusState, count: int) -> np.ndarray:
    found = []
    for _ in range(count):
        state = solver.step(state)
        assert state.U.min() >= 0.0
        assert state.V.min() >= 0.0
        found.append(state.objective)
    return np.array(found)


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_descent(seed: int, mu: float) -> None:
    """The objective never rises, although factors are extrapolated."""
    X, U, V = dense_factors(30, 20, 4, 0.05, seed)
    found = losses(LongHals(), FrobeniusState.at(Problem(as_data(X), mu=mu), U, V), 300)
    assert (np.diff(found) <= 1e-12 * found[0]).all()
    assert found[-1] < found[0]


@pytest.mark.parametrize("seed", range(4))
def test_limits_are_critical_points(seed: int) -> None:
    X, U, V = dense_factors(12, 9, 2, 0.3, seed)
    stopping = Stopping(tol=0.0, tol_gradient=1e-7, max_iter=20_000)
    result = run(LongHals(), FrobeniusState.at(Problem(as_data(X), mu=0.0), U, V), stopping)
    assert result.reason == "gradient"


def test_half_as_many_iterations_reach_the_same_loss() -> None:
    """As HALS without inertia, with as many sweeps, and as scikit-learn's; the median of some matrices."""
    compared = []
    for seed in range(7):
        X, U, V = dense_factors(200, 100, 8, 0.02, seed)
        start = FrobeniusState.at(Problem(as_data(X), mu=0.0), U, V)
        found = losses(LongHals(), start, 300)[-1]
        plain = losses(Hals(sweeps=5), start, 600)[-1]
        W, H, _ = non_negative_factorization(
            X, U.copy(), np.ascontiguousarray(V.T), n_components=8, init="custom", tol=0, max_iter=600
        )
        compared.append((found / plain, found / (0.5 * np.linalg.norm(X - W @ H) ** 2)))
    assert (np.median(compared, axis=0) <= 1.0).all()


def test_known_components_stay() -> None:
    X, U, V = dense_factors(30, 20, 4, 0.05, 0)
    state = FrobeniusState.at(Problem(as_data(X), mu=0.0, n_fixed=2), U, V)
    for _ in range(20):
        state = LongHals().step(state)
    assert_array_equal(state.V[:, :2], V[:, :2])
    assert not np.array_equal(state.V[:, 2:], V[:, 2:])


def test_no_inertia_where_entries_are_missing() -> None:
    """A loss there needs two more products with X, which cost more than inertia saves."""
    X, U, V = dense_factors(30, 20, 4, 0.05, 0)
    X[::3, ::2] = np.nan
    start = FrobeniusState.at(Problem(as_data(X, missing="mask"), mu=0.0), U, V)
    assert_array_equal(losses(LongHals(), start, 10), losses(Hals(sweeps=5), start, 10))


@pytest.mark.parametrize("rank", [6, 10])
@pytest.mark.parametrize("seed", range(3))
def test_the_rank_of_dense_factors_is_found(seed: int, rank: int) -> None:
    """HALS alone is so slow here that more components than the true ones seemed to be needed."""
    X = dense_factors(300, 200, rank, 0.01, seed)[0]
    model = AutoNMF(random_state=0).fit(X)
    assert model.n_components_ == rank
    noise = 0.5 * np.linalg.svd(X, compute_uv=False)[rank:] ** 2
    assert_allclose(0.5 * model.reconstruction_err_**2, noise.sum(), rtol=0.1)
