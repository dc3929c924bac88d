"""Sweeps with the Kullback-Leibler loss: compiled ones against NumPy, and both against the mathematics."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import xlogy

from autonmf.kernels import reference

try:
    from autonmf.kernels import native
except OSError:  # installed without a compiler
    native = None  # type: ignore[assignment]

IMPLEMENTATIONS = [reference] if native is None else [reference, native]
compiled = pytest.mark.skipif(native is None, reason="installed without a compiler")


def draw(seed: int, shape: tuple[int, int, int], dtype: type = np.float64) -> tuple[np.ndarray, ...]:
    """Counts with zeros, empty rows and repeated rows, and factors with zeros."""
    n, m, r = shape
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.5, 2.0, (n, 2)) @ rng.gamma(0.5, 2.0, (2, m))).astype(dtype)
    X[n // 2] = X[0]
    if n > 3:
        X[1] = 0
    U = np.asfortranarray(rng.random((n, r)), dtype)
    V = np.asfortranarray(rng.random((m, r)) * (rng.random((m, r)) < 0.8) + 1e-3, dtype)
    return X, U, V


def divergence(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> float:
    fit = U.astype(float) @ V.T.astype(float)
    x = X.astype(float)
    return float(np.sum(xlogy(x, x) - xlogy(x, np.maximum(fit, 1e-300)) - x + fit))


def sweep(kernel: ModuleType, X: Any, U: np.ndarray, V: np.ndarray, count: int, tol: float = 0.0) -> Any:
    """The factor after some sweeps, and the loss that they report."""
    U, sums = U.copy(order="F"), V.sum(axis=0, dtype=float)
    loss = kernel.kl_sweeps(X, kernel.pad_rows(V, sparse=sparse.issparse(X)), sums, U, count, tol)
    return U, loss + float(np.sum(U * sums, dtype=float))


@compiled
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-3)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 3), (30, 41, 9), (12, 100, 17), (5, 8, 33)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_compiled_sweeps_are_those_of_numpy(dtype: type, rtol: float, shape: Any, kind: Any) -> None:
    X, U, V = draw(0, shape, dtype)
    for count in range(3):
        ours, loss = sweep(native, kind(X), U, V, count)
        theirs, expected = sweep(reference, kind(X), U, V, count)
        assert_allclose(ours, theirs, rtol=rtol, atol=rtol * theirs.max())
        assert loss == pytest.approx(expected, rel=rtol, abs=rtol)


@compiled
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_weights_that_vanish_and_come_back(kind: Any) -> None:
    """Many components for few counts: in each sweep some weights become small, and some small ones grow."""
    rng = np.random.default_rng(2)
    X = rng.poisson(0.3, (60, 20)).astype(float)
    V = np.asfortranarray(rng.random((20, 40)) ** 4)
    U = np.asfortranarray(np.where(rng.random((60, 40)) < 0.5, 1e-20, rng.random((60, 40))))
    for count in (1, 2, 7, 40):
        ours, loss = sweep(native, kind(X), U, V, count, 1e-12)
        theirs, expected = sweep(reference, kind(X), U, V, count, 1e-12)
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-10)
        assert loss == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
@pytest.mark.parametrize("by_row", [False, True])
def test_the_ratio_is_that_of_the_entries_and_their_fit(kernel: ModuleType, by_row: bool) -> None:
    X, U, V = draw(1, (9, 14, 4))
    sums = np.tile(V.sum(axis=0), (9, 1)) if by_row else V.sum(axis=0)
    stored = sparse.csr_matrix(X)
    for M, ratio in ((X, np.empty_like(X)), (stored, np.empty_like(stored.data))):
        kernel.kl_sweeps(M, kernel.pad_rows(V, sparse=M is stored), sums, U.copy(order="F"), 0, 0.0, ratio)
        expected = X / (U @ V.T)
        assert_allclose(ratio, expected if M is X else expected[X > 0], rtol=1e-12)


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6))
def test_every_sweep_lowers_the_loss_and_reports_it(
    kernel: ModuleType, kind: Any, seed: int, rank: int
) -> None:
    X, U, V = draw(seed, (8, 11, rank))
    before = divergence(X, U, V)
    for _ in range(4):
        U, loss = sweep(kernel, kind(X), U, V, 1)
        assert loss == pytest.approx(divergence(X, U, V), rel=1e-9, abs=1e-9)
        assert loss <= before + 1e-9 * max(1.0, before)
        before = loss


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_one_weight_never_raises_the_loss_however_far_it_is(kernel: ModuleType, seed: int) -> None:
    """The step of a single coordinate, from weights of any size: its proof needs no bound on them."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(3.0, (1, 6)) * 10.0 ** rng.uniform(-3, 3, (1, 6))
    V = np.asfortranarray(10.0 ** rng.uniform(-6, 2, (6, 2)))
    U = np.asfortranarray(10.0 ** rng.uniform(-8, 4, (1, 2)))
    before = divergence(X, U, V)
    after = divergence(X, sweep(kernel, X, U, V, 1)[0], V)
    assert after <= before * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
