"""Scale balancing: what it preserves, how far it moves, and the sharp factor of the total step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from autonmf.model.components import balance

SEEDS = range(5)
# A balanced matrix pair (n = 3, m = 2) and its update: directions, common norms, and what is added.
sizes = st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0])


@st.composite
def updates(draw, columns: int = 3):
    """(U, V) balanced, and (Û, V̂) anywhere: near, far, or with columns that vanish."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U, V = rng.standard_normal((3, columns)), rng.standard_normal((2, columns))
    norms = np.array([draw(sizes) for _ in range(columns)])
    U, V = (B / np.linalg.norm(B, axis=0) * norms for B in (U, V))
    moved = []
    for B in (U, V):
        steps = np.array([draw(sizes) for _ in range(columns)])
        scale = np.array([draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0])) for _ in range(columns)])
        moved.append(B * scale + rng.standard_normal(B.shape) * steps)
    return U, V, *moved


@pytest.mark.parametrize("seed", SEEDS)
def test_balancing(seed, paper):
    """Equal norms, the same product, zero in both factors where zero in one, as written in Algorithm 2."""
    rng = np.random.default_rng(seed)
    U, V = rng.random((6, 4)), 7 * rng.random((5, 4))
    U[:, 0], V[:, 2] = 0.0, 0.0
    found = balance(U, V)
    for factor, expected in zip(found, paper.balance(U, V), strict=True):
        assert_allclose(factor, expected)
        assert_array_equal(factor.any(axis=0), [False, True, False, True])
    assert_allclose(*(np.linalg.norm(factor, axis=0) for factor in found))
    assert_allclose(found[0] @ found[1].T, U @ V.T)


@pytest.mark.parametrize("seed", SEEDS)
def test_balanced_scales_minimise_the_squared_norms(seed):
    """Remark 3(a): over all scalings of the columns, found by a general minimiser."""
    rng = np.random.default_rng(seed)
    U, V = rng.random((6, 3)), 7 * rng.random((5, 3))
    best = minimize(lambda t: np.sum((U * np.exp(t)) ** 2) + np.sum((V * np.exp(-t)) ** 2), np.zeros(3))
    balanced = sum(np.sum(factor**2) for factor in balance(U, V))
    assert_allclose(balanced, best.fun, rtol=1e-6)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(updates(columns=1))
def test_column_displacement(update):
    """Lemma 1: ‖x⁺ - x̂‖ + ‖y⁺ - ŷ‖ ≤ ‖Δx‖ + ‖Δy‖."""
    x, y, xh, yh = update
    jump = sum(np.linalg.norm(a - b) for a, b in zip(balance(xh, yh), (xh, yh), strict=True))
    assert jump <= np.linalg.norm(xh - x) + np.linalg.norm(yh - y) + 1e-12 * (1 + jump)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(updates())
def test_matrix_displacement(update):
    """Lemma 2, both forms."""
    U, V, Uh, Vh = update
    jumps = [np.linalg.norm(a - b) for a, b in zip(balance(Uh, Vh), (Uh, Vh), strict=True)]
    steps = [np.linalg.norm(Uh - U), np.linalg.norm(Vh - V)]
    slack = 1e-12 * (1 + max(jumps)) ** 2
    assert np.sum(np.square(jumps)) <= 2 * np.sum(np.square(steps)) + slack
    assert np.sum(jumps) <= np.sqrt(2) * np.sum(steps) + slack


@settings(max_examples=300, deadline=None, derandomize=True)
@given(updates())
def test_total_step_is_at_most_twice_the_update(update):
    """‖Z⁺ - Z‖² ≤ 2‖Ẑ - Z‖² for balanced Z: the factor c of the S-iPALM decrease (paper: 3, unproved)."""
    U, V, Uh, Vh = update
    Up, Vp = balance(Uh, Vh)
    total = np.sum((Up - U) ** 2) + np.sum((Vp - V) ** 2)
    step = np.sum((Uh - U) ** 2) + np.sum((Vh - V) ** 2)
    assert total <= 2 * step + 1e-12 * (1 + total)


def ratio(z: np.ndarray) -> float:
    """‖Z⁺ - Z‖²/‖Ẑ - Z‖² for one column: it depends on a = ‖x̂‖/ρ, b = ‖ŷ‖/ρ and two angles only."""
    a, b = np.square(z[:2])
    p, q = np.cos(z[2:])
    total = 2 * a * b + 2 - 2 * np.sqrt(a * b) * (p + q)
    step = a * a + b * b + 2 - 2 * (a * p + b * q)
    return total / step if step > 1e-12 else 0.0


def test_formula_of_the_ratio():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y, xh, yh = rng.standard_normal((4, 2, 1))
        y *= np.linalg.norm(x) / np.linalg.norm(y)
        rho, a, b = (np.linalg.norm(v) for v in (x, xh, yh))
        angles = [np.arccos(np.sum(u * v) / rho / w) for u, v, w in ((x, xh, a), (y, yh, b))]
        xp, yp = balance(xh, yh)
        expected = np.sum((xp - x) ** 2) + np.sum((yp - y) ** 2)
        expected /= np.sum((xh - x) ** 2) + np.sum((yh - y) ** 2)
        assert_allclose(ratio(np.array([np.sqrt(a / rho), np.sqrt(b / rho), *angles])), expected)


def test_worst_case_search_finds_two():
    rng = np.random.default_rng(0)
    options = {"maxiter": 4000, "xatol": 1e-10, "fatol": 1e-12}
    found = [
        -minimize(lambda z: -ratio(z), 2 * rng.standard_normal(4), method="Nelder-Mead", options=options).fun
        for _ in range(40)
    ]
    assert max(found) == pytest.approx(2, abs=1e-6)


def test_factors_are_attained():
    """No smaller constants will do: a column that vanishes in one factor takes the other along."""
    x = y = np.ones((1, 1))
    zero = np.zeros((1, 1))
    assert_array_equal(balance(zero, y), (zero, zero))
    assert np.sum((zero - x) ** 2) + np.sum((zero - y) ** 2) == 2 * np.sum((zero - x) ** 2)  # c = 2
    # Lemma 2, squared: x̂ = 0 and ŷ = 2y jump by 4, and the update was 1 + 1
    jump = np.sum((balance(zero, 2 * y)[1] - 2 * y) ** 2)
    assert jump == 2 * (np.sum((zero - x) ** 2) + np.sum((2 * y - y) ** 2))


def test_start_must_be_balanced():
    """The lemmas assume a balanced iterate: from norms 1 and 4 an update of length zero still jumps."""
    x, y = np.ones((1, 1)), 4 * np.ones((1, 1))
    moved = sum(np.sum((a - b) ** 2) for a, b in zip(balance(x, y), (x, y), strict=True))
    assert moved == pytest.approx(1 + 4)
