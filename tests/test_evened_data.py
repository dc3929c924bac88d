"""The evened copy of X answers as the explicit matrix would; `squares` and `rows` of every kind of data."""

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

from autonmf.data import Data, Scaled, as_data, compress, even_out, to_unit_scale
from autonmf.data.blocks import row_blocks

STORAGES: dict[str, Callable[[np.ndarray], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
}
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}
SLICES = [
    slice(None),
    slice(3, 9),
    slice(0, 17, 4),
    slice(2, None, 3),
    slice(-4, None),
    slice(None, None, -1),
    slice(14, 2, -5),
    slice(5, 5),
    slice(3, 4),
]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def X(rng: np.random.Generator) -> np.ndarray:
    """Sparse, with rows and columns of very different sizes, and one of each that is zero."""
    X = rng.random((17, 11)) * (rng.random((17, 11)) < 0.5)
    X *= np.outer(10.0 ** rng.uniform(-3, 3, 17), 10.0 ** rng.uniform(-3, 3, 11))
    X[3], X[:, 5] = 0.0, 0.0
    return X


def explicit(X: np.ndarray) -> np.ndarray:
    """X with each entry divided by the root of its row's norm times its column's; zeros stay."""
    sizes = np.sqrt(np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=0)))
    return np.divide(X, sizes, out=np.zeros_like(X), where=sizes > 0)


def check_protocol(data: Data, Y: np.ndarray, rtol: float) -> None:
    """Compare all of `Data` with plain NumPy on the dense Y."""
    rng = np.random.default_rng(1)
    n, m = Y.shape
    U, V = (np.asfortranarray(rng.random((k, 3)), dtype=data.dtype) for k in (n, m))
    assert_allclose(data.squared_norm(), np.linalg.norm(Y) ** 2, rtol=rtol)
    for view, matrix, left, right in ((data, Y, U, V), (data.T, Y.T, V, U)):
        assert view.shape == matrix.shape
        assert view.dtype == data.dtype
        assert_allclose(view.squared_norm(), data.squared_norm(), rtol=1e-14)
        for product, expected in ((view.right(right), matrix @ right), (view.left(left), matrix.T @ left)):
            assert product.dtype == data.dtype
            assert product.flags.f_contiguous
            assert_allclose(product, expected, rtol=rtol, atol=rtol * abs(expected).max())
        assert_allclose(view.inner(left, right), np.sum(matrix * (left @ right.T)), rtol=rtol)
        residual = np.linalg.norm(matrix - left @ right.T) ** 2
        assert_allclose(view.squared_residual(left, right), residual, rtol=rtol)
        check_squares_and_rows(view, matrix, rtol)


def check_squares_and_rows(data: Data, Y: np.ndarray, rtol: float) -> None:
    weights = np.random.default_rng(2).random(Y.shape[1])
    squares = data.squares(weights)
    assert squares.shape == (len(Y),)
    assert squares.dtype == np.float64
    assert_allclose(squares, (Y**2) @ weights, rtol=10 * rtol, atol=rtol * np.square(Y).sum())
    for some in SLICES:
        assert type(data.rows(some)) is np.ndarray
        assert_allclose(data.rows(some), Y[some], rtol=10 * rtol, atol=rtol * abs(Y).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", STORAGES)
def test_evened_is_the_explicit_matrix(storage: str, dtype: type, X: np.ndarray) -> None:
    X = X.astype(dtype)
    check_protocol(even_out(as_data(STORAGES[storage](X))), explicit(X.astype(float)), TOLERANCE[dtype])


@pytest.mark.parametrize("storage", STORAGES)
def test_views_of_views(storage: str, X: np.ndarray) -> None:
    """The path sees Y scaled, of X scaled, perhaps turned: every order of these is the same matrix."""
    data, Y = as_data(STORAGES[storage](X)), explicit(X)
    check_protocol(Scaled(even_out(data), 7.0), Y / 7.0, 1e-12)
    check_protocol(even_out(data).divided(7.0), Y / 7.0, 1e-12)
    check_protocol(even_out(data).T.divided(7.0).T, Y / 7.0, 1e-12)
    check_protocol(even_out(Scaled(data, 7.0)), Y, 1e-12)
    check_protocol(even_out(data.T), Y.T, 1e-12)
    check_protocol(even_out(data.T).T, Y, 1e-12)
    check_protocol(to_unit_scale(even_out(data))[0], Y / np.sqrt(np.mean(Y**2)), 1e-12)


def test_evened_compression(rng: np.random.Generator) -> None:
    X = rng.random((30, 4)) @ rng.random((4, 20)) * np.outer(np.arange(1.0, 31), np.arange(1.0, 21))
    compressed = compress(as_data(X), 6, rng)
    check_squares_and_rows(compressed, X, 1e-9)
    check_squares_and_rows(even_out(compressed), explicit(X), 1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", STORAGES)
def test_squares_and_rows_of_plain_data(storage: str, dtype: type, X: np.ndarray) -> None:
    data = as_data(STORAGES[storage](X.astype(dtype)))
    for view, matrix in ((data, X), (data.T, X.T), (Scaled(data, 7.0), X / 7.0)):
        check_squares_and_rows(view, matrix, TOLERANCE[dtype])


@pytest.mark.parametrize("storage", ["C", "Fortran", "csr", "csc"])
def test_several_row_blocks(storage: str, rng: np.random.Generator) -> None:
    X = rng.random((1100, 500)) * (rng.random((1100, 500)) < 0.1) * np.arange(1, 501)
    assert len(list(row_blocks(X.shape))) > 1
    check_protocol(even_out(as_data(STORAGES[storage](X))), explicit(X), 1e-10)


@pytest.mark.parametrize("storage", ["C", "csc"])
@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, f) for f in (1e-130, 1e-8, 1e8, 1e130)]
    + [(np.float32, f) for f in (1e-15, 1e-8, 1e8, 1e15)],
)
def test_the_evened_copy_has_no_units(storage: str, dtype: type, factor: float, X: np.ndarray) -> None:
    data = as_data(STORAGES[storage]((factor * X).astype(dtype)))
    even, tolerance = even_out(data), TOLERANCE[dtype]
    check_protocol(even, explicit(X), 10 * tolerance)
    assert_allclose(even.squared_norm(), even_out(as_data(X)).squared_norm(), rtol=tolerance)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_unit_scale_comes_first_where_single_precision_ends(factor: float, X: np.ndarray) -> None:
    """As `explore_evened` does it: entries that float32 can just hold, with squares that it cannot."""
    X *= X / X.max() > 1e-4
    unit, _ = to_unit_scale(as_data((factor * X).astype(np.float32)))
    check_protocol(even_out(unit), explicit(X), 1e-4)


