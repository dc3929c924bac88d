"""Norm inequalities of balanced nonnegative factorisations (the nonnegative nuclear norm itself is hard)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from autonmf.model.components import balance


def chain(U: np.ndarray, V: np.ndarray) -> tuple[float, float, float]:
    """‖X‖_*, ½(‖U‖² + ‖V‖²) and √r‖X‖ of X = UVᵀ."""
    X = U @ V.T
    half = 0.5 * (np.sum(U**2) + np.sum(V**2))
    return np.linalg.norm(X, "nuc"), half, np.sqrt(U.shape[1]) * np.linalg.norm(X)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 6), density=st.floats(0.1, 1))
def test_chain(seed, rank, density):
    rng = np.random.default_rng(seed)
    U, V = (rng.random((k, rank)) * (rng.random((k, rank)) < density) for k in (7, 5))
    nuclear, half, bound = chain(*balance(U, V))
    assert nuclear <= half + 1e-10
    assert half <= bound + 1e-10


def test_both_ends_are_attained():
    """The identity: ‖I‖_* = ν₊(I) = ½(‖I‖² + ‖I‖²) = √n‖I‖ = n."""
    assert_allclose(chain(np.eye(5), np.eye(5)), 5)


def test_last_inequality_needs_balance_and_signs():
    U, V = 10 * np.eye(3), np.eye(3) / 10
    assert chain(U, V)[1] > chain(U, V)[2]
    U = np.array([[1.0, 1.0]])
    assert chain(U, U * [1, -1])[1] > chain(U, U * [1, -1])[2]  # the two terms cancel


@pytest.mark.parametrize("seed", range(3))
def test_nuclear_norm_bounds_every_factorisation(seed):
    """Without signs the least ½(‖U‖² + ‖V‖²) over X = UVᵀ is ‖X‖_*; with signs it cannot be less."""
    rng = np.random.default_rng(seed)
    X = rng.random((4, 2)) @ rng.random((3, 2)).T
    U0, V0 = np.eye(4)[:, :4], X.T

    def half(t: np.ndarray) -> float:
        """Over all UA, VA⁻ᵀ."""
        A = np.eye(4) + t.reshape(4, 4)
        if abs(np.linalg.det(A)) < 1e-8:
            return 1e9
        return 0.5 * (np.sum((U0 @ A) ** 2) + np.sum((V0 @ np.linalg.inv(A).T) ** 2))

    best = minimize(half, 0.1 * rng.standard_normal(16), method="BFGS", options={"gtol": 1e-4}).fun
    nuclear = np.linalg.norm(X, "nuc")
    assert best >= nuclear - 1e-9
    assert best <= nuclear * 1.05
