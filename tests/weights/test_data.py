"""X with missing entries or weights answers the protocol's questions as NumPy would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.data import Data, Scaled, as_data, as_weighted_data, to_unit_scale
from autonmf.data.blocks import row_blocks
from autonmf.data.evened import Evened, even_out
from autonmf.data.masked import Masked
from autonmf.data.masked_sparse import MaskedSparse
from autonmf.data.rowwise import Turned
from autonmf.data.weighting import split_weights
from autonmf.model.objective import loss_of
from autonmf.model.spectral import explained_norm, leading_triplet

TOLERANCE = {np.float64: 1e-11, np.float32: 2e-5}
SLICES = [slice(None), slice(3, 9), slice(0, 17, 4), slice(5, 5)]
KINDS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "C": lambda X, omega: as_data(np.where(omega > 0, X, np.nan), missing="mask"),
    "Fortran": lambda X, omega: as_data(np.asfortranarray(np.where(omega > 0, X, np.nan)), missing="mask"),
    "csr": lambda X, omega: as_data(with_nan(sparse.csr_matrix, X, omega), missing="mask"),
    "csc": lambda X, omega: as_data(with_nan(sparse.csc_matrix, X, omega), missing="mask"),
    "csr_array": lambda X, omega: as_data(with_nan(sparse.csr_array, X, omega), missing="mask"),
    "weights": lambda X, omega: Masked(X, omega.astype(X.dtype)),
}
VIEWS: dict[str, Callable[[Data, np.ndarray], tuple[Data, np.ndarray]]] = {
    "itself": lambda data, X: (data, X),
    "scaled": lambda data, X: (Scaled(data, 7.0), X / 7.0),
    "divided": lambda data, X: (data.divided(7.0), X / 7.0),
    "evened": lambda data, X: (Evened(data, *SCALES), X / np.outer(*SCALES)),
    "evened scaled": lambda data, X: (Evened(Scaled(data, 7.0), *SCALES), X / np.outer(*SCALES) / 7.0),
    "scaled evened": lambda data, X: (Scaled(Evened(data, *SCALES), 7.0), X / np.outer(*SCALES) / 7.0),
}
SCALES = tuple(np.exp(np.random.default_rng(5).standard_normal(size)) for size in (17, 11))


def with_nan(kind: Callable[[Any], Any], X: np.ndarray, omega: np.ndarray) -> Any:
    """X stored sparse, with NaN stored where an entry is missing."""
    return kind(np.where(omega > 0, X, np.nan))


@pytest.fixture
def X(rng: np.random.Generator) -> np.ndarray:
    X = rng.random((17, 11)) * (rng.random((17, 11)) < 0.6)
    X[3], X[:, 5] = 0.0, 0.0
    return X


@pytest.fixture
def known(rng: np.random.Generator) -> np.ndarray:
    return (rng.random((17, 11)) < 0.7).astype(float)


def check(data: Data, X: np.ndarray, omega: np.ndarray, rng: np.random.Generator, rtol: float) -> None:
    """Compare all of `Data` with plain NumPy on X and ω."""
    dtype = data.dtype
    U, V = (np.asfortranarray(rng.random((k, 4)), dtype=dtype) for k in X.shape)
    w, c = rng.random(X.shape[1]), rng.random(X.shape[0])

    def close(actual: Any, expected: Any) -> None:
        assert_allclose(actual, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0.0))

    assert not data.complete
    for view, matrix, counts, left, right, weights, others in (
        (data, X, omega, U, V, w, c),
        (data.T, X.T, omega.T, V, U, c, w),
    ):
        assert view.shape == matrix.shape
        assert view.dtype == dtype
        assert view.cost > 0
        close(view.squared_norm(), np.sum(counts * matrix**2))
        close(view.squares(weights), (counts * matrix**2) @ weights)
        close(view.column_squares(others), (counts * matrix**2).T @ others)
        for product, expected in (
            (view.right(right), (counts * matrix) @ right),
            (view.left(left), (counts * matrix).T @ left),
        ):
            assert product.dtype == dtype
            assert product.flags.f_contiguous
            close(product, expected)
        fit = left @ right.T
        close(view.inner(left, right), np.sum(counts * matrix * fit))
        close(view.squared_residual(left, right), np.sum(counts * (matrix - fit) ** 2))
        for some in SLICES:
            close(view.rows(some), (counts * matrix)[some])
            close(np.asarray(view.omega(some), dtype=float), counts[some])
            close(view.residual(left, right, some), (np.sqrt(counts) * (matrix - fit))[some])
        seen, completed = view.seen_from(left, right), fit + counts * (matrix - fit)
        check_complete(seen, completed, left, right, close)
        check_complete(seen.T, completed.T, right, left, close)


def check_complete(
    seen: Data, X: np.ndarray, U: np.ndarray, V: np.ndarray, close: Callable[[Any, Any], None]
) -> None:
    assert seen.complete
    assert seen.seen_from(U, V) is seen
    assert np.all(seen.omega(slice(1, 4)) == np.ones_like(X[1:4]))
    close(seen.right(V), X @ V)
    close(seen.left(U), X.T @ U)
    close(seen.inner(U, V), np.sum(X * (U @ V.T)))
    close(seen.squared_norm(), np.sum(X**2))
    close(seen.squares(np.ones(X.shape[1])), np.sum(X**2, axis=1))
    close(seen.column_squares(np.ones(X.shape[0])), np.sum(X**2, axis=0))
    close(seen.squared_residual(U, V), np.sum((X - U @ V.T) ** 2))
    close(seen.rows(slice(2, 9)), X[2:9])
    close(seen.divided(4.0).right(V), X @ V / 4.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_missing_entries(kind: str, view: str, dtype: type, X, known, rng) -> None:
    data, matrix = VIEWS[view](KINDS[kind](X.astype(dtype), known), X.astype(dtype).astype(float))
    assert data.dtype == dtype
    check(data, matrix, known, rng, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("view", VIEWS)
def test_weights(view: str, dtype: type, X, known, rng) -> None:
    omega = (known * rng.random(X.shape)).astype(dtype)
    data, matrix = VIEWS[view](Masked(X.astype(dtype), omega), X.astype(dtype).astype(float))
    check(data, matrix, omega.astype(float), rng, TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["C", "Fortran", "csr", "csc"])
def test_several_blocks(kind: str, rng: np.random.Generator) -> None:
    X, known = rng.random((1200, 700)), (rng.random((1200, 700)) < 0.8).astype(float)
    assert len(list(row_blocks(X.shape))) > 3
    check(KINDS[kind](X, known), X, known, rng, 1e-10)


def test_kinds(X: np.ndarray, known: np.ndarray) -> None:
    assert isinstance(KINDS["C"](X, known), Masked)
    assert KINDS["C"](X, known).weights.dtype == bool
    assert isinstance(KINDS["Fortran"](X, known), Turned)
    assert isinstance(KINDS["csr"](X, known), MaskedSparse)
    assert as_data(X, missing="mask").complete


@pytest.mark.parametrize("kind", KINDS)
def test_even_rows_and_columns_of_what_is_known(kind: str, X, known) -> None:
    even = even_out(KINDS[kind](X, known))
    for axis, scales in ((1, even.a), (0, even.b)):
        squares = np.sum(known * X**2, axis=axis)
        assert_allclose(scales, np.where(squares > 0, squares, 1.0) ** 0.25, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("kind", KINDS)
def test_unit_scale(kind: str, factor: float, X, known, rng) -> None:
    data, scale = to_unit_scale(KINDS[kind](factor * X, known))
    rms = np.sqrt(np.sum(known * X**2) / X.size)
    assert_allclose(scale, factor * rms, rtol=1e-12)
    check(data, X / rms, known, rng, 1e-10)


ENTRIES = st.floats(0.0, 10.0, width=32)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(float, (6, 5), elements=ENTRIES),
    omega=arrays(float, (6, 5), elements=st.floats(0.0, 1.0, width=32)),
    U=arrays(float, (2, 6, 2), elements=ENTRIES),
    V=arrays(float, (2, 5, 2), elements=ENTRIES),
    boolean=st.booleans(),
)
def test_majoriser(X, omega, U, V, boolean: bool) -> None:
    """The loss of the completed matrix is the loss at the fit, and nowhere below it, up to one constant."""
    omega = omega > 0.5 if boolean else omega
    data = Masked(np.where(omega > 0, X, 0.0), omega)
    seen = data.seen_from(U[0], V[0])

    def loss(k: int) -> float:
        return 0.5 * float(np.sum(omega * (X - U[k] @ V[k].T) ** 2))

    def bound(k: int) -> float:
        return seen.squared_residual(U[k], V[k]) / 2

    constant = loss(0) - bound(0)
    rounding = 1e-9 * (1.0 + bound(0) + bound(1))
    assert loss(1) <= bound(1) + constant + rounding
    if boolean:
        assert abs(constant) <= rounding
    assert_allclose(0.5 * data.squared_residual(U[1], V[1]), loss(1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_leading_pair_is_stationary(kind: str, X, known) -> None:
    """u fits what is known of every row with v, and v of every column with u."""
    data = KINDS[kind](X, known)
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
    u, sigma, v = leading_triplet(KINDS["C"](X, known))
    assert_allclose(sigma * u @ v.T, X, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_loss_of_factors(kind: str, X, known, rng) -> None:
    """What confirms a path's losses knows of the missing entries."""
    U, V = rng.random((17, 3)), rng.random((11, 3))
    loss = 0.5 * np.sum(known * (X - U @ V.T) ** 2)
    assert_allclose(loss_of(KINDS[kind](X, known), U, V), loss, rtol=1e-10)