def test_fixed_points_satisfy_the_kkt_conditions(kernel: ModuleType) -> None:
    X, U, V = draw(3, (12, 20, 3))
    U, _ = sweep(kernel, X, U, V, 3000, 1e-14)
    gradient = V.sum(axis=0) - (X / np.maximum(U @ V.T, 1e-300)) @ V
    gradient[1] = 0.0  # a row without counts
    scale = V.sum(axis=0).max()
    assert np.abs(U * gradient).max() < 1e-8 * scale * U.max()
    assert gradient.min() > -1e-8 * scale


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6), fixed=st.integers(0, 4))
def test_components_before_the_first_stay_as_they_are(
    kernel: ModuleType, kind: Any, seed: int, fixed: int
) -> None:
    """Sweeps over the others lower the loss, which they report."""
    X, U, V = draw(seed, (8, 11, 4))
    U[2, :2] = 0.0
    sums, other = V.sum(axis=0), kernel.pad_rows(V, sparse=kind is not np.asarray)
    before, swept = divergence(X, U, V), U.copy(order="F")
    for _ in range(3):
        loss = kernel.kl_sweeps(kind(X), other, sums, swept, 1, first=fixed) + float(np.sum(swept * sums))
        assert loss == pytest.approx(divergence(X, swept, V), rel=1e-9, abs=1e-9)
        assert loss <= before + 1e-9 * max(1.0, before)
        before = loss
    assert_array_equal(swept[:, :fixed], U[:, :fixed])
    assert_array_equal(swept[~X.any(axis=1), fixed:], 0.0)


def duality_gap(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """How far each row of U is above its minimum at most, whatever that is: the loss is convex.

    The minimum w* lies above the tangent at w, and the weighted sum of w* over the sums of V is that of x.
    """
    sums = V.sum(axis=0)
    with np.errstate(invalid="ignore"):
        gradient = sums - np.where(X > 0, X / (U @ V.T), 0.0) @ V
    least = np.min(np.minimum(gradient, 0.0) / sums, axis=1)
    return np.sum(U * gradient, axis=1) - least * X.sum(axis=1)


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("shape", "apart"), [((30, 50, 5), 1e-2), ((20, 30, 10), 1e-2), ((9, 40, 4), 1e-4)])
def test_weights_of_components_that_are_nearly_equal_settle(
    kernel: ModuleType, kind: Any, shape: tuple[int, int, int], apart: float
) -> None:
    n, m, r = shape
    rng = np.random.default_rng(0)
    V = np.asfortranarray(rng.gamma(0.5, 1.0, (m, 1)) * (1.0 + apart * rng.standard_normal((m, r))))
    X = rng.poisson(rng.gamma(0.5, 2.0, (n, r)) @ V.T).astype(float)
    U, _ = sweep(kernel, kind(X), np.ones((n, r), order="F"), V, 200, 1e-11)
    assert np.all(duality_gap(X, U, V) <= 1e-9 * (1.0 + X.sum(axis=1)))


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
@pytest.mark.parametrize("fixed", [1, 2])
def test_free_components_satisfy_the_kkt_conditions(kernel: ModuleType, fixed: int) -> None:
    X, U, V = draw(3, (12, 20, 3))
    sums, swept = V.sum(axis=0), U.copy(order="F")
    kernel.kl_sweeps(X, kernel.pad_rows(V), sums, swept, 3000, 1e-14, first=fixed)
    assert_array_equal(swept[:, :fixed], U[:, :fixed])
    gradient = sums - (X / (swept @ V.T)) @ V
    gradient, free = gradient[X.any(axis=1), fixed:], swept[X.any(axis=1), fixed:]
    assert np.abs(free * gradient).max() < 1e-8 * sums.max() * free.max()
    assert gradient.min() > -1e-8 * sums.max()