def test_scales(X: np.ndarray) -> None:
    """X = diag(a) Y diag(b); what is zero keeps the scale one."""
    even = even_out(as_data(X))
    assert even.a.dtype == even.b.dtype == np.float64
    assert (even.a > 0).all()
    assert (even.a[3], even.b[5]) == (1.0, 1.0)
    nonzero = X.any(axis=1)
    assert_allclose(even.a[nonzero] ** 2, np.linalg.norm(X, axis=1)[nonzero], rtol=1e-14)
    assert_allclose(even.a[:, None] * even.rows(slice(None)) * even.b, X, rtol=1e-13)


def test_factors_go_back_and_forth(rng: np.random.Generator) -> None:
    """If Y = U Vᵀ then X = (diag(a) U)(diag(b) V)ᵀ."""
    U, V = rng.random((12, 3)), rng.random((9, 3))
    even = even_out(as_data(U @ V.T))
    U, V = U / even.a[:, None], V / even.b[:, None]
    assert even.squared_residual(U, V) < 1e-28 * even.squared_norm()
    assert np.linalg.matrix_rank(even.rows(slice(None))) == 3


@pytest.mark.parametrize("storage", STORAGES)
def test_X_is_neither_copied_nor_written_to(storage: str, X: np.ndarray) -> None:
    stored = STORAGES[storage](X)
    values = stored.data if sparse.issparse(stored) else stored
    kept = values.copy()
    values.setflags(write=False)
    data = as_data(stored)
    even = even_out(data)
    check_protocol(even, explicit(X), 1e-12)
    assert even.data is data
    assert even.T.T.data.shape == data.shape
    assert even.divided(3.0).data is data
    assert_array_equal(values, kept)


entries = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))
shapes = st.tuples(st.integers(1, 6), st.integers(1, 6))


@settings(deadline=None, max_examples=60)
@given(
    X=shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=entries)), storage=st.sampled_from("CF")
)
def test_any_matrix(X: np.ndarray, storage: str) -> None:
    """No entry of Y is above one, and Y is as even for any storage of X."""
    even = even_out(as_data(np.array(X, order=storage)) if X.any() else as_data(X + 1.0))
    X = X if X.any() else X + 1.0
    Y = explicit(X)
    assert_allclose(even.rows(slice(None)), Y, rtol=1e-12)
    assert Y.max() <= 1 + 1e-12
    assert_allclose(even_out(as_data(sparse.csr_array(X))).rows(slice(None)), Y, rtol=1e-12)
    assert_allclose(even.squared_norm(), np.sum(Y**2), rtol=1e-12)
    assert_allclose(even.T.squares(np.ones(len(X))), np.square(Y).sum(axis=0), rtol=1e-12)