@pytest.mark.parametrize("kind", ["C", "Fortran", "csr", "csc", "csr_array"])
def test_wholly_missing_rows_and_columns_count_as_zeros(kind: str, X: np.ndarray) -> None:
    known = np.ones(X.shape)
    known[2], known[:, 7], known[0, 0] = 0.0, 0.0, 0.0
    data = KINDS[kind](X, known)
    expected = np.ones(X.shape)
    expected[0, 0] = 0.0
    assert_array_equal(data.rows(slice(None)), known * X)
    assert_array_equal(data.omega(slice(None)), expected)


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
    data, scales = as_weighted_data(X, weights=np.outer(alpha, beta))
    assert data.complete
    assert scales is not None
    assert_allclose(data.rows(slice(None)), np.sqrt(np.outer(alpha, beta)) * X, rtol=1e-12)


@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("missing", [False, True])
def test_weighted_loss_of_scaled_data(storage, missing: bool, rng: np.random.Generator) -> None:
    """½‖√ω∘(X̃ - ŨṼᵀ)‖² = ½Σ w (X - UVᵀ)² for U = diag(a) Ũ, V = diag(b) Ṽ."""
    X, weights = rng.random((9, 7)), rng.random((9, 7)) * (rng.random((9, 7)) < 0.8)
    samples = rng.random(9) + 0.5
    given = np.array(X)
    if missing:
        given[rng.random(X.shape) < 0.2] = np.nan
    data, scales = as_weighted_data(storage(given), missing="mask", sample_weight=samples, weights=weights)
    U, V = rng.random((9, 2)), rng.random((7, 2))
    counts = weights * samples[:, None] * ~np.isnan(given)
    expected = np.sum(counts * (X - U @ V.T) ** 2)
    assert scales is not None
    a, b = scales
    assert_allclose(data.squared_residual(U / a[:, None], V / b[:, None]), expected, rtol=1e-10)
    assert_allclose(data.squared_norm(), np.sum(counts * X**2), rtol=1e-10)
