"""HALS and PASM: the sweep against general solvers, the decrease and the subgradient bounds of Section V."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, nnls

from autonmf import kernels
from autonmf.data import as_data
from autonmf.data.factors import gram
from autonmf.losses import Problem
from autonmf.solvers import ActiveSet

SEEDS = range(6)
LAMS = {"all columns live": 0.01, "some vanish": 8.0}


def norm(*parts: np.ndarray) -> float:
    return float(np.sqrt(sum(np.sum(part**2) for part in parts)))


def make(paper, seed, lam, columns=5):
    X, U, V = paper.start(seed, columns=columns)
    return paper.Model(X, mu=0.5, lam=lam, delta=1.0), U, V


def sweep(model, block: np.ndarray, other: np.ndarray, target: np.ndarray, sweeps: int = 1) -> np.ndarray:
    """The package's HALS sweep on a copy."""
    result = np.asfortranarray(block.copy())
    kernels.hals_sweeps(result, np.asfortranarray(target @ other), gram(other), model.mu, sweeps)
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_sweep_solves_each_column_in_turn(seed, paper):
    """Column j of the sweep is the NNLS solution for column j, the others fixed (SciPy, row by row)."""
    model, U, V = make(paper, seed, 0.0)
    found = sweep(model, U, V, model.X)
    mixed = U.copy()
    for j in range(U.shape[1]):
        v = V[:, j]
        rest = model.X - np.delete(mixed, j, 1) @ np.delete(V, j, 1).T
        # ½‖rest - u vᵀ‖² + μ/2 u²: one more equation √μ·u = 0 a row
        design = np.append(v, np.sqrt(model.mu))[:, None]
        mixed[:, j] = [nnls(design, np.append(row, 0.0))[0][0] for row in rest]
        assert_allclose(found[:, j], mixed[:, j], atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_column_update_is_a_bounded_minimum(seed, paper):
    """The same by a general minimiser: no change of the last column alone lowers the objective."""
    model, U, V = make(paper, seed, 0.0)
    found = sweep(model, U, V, model.X)

    def value(u: np.ndarray) -> float:
        return model.F(np.column_stack([found[:, :-1], u]), V)

    best = minimize(value, U[:, -1], bounds=[(0, None)] * len(U), method="L-BFGS-B")
    assert value(found[:, -1]) <= best.fun + 1e-9
    assert_allclose(found[:, -1], best.x, atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_many_sweeps_reach_the_nnls_solution(seed, paper):
    model, U, V = make(paper, seed, 0.0)
    found = sweep(model, U, V, model.X, sweeps=2000)
    design = np.vstack([V, np.sqrt(model.mu) * np.eye(V.shape[1])])
    exact = [nnls(design, np.append(row, np.zeros(V.shape[1])))[0] for row in model.X]
    assert_allclose(found, exact, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_hals_descent(seed, paper):
    """𝓛 falls by ½Σ(‖v_i‖² + μ)‖Δu_i‖², which is at least c₁‖ΔU‖² with c₁ ≥ μ/2."""
    model, U, V = make(paper, seed, 0.0)
    for _ in range(10):
        new = sweep(model, U, V, model.X)
        fall = model.F(U, V) - model.F(new, V)
        weights = np.sum(V**2, axis=0) + model.mu
        assert fall >= 0.5 * np.sum(weights * np.sum((new - U) ** 2, axis=0)) - 1e-11
        assert fall >= 0.5 * weights.min() * norm(new - U) ** 2 - 1e-11
        U = new


@pytest.mark.parametrize("seed", SEEDS)
def test_hals_subgradient_identity(seed, paper):
    """W = ΔU·M_L is a subgradient of 𝓛 at the end of the sweep, so ‖W‖ ≤ ‖M_L‖₂‖ΔU‖."""
    model, U, V = make(paper, seed, 0.0)
    for _ in range(5):
        new = sweep(model, U, V, model.X)
        M_L = np.tril(V.T @ V, -1)
        W = (new - U) @ M_L
        G = model.gradients(new, V)[0]
        normal = W - G  # in the normal cone of the orthant: ≤ 0, and 0 at positive entries
        assert (normal <= 1e-10).all()
        assert_allclose(normal[new > 0], 0.0, atol=1e-10)
        assert norm(W) <= np.linalg.norm(M_L, 2) * norm(new - U) + 1e-12
        # the columns' own optimality, which the identity is made of: W_i is the change of gradient i
        for i in range(U.shape[1]):
            mixed = np.column_stack([new[:, : i + 1], U[:, i + 1 :]])
            assert_allclose(W[:, i], G[:, i] - model.gradients(mixed, V)[0][:, i], atol=1e-10)
        U = new


@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_iterates_are_the_papers(seed, lam, paper):
    model, U, V = make(paper, seed, lam)
    solver = ActiveSet(compact=False)
    state = solver.init(Problem(as_data(model.X), mu=model.mu, lam=lam, delta=model.delta), U, V)
    for step in model.active_set(U, V, 40):
        state = solver.step(state)
        assert_allclose(state.U, step.U_new, atol=1e-9)
        assert_allclose(state.V, step.V_new, atol=1e-9)
        assert_allclose(state.objective, model.Psi(step.U_new, step.V_new))
        assert_array_equal(state.U.any(axis=0), state.V.any(axis=0))
        assert_allclose(np.linalg.norm(state.U, axis=0), np.linalg.norm(state.V, axis=0), atol=1e-12)


@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_pasm_decrease(seed, lam, paper):
    """Ψ falls by ρ/2 times the squares of all four moves, ρ = min(α₁, μ)."""
    model, U, V = make(paper, seed, lam)
    rho = min(model.delta, model.mu)
    for s in model.active_set(U, V, 60):
        moves = norm(s.Uh - s.Ut, s.Ut - s.U, s.Vh - s.Vt, s.Vt - s.V) ** 2
        assert model.Psi(s.U_new, s.V_new) <= model.Psi(s.U, s.V) - rho / 2 * moves + 1e-11


def test_runs_lose_columns(paper):
    ranks = []
    for seed in SEEDS:
        model, U, V = make(paper, seed, LAMS["some vanish"])
        *_, last = model.active_set(U, V, 60)
        ranks.append(np.count_nonzero(last.U_new.any(axis=0)))
    assert min(ranks) < 5
    assert max(ranks) > 0


@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_pasm_subgradient_bound(seed, lam, paper):
    """The proof's W is in ∂Ψ, and ‖W‖ ≤ C·(the four moves) with the constants of this very step."""
    model, U, V = make(paper, seed, lam)
    for s in model.active_set(U, V, 60):
        V_T, U_T = s.V[:, s.T_U], s.Uh[:, s.T_V]
        M_V, M_U = np.tril(V_T.T @ V_T, -1), np.tril(U_T.T @ U_T, -1)
        new_U, new_V = model.gradients(s.U_new, s.V_new)
        W_U, W_V = np.zeros_like(s.U), np.zeros_like(s.V)
        W_U[:, s.T_U] = (s.Uh - s.Ut)[:, s.T_U] @ M_V
        W_V[:, s.T_V] = (s.Vh - s.Vt)[:, s.T_V] @ M_U
        W_U[:, s.T_U] += (new_U - model.gradients(s.Uh, s.V)[0])[:, s.T_U]
        W_V[:, s.T_V] += (new_V - model.gradients(s.Uh, s.Vh)[1])[:, s.T_V]
        assert model.is_subgradient(W_U, W_V, s.U_new, s.V_new)
        c_f = np.linalg.norm(s.U_new @ s.V_new.T - model.X, 2)
        tau = max(s.tau1, s.tau2)
        C = np.linalg.norm(M_V, 2) if M_V.size else 0.0
        C += np.linalg.norm(M_U, 2) if M_U.size else 0.0
        C += np.sqrt(2) * model.mu + tau + (np.sqrt(2) + 1) * c_f
        moves = norm(s.Uh - s.Ut) + norm(s.Ut - s.U) + norm(s.Vh - s.Vt) + norm(s.Vt - s.V)
        assert norm(W_U) + norm(W_V) <= C * moves + 1e-10
        assert model.distance(s.U_new, s.V_new) <= norm(W_U, W_V) + 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_finite_length_and_critical_limit(seed, paper):
    model, U, V = make(paper, seed, 0.05, columns=2)
    steps, last = [], None
    for s in model.active_set(U, V, 3000):
        steps.append(norm(s.U_new - s.U, s.V_new - s.V))
        last = s
    lengths = np.add.reduceat(steps, np.arange(0, 3000, 500))
    assert lengths[-1] < 1e-6 * lengths[0]
    assert model.distance(last.U_new, last.V_new) < 1e-6
    assert last.U_new.any()