@compiled
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_compiled_sweeps_begin_where_those_of_numpy_do(kind: Any) -> None:
    X, U, V = draw(9, (30, 41, 9))
    swept = [U.copy(order="F") for _ in IMPLEMENTATIONS]
    for kernel, block in zip(IMPLEMENTATIONS, swept, strict=True):
        other = kernel.pad_rows(V, sparse=kind is not np.asarray)
        kernel.kl_sweeps(kind(X), other, V.sum(axis=0), block, 2, first=5)
    assert_allclose(*swept, rtol=1e-10, atol=1e-14)
    assert not np.array_equal(swept[0][:, 5:], U[:, 5:])


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
def test_a_row_is_solved_as_by_a_general_solver(kernel: ModuleType) -> None:
    X, U, V = draw(4, (6, 15, 3))
    U, _ = sweep(kernel, X, U, V, 5000, 1e-14)
    for x, w in zip(X, U, strict=True):
        if not x.any():
            continue

        def loss(v: np.ndarray, x: np.ndarray = x) -> float:
            return divergence(x[None], v[None], V)

        found = minimize(
            loss, np.full(3, x.sum() / V.sum()), bounds=[(1e-12, None)] * 3, options={"maxiter": 1000}
        )
        assert loss(w) <= found.fun + 1e-8 * max(1.0, found.fun)


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
def test_rows_do_not_depend_on_their_neighbours(kernel: ModuleType) -> None:
    X, U, V = draw(5, (10, 12, 4))
    together, _ = sweep(kernel, X, U, V, 200, 1e-6)
    for i in range(10):
        alone, _ = sweep(kernel, X[i : i + 1], U[i : i + 1].copy(order="F"), V, 200, 1e-6)
        assert_allclose(alone[0], together[i], rtol=1e-12)


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
def test_rows_without_counts_have_no_weights(kernel: ModuleType) -> None:
    X, U, V = draw(6, (8, 9, 2))
    swept, _ = sweep(kernel, sparse.csr_matrix(X), U, V, 1)
    assert_array_equal(swept[1], 0.0)
    dense, _ = sweep(kernel, X, U, V, 30)
    assert dense[1].max() < 1e-12


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
def test_counts_where_no_component_has_mass_are_left_out(kernel: ModuleType) -> None:
    X, U, V = draw(7, (6, 10, 2))
    V[3] = 0.0
    X[:, 3] = 5.0
    others = np.delete(X, 3, axis=1)
    with_it, _ = sweep(kernel, X, U, V, 3000, 1e-13)
    without, _ = sweep(kernel, others, U, np.asfortranarray(np.delete(V, 3, axis=0)), 3000, 1e-13)
    assert np.isfinite(with_it).all()
    assert_allclose(with_it, without, rtol=1e-6, atol=1e-9)


@compiled
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-11), (np.float32, 1e-4)])
def test_pairs(dtype: type, rtol: float) -> None:
    rng = np.random.default_rng(0)
    profiles, sizes = np.asfortranarray(rng.random((37, 5)), dtype), rng.random(5) + 0.1
    assert_allclose(native.kl_pairs(profiles, sizes), reference.kl_pairs(profiles, sizes), rtol=rtol)


@compiled
def test_what_does_not_fit_is_refused() -> None:
    X, U, V = draw(8, (6, 10, 2))
    sums = V.sum(axis=0)
    for other, block, s in (
        (V, U, sums),  # not padded
        (native.pad_rows(V[:, :1]), U, sums),
        (native.pad_rows(V), U.astype(np.float32), sums),
        (native.pad_rows(V), np.ascontiguousarray(U), sums),
        (native.pad_rows(V), U[:3].copy(order="F"), sums),
        (native.pad_rows(V), U, sums[:1]),
    ):
        with pytest.raises(ValueError, match=r"factor|shape|block"):
            native.kl_sweeps(X, other, s, block, 1)
