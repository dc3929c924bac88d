"""Critical points and local minimisers of the model and of its smooth counterpart (Section III)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from experiments.paper.statements import rank_condition, stationarity

SEEDS = range(5)


def padded(B: np.ndarray, columns: int = 1) -> np.ndarray:
    return np.pad(B, ((0, 0), (0, columns)))


def nearby(rng: np.random.Generator, *factors: np.ndarray, size: float = 1e-3) -> list[np.ndarray]:
    return [np.maximum(B + size * rng.standard_normal(B.shape), 0.0) for B in factors]


def small(paper, seed: int, columns: int, mu: float, lam: float = 1.0):
    """6 x 5, and a critical point of F̃ found by L-BFGS-B."""
    X, U, V = paper.start(seed, n=6, m=5, columns=columns)
    model = paper.Model(X, mu=mu, lam=lam, delta=1.0)
    return model, *model.critical_point(U, V)


@pytest.mark.parametrize("mu", [0.1, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_critical_points_of_the_smooth_model_are_critical(seed, mu, paper):
    """crit F̃ ⊆ crit Ψ for any λ, with equal supports; zero columns may be added."""
    model, U, V = small(paper, seed, 3, mu)
    for B, C in ((U, V), (padded(U), padded(V))):
        for lam in (0.01, 10.0):
            found = stationarity(model.X, B, C, lam=lam, mu=mu)
            assert found.kkt < 1e-6
            assert found.subgradient < 1e-6
            assert found.equal_supports
    assert_allclose(np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0), atol=1e-6)  # balanced by itself


@pytest.mark.parametrize("lam", [0.05, 2.0, 4.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_limits_of_pasm_are_critical_for_the_smooth_model(seed, lam, paper):
    """crit Ψ ⊆ crit F̃: the gradient of F vanishes on the columns that Ψ does not look at, too."""
    X, U, V = paper.start(seed, n=6, m=5, columns=3)
    model = paper.Model(X, mu=0.5, lam=lam, delta=1.0)
    *_, last = model.active_set(U, V, 3000)
    found = stationarity(X, last.U_new, last.V_new, lam=lam, mu=0.5, delta=1.0)
    assert model.distance(last.U_new, last.V_new) < 1e-6
    assert found.kkt < 1e-6
    assert found.equal_supports
    assert found.holds(1e-6)


def test_critical_points_need_mu(paper):
    """With μ = 0 a column may be zero in V only: critical for Ψ, not for F̃."""
    model, U, V = small(paper, 0, 1, mu=0.0)
    U, V = np.column_stack([U, np.ones(6)]), padded(V)
    found = stationarity(model.X, U, V, lam=1.0, mu=0.0)
    assert found.subgradient < 1e-5
    assert found.kkt > 0.1
    assert not found.equal_supports
    assert stationarity(model.X, U, V, lam=1.0, mu=0.1).subgradient > 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_other_points_are_not_critical(seed, paper):
    model, U, V = small(paper, seed, 2, 0.5)
    rng = np.random.default_rng(seed)
    moved = nearby(rng, U, V, size=0.1)
    found = stationarity(model.X, *moved, lam=1.0, mu=0.5)
    assert_allclose(found.subgradient, model.distance(*moved))
    assert min(found.kkt, found.subgradient, found.p_stationarity) > 1e-3


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_local_minimiser_of_the_smooth_model_is_one_of_the_model(seed, columns, paper):
    model, U, V = small(paper, seed, columns, 0.5)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        moved = nearby(rng, U, V)
        growth = model.F(*moved) - model.F(U, V)
        assert growth > -1e-9  # a local minimiser of F̃, as far as can be seen
        assert model.Psi(*moved) - model.Psi(U, V) >= growth - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_local_minimiser_of_the_model_is_one_on_its_support_only(seed, paper):
    """A rank-one minimiser with a zero component added is a local minimiser of Ψ, and not of F̃."""
    mu = 0.1
    model, U, V = small(paper, seed, 1, mu)
    wide_U, wide_V = padded(U), padded(V)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        assert model.Psi(*nearby(rng, wide_U, wide_V)) >= model.Psi(wide_U, wide_V) - 1e-9
        # moves on the support: Ψ and the truncated F̃ grow by the same
        moved = nearby(rng, U, V)
        growth = model.F(*moved) - model.F(U, V)
        assert growth > -1e-9
        assert_allclose(
            model.Psi(*map(padded, moved)) - model.Psi(wide_U, wide_V), growth, rtol=1e-6, atol=1e-12
        )
    residual = model.X - U @ V.T
    i, j = np.unravel_index(np.argmax(residual), residual.shape)
    assert residual[i, j] > mu
    wide_U[i, 1] = wide_V[j, 1] = 1e-3
    assert model.F(wide_U, wide_V) < model.F(U, V) - 1e-9


def test_zero_is_a_local_minimiser_of_the_model_alone(paper):
    X, *_ = paper.start(0, n=6, m=5)
    model = paper.Model(X, mu=0.5, lam=1.0, delta=1.0)
    U, V = np.zeros((6, 2)), np.zeros((5, 2))
    rng = np.random.default_rng(0)
    for _ in range(300):
        assert model.Psi(*nearby(rng, U, V, size=0.05)) >= model.Psi(U, V)
    assert model.F(U + 0.05, V + 0.05) < model.F(U, V)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_error_floor(seed, mu, paper):
    """‖UVᵀ - X*‖ ≥ μ - ‖N‖ at every nonzero critical point; more sharply, ‖X - UVᵀ‖₂ ≥ μ."""
    rng = np.random.default_rng(seed)
    signal = rng.random((6, 2)) @ rng.random((5, 2)).T * 5
    noise = 0.05 * rng.standard_normal(signal.shape)
    X = np.maximum(signal + noise, 0.0)
    model = paper.Model(X, mu=mu, lam=1.0, delta=1.0)
    U, V = model.critical_point(*paper.balance(rng.random((6, 3)), rng.random((5, 3))))
    assert U.any()
    Y = U @ V.T
    assert np.linalg.norm(X - Y, 2) >= mu - 1e-6
    assert np.linalg.norm(Y - signal) >= mu - np.linalg.norm(X - signal) - 1e-6


def test_error_floor_is_attained():
    """X = 1: the critical point of ½(1 - uv)² + μ/2(u² + v²) has uv = 1 - μ."""
    mu = 0.25
    u = np.full((1, 1), np.sqrt(1 - mu))
    found = stationarity(np.ones((1, 1)), u, u, lam=0.0, mu=mu)
    assert found.kkt < 1e-12
    assert abs(1 - u[0, 0] ** 2) == pytest.approx(mu)


@pytest.fixture(scope="module")
def best_by_columns(paper):
    """The best F̃ found over many starts with 0 to 4 columns, of a 5 x 3 matrix (there rank₊ = rank)."""
    rng = np.random.default_rng(0)
    model = paper.Model(2 * rng.random((5, 3)), mu=0.05, lam=0.0, delta=1.0)
    points = {0: (np.zeros((5, 1)), np.zeros((3, 1)))}
    for q in range(1, 5):
        starts = [paper.balance(rng.random((5, q)), rng.random((3, q))) for _ in range(30)]
        points[q] = min((model.critical_point(*s) for s in starts), key=lambda point: model.F(*point))
    return model, points


@pytest.mark.slow
def test_global_minimiser_has_no_column_too_many(best_by_columns):
    """Where the condition on λ/μ holds, the number of columns is the rank; where it fails, it need not be."""
    model, points = best_by_columns
    seen = {}
    for lam in (0.003, 0.3, 0.7, 2.0):
        q = min(points, key=lambda q: model.F(*points[q]) + 2 * lam * q)
        U, V = points[q]
        condition = rank_condition(U, V, lam=lam, mu=model.mu)
        assert condition.columns == q
        assert_allclose(condition.smallest_lam, 0.5 * model.mu * np.sqrt(q) * np.linalg.norm(U @ V.T))
        rank = np.linalg.matrix_rank(U @ V.T, tol=1e-6)
        seen[lam] = (condition.holds, q, rank)
    assert seen == {
        0.003: (False, 4, 3),  # the fourth column only makes the squared norms smaller
        0.3: (True, 3, 3),
        0.7: (True, 2, 2),
        2.0: (True, 1, 1),
    }


def test_rank_condition_counts_components_in_both_factors():
    U, V = np.eye(4), np.eye(4)
    U[:, 0], V[:, 1] = 0.0, 0.0
    condition = rank_condition(U, V, lam=1.0, mu=1.0)
    assert condition.columns == 2
    assert_allclose(condition.product_norm, np.sqrt(2))
    assert_allclose(condition.smallest_lam, 1.0)
    assert rank_condition(U, V, lam=1.1, mu=1.0).holds
    assert not rank_condition(U, V, lam=0.9, mu=1.0).holds
    assert "global minimisers" in str(condition)
    assert_array_equal(rank_condition(U, V, lam=1.0, mu=0.0).smallest_lam, 0.0)
