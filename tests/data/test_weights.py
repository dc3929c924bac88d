"""X with missing entries or weights answers the protocol's questions as NumPy would."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.data import Scaled, as_data, open_data, read_all, row_blocks
from autonmf.data.masked import Masked, MaskedSparse, count_columns, count_rows
from autonmf.data.weights import split_weights
from autonmf.losses import FROBENIUS
from autonmf.model.initial import explained_norm, leading_triplet

Kind = Callable[[np.ndarray, np.ndarray], Any]
TOLERANCE = {np.float64: 1e-11, np.float32: 2e-5}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_entries(incomplete: Kind, dtype: type, X, known, kinds: SimpleNamespace) -> None:
    data = incomplete(X.astype(dtype), known)
    assert data.dtype == dtype
    kinds.compare(data, X.astype(dtype).astype(float), TOLERANCE[dtype], known)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights(scaling, dtype: type, X, known, rng, kinds: SimpleNamespace) -> None:
    """Of every size from zero to one; zero where X is anything."""
    omega = (known * rng.random(X.shape)).astype(dtype)
    data = scaling.apply(Masked(X.astype(dtype), omega))
    weights = omega.astype(float).T if scaling.transposed else omega.astype(float)
    kinds.compare(data, kinds.scale(X.astype(dtype).astype(float), scaling), TOLERANCE[dtype], weights)


def test_several_blocks(incomplete: Kind, rng: np.random.Generator, kinds: SimpleNamespace) -> None:
    X, known = rng.random((1200, 700)), (rng.random((1200, 700)) < 0.8).astype(float)
    assert len(list(row_blocks(X.shape))) > 3
    kinds.compare(incomplete(X, known), X, 1e-10, known)


def test_kinds(X: np.ndarray, known: np.ndarray, kinds: SimpleNamespace) -> None:
    made = {name: make(X, known) for name, make in kinds.incomplete.items()}
    for name in ("masked C", "masked Fortran"):  # a column-ordered X is not copied to rows
        assert isinstance(made[name], Masked)
        assert made[name].weights.dtype == bool
        assert made[name].X.flags.f_contiguous == (name == "masked Fortran")
    for name in ("masked csr", "masked csc", "masked csr_array"):
        assert isinstance(made[name], MaskedSparse)
    assert as_data(X, missing="mask").complete


def test_counts(incomplete: Kind, X: np.ndarray, known: np.ndarray, rng: np.random.Generator) -> None:
    data = incomplete(X, known)
    U, V = rng.random((17, 2)), rng.random((11, 2))
    assert_allclose(count_rows(data, V), known @ V, rtol=1e-12)
    assert_allclose(count_columns(data, U), known.T @ U, rtol=1e-12)


ENTRIES = st.floats(0.0, 10.0, width=32)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(float, (6, 5), elements=ENTRIES),
    omega=arrays(float, (6, 5), elements=st.floats(0.0, 1.0, width=32)),
    U=arrays(float, (2, 6, 2), elements=ENTRIES),
    V=arrays(float, (2, 5, 2), elements=ENTRIES),
    boolean=st.booleans(),
)
def test_completed_loss_bounds_the_loss(X, omega, U, V, boolean: bool) -> None:
    """The loss of the completed matrix is the loss at the fit, and nowhere below it, up to one constant."""
    omega = omega > 0.5 if boolean else omega
    data = Masked(np.where(omega > 0, X, 0.0), omega)
    completed = data.completed_at(U[0], V[0])

    def loss(k: int) -> float:
        return 0.5 * float(np.sum(omega * (X - U[k] @ V[k].T) ** 2))

    def bound(k: int) -> float:
        return completed.squared_residual(U[k], V[k]) / 2

    constant = loss(0) - bound(0)
    rounding = 1e-9 * (1.0 + bound(0) + bound(1))
    assert loss(1) <= bound(1) + constant + rounding
    if boolean:
        assert abs(constant) <= rounding
    assert_allclose(0.5 * data.squared_residual(U[1], V[1]), loss(1), rtol=1e-9, atol=1e-9)


def test_leading_pair_is_stationary(incomplete: Kind, X, known) -> None:
    """u fits what is known of every row with v, and v of every column with u."""
    data = incomplete(X, known)
    u, sigma, v = leading_triplet(data)
    assert_allclose([np.linalg.norm(u), np.linalg.norm(v)], 1.0, rtol=1e-12)
    residual = known * (X - sigma * u @ v.T)
    size = np.linalg.norm(X)
    assert np.linalg.norm(residual @ v) < 1e-4 * size
    assert np.linalg.norm(residual.T @ u) < 1e-4 * size
    explained = np.sum(known * X**2) - np.sum(residual**2)
    assert_allclose(explained_norm(data, *leading_triplet(data)) ** 2, explained, rtol=1e-9)


def test_leading_pair_of_an_exact_matrix(known: np.ndarray, rng: np.random.Generator) -> None:
    X = np.outer(rng.random(17) + 0.1, rng.random(11) + 0.1)
    u, sigma, v = leading_triplet(as_data(np.where(known > 0, X, np.nan), missing="mask"))
    assert_allclose(sigma * u @ v.T, X, rtol=1e-6)


def test_loss_of_factors(incomplete: Kind, X, known, rng) -> None:
    """What evaluates a path on X knows of the missing entries."""
    U, V = rng.random((17, 3)), rng.random((11, 3))
    loss = 0.5 * np.sum(known * (X - U @ V.T) ** 2)
    assert_allclose(FROBENIUS.value(incomplete(X, known), U, V), loss, rtol=1e-10)


def test_wholly_missing_rows_and_columns_count_as_zeros(X: np.ndarray, kinds: SimpleNamespace) -> None:
    known = np.ones(X.shape)
    known[2], known[:, 7], known[0, 0] = 0.0, 0.0, 0.0
    expected = np.ones(X.shape)
    expected[0, 0] = 0.0
    for name, make in kinds.incomplete.items():
        if name != "weights":
            data = make(X, known)
            assert_array_equal(read_all(data), known * X)
            assert_array_equal(count_rows(data, np.eye(X.shape[1])), expected)


@settings(max_examples=60, deadline=None)
@given(
    weights=arrays(float, (5, 4), elements=st.one_of(st.just(0.0), st.floats(0.01, 100.0))),
)
def test_weights_are_scales_times_what_is_left(weights: np.ndarray) -> None:
    alpha, beta, omega = split_weights(weights)
    assert np.all(alpha > 0)
    assert np.all(beta > 0)
    omega = np.ones_like(weights) if omega is None else omega
    assert_allclose(np.outer(alpha, beta) * omega, weights, rtol=1e-9)
    assert np.all((omega >= 0) & (omega <= 1))


def test_weights_of_rows_and_columns_need_no_completion(rng: np.random.Generator) -> None:
    alpha, beta = np.exp(rng.standard_normal(9)), np.exp(rng.standard_normal(7))
    assert split_weights(np.outer(alpha, beta)).omega is None
    X = rng.random((9, 7))
    opened = open_data(X, weights=np.outer(alpha, beta))
    assert opened.weighted
    assert opened.data.complete
    assert isinstance(opened.data, Scaled)
    assert_allclose(read_all(opened.data), np.sqrt(np.outer(alpha, beta)) * X, rtol=1e-12)


@pytest.mark.parametrize("store", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("missing", [False, True])
def test_weighted_loss_of_scaled_data(store, missing: bool, rng: np.random.Generator) -> None:
    """½‖√ω∘(X̃ - ŨṼᵀ)‖² = ½Σ w (X - UVᵀ)² for U = diag(a) Ũ, V = diag(b) Ṽ."""
    X, weights = rng.random((9, 7)), rng.random((9, 7)) * (rng.random((9, 7)) < 0.8)
    samples = rng.random(9) + 0.5
    given = np.array(X)
    if missing:
        given[rng.random(X.shape) < 0.2] = np.nan
    opened = open_data(store(given), missing="mask", sample_weight=samples, weights=weights)
    U, V = rng.random((9, 2)), rng.random((7, 2))
    counts = weights * samples[:, None] * ~np.isnan(given)
    expected = np.sum(counts * (X - U @ V.T) ** 2)
    factors = opened.scaling.to_scaled(U, V)
    assert_allclose(opened.data.squared_residual(*factors), expected, rtol=1e-10)
    assert_allclose(opened.data.squared_norm(), np.sum(counts * X**2), rtol=1e-10)
