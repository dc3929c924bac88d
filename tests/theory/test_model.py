"""Gradients, Lipschitz constants, proximal map, breakpoints and subgradients of the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from autonmf.data import as_data
from autonmf.data.factors import gram
from autonmf.losses import Problem
from autonmf.losses.frobenius import gradient, lipschitz, projected_gradient
from autonmf.model.penalty import ColumnPenalty
from autonmf.path.grids import breakpoints
from autonmf.solvers.coordinate import proximal_update
from experiments.paper.statements import objective, smooth_objective

SEEDS = range(5)
entries = st.floats(-2, 2, width=32).map(lambda x: round(x, 3))


def sparse_point(seed: int, paper):
    """Factors with zero entries, and a zero column each."""
    X, U, V = paper.start(seed)
    rng = np.random.default_rng(100 + seed)
    U, V = U * (rng.random(U.shape) < 0.6), V * (rng.random(V.shape) < 0.6)
    U[:, 1], V[:, 3] = 0.0, 0.0
    return X, U, V


@pytest.mark.parametrize("seed", SEEDS)
def test_objective_is_eq_1(seed, paper):
    X, U, V = sparse_point(seed, paper)
    model = paper.Model(X, mu=0.3, lam=0.7, delta=1.0)
    problem = Problem(as_data(X), mu=0.3, lam=0.7)
    assert_allclose(smooth_objective(problem, U, V), model.F(U, V))
    assert_allclose(objective(problem, U, V), model.Psi(U, V))


@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_against_differences(seed, paper):
    X, U, V = sparse_point(seed, paper)
    model = paper.Model(X, mu=0.7, lam=0.0, delta=1.0)
    for block, product, other, F in (
        (U, X @ V, V, lambda B: model.F(B, V)),
        (V, X.T @ U, U, lambda B: model.F(U, B)),
    ):
        found = gradient(block, product, gram(other), model.mu)
        # forward differences of a quadratic are off by half the curvature times the step, which is known
        step = 1e-5
        numerical = approx_fprime(block.ravel(), lambda b, F=F, B=block: F(b.reshape(B.shape)), step)
        curvature = np.tile(np.diag(gram(other)) + model.mu, len(block))
        assert_allclose(found.ravel(), numerical - 0.5 * step * curvature, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_lipschitz_constant_is_the_smallest(seed, paper):
    X, U, V = paper.start(seed)
    mu = 0.7
    tau = lipschitz(gram(V), mu)
    rng = np.random.default_rng(seed)

    def change(D):
        moved = gradient(U + D, X @ V, gram(V), mu) - gradient(U, X @ V, gram(V), mu)
        return np.linalg.norm(moved) / np.linalg.norm(D)

    assert max(change(rng.standard_normal(U.shape)) for _ in range(50)) <= tau * (1 + 1e-12)
    direction = np.linalg.svd(V)[2][0]
    assert_allclose(change(np.outer(rng.standard_normal(len(U)), direction)), tau)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(P=arrays(float, (3, 4), elements=entries), lam=st.floats(0, 3), gamma=st.floats(0.1, 5))
def test_prox_against_all_supports(paper, P, lam, gamma):
    model = paper.Model(np.eye(1), mu=0.0, lam=lam, delta=1.0)
    found = ColumnPenalty(lam).prox(P.copy(), gamma)
    assert (found >= 0).all()
    best = model.brute_prox(P, gamma)
    assert model.prox_value(found, P, gamma) <= best + 1e-9 * max(1.0, best)


@pytest.mark.parametrize("seed", SEEDS)
def test_prox_against_a_fine_grid(seed):
    """One column of two entries: no point of a fine grid over [0, 4]² has a smaller value."""
    rng = np.random.default_rng(seed)
    P, gamma, lam = rng.standard_normal((2, 1)), 1.5, 0.4
    axis = np.linspace(0, 4, 801)
    values = 0.5 * gamma * ((axis[:, None] - P[0]) ** 2 + (axis[None, :] - P[1]) ** 2) + lam
    values[0, 0] -= lam
    found = ColumnPenalty(lam).prox(P.copy(), gamma)
    value = 0.5 * gamma * np.sum((found - P) ** 2) + lam * found.any()
    assert values.min() - 0.5 * gamma * 2 * (axis[1]) ** 2 <= value <= values.min() + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_column_is_kept_exactly_while_lam_is_below_its_breakpoint(seed, paper):
    X, U, V = paper.start(seed)
    data = as_data(X)
    problem = Problem(data, mu=0.3, delta=1.0)
    for block, product, other in ((U, data.right(V), V), (V, data.left(U), U)):
        at = breakpoints(problem, block, product, gram(other))
        assert (at > 0).all()
        for j, lam in enumerate(at):
            for factor, kept in ((1 - 1e-9, True), (1 + 1e-9, False)):
                update = proximal_update(problem.at(lam * factor), block, product, gram(other))
                assert update[:, j].any() == kept
                assert_array_equal(update.any(axis=0), lam * factor < at)


@pytest.mark.parametrize("seed", SEEDS)
def test_projected_gradient_is_a_subgradient(seed, paper):
    """Both by the description of ∂Ψ and by the inequality that defines a subgradient."""
    X, U, V = sparse_point(seed, paper)
    model = paper.Model(X, mu=0.3, lam=0.5, delta=1.0)
    rng = np.random.default_rng(seed)
    G_U, G_V = model.gradients(U, V)
    W_U, W_V = projected_gradient(U, G_U), projected_gradient(V, G_V)
    assert model.is_subgradient(W_U, W_V, U, V, tol=1e-12)
    assert not model.is_subgradient(W_U + 0.1 * (U > 0), W_V, U, V)
    for block, W, Psi in ((U, W_U, lambda B: model.Psi(B, V)), (V, W_V, lambda B: model.Psi(U, B))):
        for _ in range(200):
            # so small that no nonzero column vanishes and that λ pays for any that appears
            moved = np.maximum(block + 1e-3 * rng.standard_normal(block.shape), 0.0)
            assert Psi(moved) >= Psi(block) + np.sum(W * (moved - block)) - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_projected_gradient_on_active_columns_is_the_shortest_subgradient(seed, paper):
    X, U, V = sparse_point(seed, paper)
    model = paper.Model(X, mu=0.3, lam=0.5, delta=1.0)
    parts = [
        projected_gradient(B, G)[:, B.any(axis=0)] for B, G in zip((U, V), model.gradients(U, V), strict=True)
    ]
    shortest = np.hypot(*map(np.linalg.norm, parts))
    assert_allclose(shortest, model.distance(U, V))
    rng = np.random.default_rng(seed)
    for _ in range(50):  # random elements of ∂Ψ are longer
        pieces = []
        for B, G in zip((U, V), model.gradients(U, V), strict=True):
            W = G - rng.exponential(size=B.shape) * (B == 0)
            W[:, ~B.any(axis=0)] = rng.standard_normal(W[:, ~B.any(axis=0)].shape)
            pieces.append(W)
        assert model.is_subgradient(*pieces, U, V)
        assert np.hypot(*map(np.linalg.norm, pieces)) >= shortest
