"""Fully constrained least squares, against quadratic programming and against all supports."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from autonmf.model.fcls import MAX_WEIGHTS, ROWS, solve_fcls


def solve_by_slsqp(x: np.ndarray, E: np.ndarray) -> np.ndarray:
    """A quadratic program of SciPy, from the centre of the simplex."""
    r = len(E)
    found = minimize(
        lambda a: 0.5 * np.sum((a @ E - x) ** 2),
        np.full(r, 1.0 / r),
        jac=lambda a: E @ (a @ E - x),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * r,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": lambda a: np.ones(r)},
        options={"ftol": 1e-16, "maxiter": 500},
    )
    return found.x


def solve_by_enumeration(x: np.ndarray, E: np.ndarray) -> np.ndarray:
    """The best feasible solution of all supports, each from its KKT system."""
    r, best, lowest = len(E), np.zeros(len(E)), np.inf
    for size in range(1, r + 1):
        for support in map(list, combinations(range(r), size)):
            P = E[support]
            system = np.block([[P @ P.T, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            a = np.linalg.lstsq(system, np.append(P @ x, 1.0), rcond=None)[0][:size]
            value = np.sum((a @ P - x) ** 2)
            if a.min() >= -1e-12 and abs(a.sum() - 1.0) < 1e-9 and value < lowest:
                lowest, best = value, np.zeros(r)
                best[support] = a
    return best


def distances(X: np.ndarray, A: np.ndarray, E: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X - A @ E, axis=1)


def check_feasible(A: np.ndarray) -> None:
    assert (A >= 0).all()
    np.testing.assert_allclose(A.sum(axis=1), 1.0, atol=1e-14)


def draw(rng: np.random.Generator, r: int, m: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Pixels inside, near and far outside the simplex of r endmembers."""
    E = rng.random((r, m))
    A = rng.dirichlet(np.full(r, 0.5), n)
    return A @ E + rng.choice([0.0, 0.1, 3.0], (n, 1)) * rng.standard_normal((n, m)), E


@pytest.mark.parametrize("r", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("m", [8, 30])
def test_weights_are_those_of_all_supports(r: int, m: int) -> None:
    for seed in range(10):
        X, E = draw(np.random.default_rng(seed), r, m)
        A = solve_fcls(X, E)
        check_feasible(A)
        np.testing.assert_allclose(A, [solve_by_enumeration(x, E) for x in X], atol=1e-8)


@pytest.mark.parametrize("r", [3, 8, 12])
def test_no_quadratic_program_finds_a_nearer_mixture(r: int) -> None:
    X, E = draw(np.random.default_rng(r), r, 20)
    A, B = solve_fcls(X, E), np.array([solve_by_slsqp(x, E) for x in X])
    np.testing.assert_allclose(distances(X, A, E), distances(X, B, E), atol=1e-8)
    np.testing.assert_allclose(A, B, atol=1e-6)  # SLSQP itself is not more accurate


def degenerate_cases() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    X, E = draw(rng, 4, 6)
    line = np.linspace(0.0, 1.0, 5)[:, None] * E[0] + np.linspace(1.0, 0.0, 5)[:, None] * E[1]
    return {
        "two equal endmembers": (X, E[[0, 1, 1, 2]]),
        "all equal": (X, E[[0, 0, 0]]),
        "endmembers on a line": (X, line),
        "one is the mean of others": (X, np.vstack([E, E.mean(axis=0)])),
        "more endmembers than bands": (X[:, :2], E[:, :2]),
        "one band": (X[:, :1], E[:, :1]),
        "zero endmember": (X, np.vstack([E, np.zeros(6)])),
        "all zero": (X, np.zeros((3, 6))),
        "zero pixels": (np.zeros((3, 6)), E),
        "pixels that are endmembers": (E, E),
        "pixels on edges": ((E[:2] + E[2:]) / 2.0, E),
        "nearly equal": (X, E[0] + 1e-9 * E),
        "tiny units": (1e-150 * X, 1e-150 * E),
        "large units": (1e100 * X, 1e100 * E),
        "very different brightness": (X, E * np.array([[1.0], [1e-6], [1e6], [1.0]])),
    }


@pytest.mark.parametrize("case", degenerate_cases())
def test_degenerate_cases_are_as_near_as_can_be(case: str) -> None:
    X, E = degenerate_cases()[case]
    A = solve_fcls(X, E)
    check_feasible(A)
    unit = max(np.abs(E).max(), np.abs(X).max(), 1e-300)
    X, E = X / unit, E / unit
    best = np.array([solve_by_enumeration(x, E) for x in X])
    assert (distances(X, A, E) <= distances(X, best, E) + 1e-8).all()


@settings(deadline=None)
@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-3, 1.0]))
def test_optimality_conditions(r: int, m: int, seed: int, noise: float) -> None:
    """The gradient is smallest, and the same, on the weights that are not zero."""
    rng = np.random.default_rng(seed)
    E = np.rint(3.0 * rng.random((r, m)))  # ties
    X = rng.dirichlet(np.ones(r), 20) @ E + noise * rng.standard_normal((20, m))
    A = solve_fcls(X, E)
    check_feasible(A)
    gradient = (A @ E - X) @ E.T
    level = np.sum(A * gradient, axis=1, keepdims=True)
    assert (gradient - level >= -1e-9).all()


def test_any_feasible_start_leads_to_the_same_weights() -> None:
    rng = np.random.default_rng(0)
    X, E = draw(rng, 5, 20, n=200)
    A = solve_fcls(X, E)
    for start in (A, rng.dirichlet(np.ones(5), 200), np.eye(5)[rng.integers(5, size=200)]):
        given = start.copy()
        np.testing.assert_allclose(solve_fcls(X, E, start), A, atol=1e-10)
        np.testing.assert_array_equal(start, given)


def test_each_row_is_solved_by_itself() -> None:
    """More rows than are solved together, and as many weights as there may be."""
    rng = np.random.default_rng(0)
    X, E = draw(rng, 3, 5, n=ROWS + 10)
    A = solve_fcls(X, E)
    np.testing.assert_allclose(A[::977], [solve_fcls(x[None], E)[0] for x in X[::977]], atol=1e-12)
    E = rng.random((MAX_WEIGHTS, 80))
    truth = rng.dirichlet(np.full(MAX_WEIGHTS, 0.1), 20)
    np.testing.assert_allclose(solve_fcls(truth @ E, E), truth, atol=1e-8)
