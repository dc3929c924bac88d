"""Every solver descends on the weighted loss, and ends where SciPy does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize, nnls

from autonmf.data import Data, Scaling, as_data, equilibration
from autonmf.data.masked import Masked
from autonmf.fit import Polished, polish
from autonmf.losses import FROBENIUS, FrobeniusState, Problem
from autonmf.model.nnls import solve_nnls_each
from autonmf.path import PathOptions, prepare
from autonmf.solvers import SOLVERS, Hals

RANK = 3


@pytest.fixture
def X(rng: np.random.Generator) -> np.ndarray:
    return rng.random((20, RANK)) @ rng.random((RANK, 12)) + 0.1 * rng.random((20, 12))


@pytest.fixture(
    params=[
        "missing",
        "missing, by columns",
        "missing, sparse",
        "weights",
        "equilibrated",
        "scaled",
        "transposed",
    ]
)
def case(request: pytest.FixtureRequest, X: np.ndarray) -> tuple[Data, np.ndarray, np.ndarray]:
    """Data, and the same as a full matrix with its weights."""
    rng = np.random.default_rng(3)
    known = rng.random(X.shape) < 0.7
    holes = np.where(known, X, np.nan)
    match request.param:
        case "missing":
            return as_data(holes, missing="mask"), X, known.astype(float)
        case "missing, by columns":
            return as_data(np.asfortranarray(holes), missing="mask"), X, known.astype(float)
        case "missing, sparse":
            return as_data(sparse.csr_matrix(holes), missing="mask"), X, known.astype(float)
        case "weights":
            omega = known * rng.random(X.shape)
            return Masked(X, omega), X, omega
        case "equilibrated":
            data = as_data(holes, missing="mask")
            scaling = equilibration(data)
            return scaling.apply(data), X / (scaling.a * scaling.b.T), known.astype(float)
        case "transposed":
            data = as_data(np.ascontiguousarray(holes.T), missing="mask")
            return Scaling(transposed=True).apply(data), X, known.astype(float)
        case _:
            return Scaling(0.3, 0.5).apply(as_data(holes, missing="mask")), X / 0.15, known.astype(float)


def initial(X: np.ndarray, rank: int = RANK) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    scale = np.sqrt(X.mean())
    U, V = (np.asfortranarray(scale * rng.random((k, rank))) for k in X.shape)
    return U, V


def explicit_objective(state: FrobeniusState, X: np.ndarray, omega: np.ndarray) -> float:
    problem, U, V = state.problem, state.U, state.V
    loss = 0.5 * np.sum(omega * (X - U @ V.T) ** 2)
    columns = sum(int(np.count_nonzero(factor.any(axis=0))) for factor in (U, V))
    return float(loss + 0.5 * problem.mu * (np.sum(U**2) + np.sum(V**2)) + problem.lam * columns)


@pytest.mark.parametrize(
    ("name", "lam"), [("palm", 0.0), ("palm", 0.05), ("pasm", 0.0), ("pasm", 0.05), ("hals", 0.0)]
)
def test_descent(name: str, lam: float, case) -> None:
    data, X, omega = case
    solver = SOLVERS[name]
    state = solver.init(Problem(data, mu=0.01, lam=lam, delta=0.01), *initial(X))
    objective = explicit_objective(state, X, omega)
    first = objective
    for _ in range(25):
        state = solver.step(state)
        before, objective = objective, explicit_objective(state, X, omega)
        assert objective <= before * (1 + 1e-12)
    assert objective < 0.9 * first


@pytest.mark.parametrize("name", SOLVERS)
def test_losses_and_gradients_of_iterates(name: str, case) -> None:
    """What a state says of itself is what its factors say, after every kind of change."""
    data, X, omega = case
    solver = SOLVERS[name]
    state = solver.init(Problem(data, mu=0.01, delta=0.01), *initial(X))
    for _ in range(4):
        state = solver.step(state)
        for same in (state, state.balance(), state.restart(state.problem)):
            U, V = same.U, same.V
            weighted = omega * (U @ V.T - X)
            loss = 0.5 * np.sum(omega * (X - U @ V.T) ** 2)
            assert_allclose(same.quick_loss, loss, rtol=1e-8)
            assert_allclose(same.loss, loss, rtol=1e-8)
            assert_allclose(same.objective, explicit_objective(same, X, omega), rtol=1e-8)
            assert_allclose(same.XV, (U @ V.T - weighted) @ V, rtol=1e-8, atol=1e-9)
            assert_allclose(same.gradients[0], weighted @ V + 0.01 * U, rtol=1e-7, atol=1e-8)


def test_a_merged_iterate_completes_X_anew(case) -> None:
    data, X, omega = case
    state = Hals().init(Problem(data), *initial(X))
    state = Hals().step(state)
    assert state.quick_loss > 0  # X V is known from here on
    merged = state.merge()
    assert merged.rank == RANK - 1
    loss = 0.5 * np.sum(omega * (X - merged.U @ merged.V.T) ** 2)
    assert_allclose(merged.quick_loss, loss, rtol=1e-8)


def projected_gradient_norm(X, omega, U, V) -> float:
    """Of the weighted loss, written out."""
    residual = omega * (U @ V.T - X)
    parts = [np.where((g < 0) | (B > 0), g, 0.0) for B, g in ((U, residual @ V), (V, residual.T @ U))]
    return float(np.hypot(*(np.linalg.norm(part) for part in parts)))


def by_lbfgs(X, omega, U, V) -> float:
    """The loss that L-BFGS-B reaches from these factors."""
    n, rank = U.shape

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        U, V = z[: n * rank].reshape(n, rank), z[n * rank :].reshape(-1, rank)
        residual = omega * (U @ V.T - X)
        loss = 0.5 * np.sum(residual * (U @ V.T - X))
        return float(loss), np.concatenate([(residual @ V).ravel(), (residual.T @ U).ravel()])

    z = np.concatenate([U.ravel(), V.ravel()])
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(objective, z, jac=True, method="L-BFGS-B", bounds=[(0, None)] * z.size, options=options)
    return float(found.fun)


def polish_without_ridge(data: Data, U: np.ndarray, V: np.ndarray, tol: float = 1e-9) -> Polished:
    options = PathOptions(mu=0.0, tol=tol, max_iter=20000)
    return polish(prepare(data, options, U.shape[1], np.random.default_rng(0)), U, V, options)


def test_polished_solution_is_stationary(case) -> None:
    """Nothing is left for L-BFGS-B to gain, and the projected gradient vanishes."""
    data, X, omega = case
    polished = polish_without_ridge(data, *initial(X))
    assert polished.converged
    U, V = polished.U, polished.V
    energy = np.sum(omega * X**2)
    assert projected_gradient_norm(X, omega, *initial(X)) > 0.1 * np.sqrt(energy)
    assert projected_gradient_norm(X, omega, U, V) < 1e-3 * np.sqrt(energy)
    assert_allclose(polished.loss, 0.5 * np.sum(omega * (X - U @ V.T) ** 2), rtol=1e-8)
    assert polished.loss <= by_lbfgs(X, omega, U, V) * (1 + 1e-3)


def test_rank_one_ends_where_scipy_does(case) -> None:
    """At rank one, with nonnegative data, the two algorithms have one solution to find."""
    data, X, omega = case
    polished = polish_without_ridge(data, *initial(X, 1), tol=1e-10)
    assert_allclose(polished.loss, by_lbfgs(X, omega, *initial(X, 1)), rtol=1e-6)


def test_weights_of_rows_and_columns_are_the_scaled_problem(X, rng: np.random.Generator) -> None:
    """Completing Σ αβ (X - UVᵀ)² step by step leads to the loss of the scaled matrix."""
    alpha, beta = rng.random(20) + 0.2, rng.random(12) + 0.2
    roots = np.sqrt(np.outer(alpha, beta) / np.outer(alpha, beta).max())
    U, V = initial(X)
    completed = polish_without_ridge(Masked(X, roots**2), U, V)
    scaled = polish_without_ridge(as_data(roots * X), U, V)
    assert_allclose(completed.loss, scaled.loss, rtol=1e-3)


def rows_by_scipy(X: np.ndarray, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
    roots = np.sqrt(omega)
    return np.array([nnls(w[:, None] * V, w * x)[0] for x, w in zip(X, roots, strict=True)])


def test_projection_is_nnls_row_by_row(case) -> None:
    data, X, omega = case
    V = np.asfortranarray(np.random.default_rng(2).random((12, 4)))
    W, loss = FROBENIUS.project(data, V)
    expected = rows_by_scipy(X, omega, V)
    assert_allclose(W, expected, atol=2e-5 * expected.max())
    assert_allclose(loss, 0.5 * np.sum(omega * (X - expected @ V.T) ** 2), rtol=1e-8)


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.8])
def test_projection_with_many_missing(fraction: float, holed: Callable[..., np.ndarray]) -> None:
    rng = np.random.default_rng(0)
    V = np.asfortranarray(rng.random((60, 4)) * (rng.random((60, 4)) < 0.6))
    X = rng.random((50, 4)) @ V.T + 0.05 * rng.random((50, 60))
    holes = holed(X, fraction)
    expected = rows_by_scipy(X, (~np.isnan(holes)).astype(float), V)
    W = FROBENIUS.project(as_data(holes, missing="mask"), V).W
    assert_allclose(W, expected, atol=1e-5 * expected.max())


def test_rows_with_fewer_entries_than_components(rng: np.random.Generator) -> None:
    """Several solutions: each row has the smallest loss."""
    V, X = rng.random((12, 6)), rng.random((30, 12))
    omega = np.zeros(X.shape)
    for row in omega:
        row[rng.choice(12, 3, replace=False)] = 1.0
    grams = np.einsum("ij,jk,jl->ikl", omega, V, V)
    W = solve_nnls_each((omega * X) @ V, grams)
    losses, best = (np.sum(omega * (X - rows @ V.T) ** 2, axis=1) for rows in (W, rows_by_scipy(X, omega, V)))
    assert np.all(W >= 0)
    assert_allclose(losses, best, atol=1e-6)


def test_nearly_equal_components(rng: np.random.Generator) -> None:
    """Sweeps hardly move along the valley between two of them; the active set does."""
    v = rng.random(15)
    V = np.column_stack([v, v + 1e-5 * rng.random(15), rng.random(15)])
    X = rng.random((8, 3)) @ V.T
    omega = (rng.random(X.shape) < 0.7).astype(float)
    W = solve_nnls_each((omega * X) @ V, np.einsum("ij,jk,jl->ikl", omega, V, V))
    assert np.all(W >= 0)
    assert np.max(np.abs(omega * (X - W @ V.T))) < 1e-4


def test_nothing_to_project_on() -> None:
    assert solve_nnls_each(np.zeros((3, 0)), np.zeros((3, 0, 0))).shape == (3, 0)
    assert not solve_nnls_each(np.zeros((2, 3)), np.zeros((2, 3, 3))).any()
