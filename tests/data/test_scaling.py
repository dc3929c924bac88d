"""Scaled rows and columns of X, and its transpose: one matrix, whatever X is stored as."""

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

from autonmf.data import (
    Scaled,
    Scaling,
    as_data,
    compress,
    equilibration,
    read_all,
    reduce_dominant,
    row_blocks,
    sums_of_squares,
    unit_scaling,
)

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}
Matrix = np.ndarray
Kind = Callable[..., Any]


def equilibrate(X: Matrix) -> Matrix:
    """X with each entry divided by the root of its row's norm times its column's; zeros stay."""
    sizes = np.sqrt(np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=0)))
    return np.divide(X, sizes, out=np.zeros_like(X), where=sizes > 0)


# Every kind of data with every scaling


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_complete_data(
    complete: Kind, scaling: Scaling, dtype: type, X: Matrix, kinds: SimpleNamespace
) -> None:
    X = X.astype(dtype)
    data = scaling.apply(complete(X))
    assert data.dtype == complete(X).dtype
    kinds.compare(data, kinds.scale(X.astype(float), scaling), max(TOLERANCE[dtype], 1e-9))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_incomplete_data(
    incomplete: Kind, scaling: Scaling, dtype: type, X: Matrix, known: Matrix, kinds: SimpleNamespace
) -> None:
    X = X.astype(dtype)
    data = scaling.apply(incomplete(X, known))
    assert data.dtype == dtype
    omega = known.T if scaling.transposed else known
    kinds.compare(data, kinds.scale(X.astype(float), scaling), 10 * TOLERANCE[dtype], omega)


def test_scalings_one_after_another(complete: Kind, X: Matrix, kinds: SimpleNamespace) -> None:
    """Every order of two is the same matrix as the two written out, and is wrapped once."""
    for first in kinds.scalings.values():
        once, expected = first.apply(complete(X)), kinds.scale(X, first)
        for second in kinds.scalings.values():
            if first.transposed and np.ndim(second.a) + np.ndim(second.b):
                second = Scaling(second.b, second.a, second.transposed)
            twice = second.apply(once)
            assert isinstance(twice, Scaled)
            assert not isinstance(twice.data, Scaled)
            both = kinds.scale(expected, second)
            V = np.asfortranarray(np.random.default_rng(1).random((both.shape[1], 2)))
            assert_allclose(twice.right(V), both @ V, rtol=1e-9, atol=1e-9)
            assert_allclose(twice.squared_norm(), np.sum(both**2), rtol=1e-9)
            assert_allclose(first.then(second).apply(complete(X)).right(V), both @ V, rtol=1e-9, atol=1e-9)


# The algebra


sizes = st.floats(0.1, 10.0)


@st.composite
def scalings(draw: Any, n: int, m: int) -> Scaling:
    a, b = (draw(st.one_of(sizes, arrays(float, (side, 1), elements=sizes))) for side in (n, m))
    return Scaling(a, b, transposed=draw(st.booleans()))


@st.composite
def chains(draw: Any) -> list[Scaling]:
    """Scalings of a 4 x 3 matrix, each of what the ones before make of it."""
    shape, found = (4, 3), []
    for _ in range(draw(st.integers(1, 4))):
        found.append(draw(scalings(*shape)))
        shape = shape[::-1] if found[-1].transposed else shape
    return found


@settings(deadline=None, max_examples=100)
@given(chain=chains(), seed=st.integers(0, 100))
def test_composition(kinds: SimpleNamespace, chain: list[Scaling], seed: int) -> None:
    """A composed scaling does to a matrix, and to factors, what its parts do one after another."""
    rng = np.random.default_rng(seed)
    U, V = rng.random((4, 2)), rng.random((3, 2))
    expected, factors = U @ V.T, (U, V)
    whole = Scaling()
    for scaling in chain:
        expected, factors = kinds.scale(expected, scaling), scaling.to_scaled(*factors)
        whole = whole.then(scaling)
    assert_allclose(kinds.scale(U @ V.T, whole), expected, rtol=1e-12)
    assert_allclose(factors[0] @ factors[1].T, expected, rtol=1e-12)
    for one, other in zip(whole.to_scaled(U, V), factors, strict=True):
        assert_allclose(one, other, rtol=1e-12)
    for back, original in zip(whole.to_original(*factors), (U, V), strict=True):
        assert_allclose(back, original, rtol=1e-12)
    again = Scaling()
    for scaling in reversed(chain):  # (s1 then s2) then s3 is s1 then (s2 then s3)
        again = scaling.then(again)
    assert_allclose(kinds.scale(U @ V.T, again), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factors_keep_their_precision_and_order(
    scaling: Scaling, dtype: type, rng: np.random.Generator
) -> None:
    U, V = (np.asfortranarray(rng.random((size, 3)), dtype=dtype) for size in (17, 11))
    for factor in (*scaling.to_scaled(U, V), *scaling.to_original(*scaling.to_scaled(U, V))):
        assert factor.dtype == dtype
        assert factor.flags.f_contiguous


def test_uniform_scalings_have_a_unit() -> None:
    assert Scaling(2.0, 3.0).unit == 6.0
    assert Scaling(2.0, 3.0, transposed=True).then(Scaling(0.5)).unit == 3.0
    for scaling in (Scaling(np.ones((3, 1))), Scaling(1.0, np.ones((3, 1)))):
        assert not scaling.is_uniform
        with pytest.raises(ValueError, match="no common unit"):
            _ = scaling.unit


def test_scaled_data_are_not_wrapped_again(X: Matrix) -> None:
    scaled = Scaling(2.0).apply(as_data(X))
    with pytest.raises(TypeError, match="compose the two scalings"):
        Scaled(scaled, Scaling(2.0))


def test_twice_transposed_is_X_itself(complete: Kind, X: Matrix) -> None:
    transpose = Scaling(transposed=True)
    data = complete(X)
    back: Any = transpose.apply(transpose.apply(data))
    assert back.shape == data.shape
    V = np.asfortranarray(np.ones((11, 1)))
    assert_array_equal(back.right(V), data.right(V))


def test_X_is_neither_copied_nor_written_to(
    storage: Kind, scaling: Scaling, X: Matrix, kinds: SimpleNamespace
) -> None:
    stored = storage(X)
    values = stored.data if sparse.issparse(stored) else stored
    before = values.copy()
    values.setflags(write=False)
    scaled: Any = scaling.apply(as_data(stored))
    kinds.compare(scaled, kinds.scale(X, scaling), 1e-12)
    held = scaled.data.X.data if sparse.issparse(stored) else scaled.data.X
    assert np.shares_memory(held, values)
    assert_array_equal(values, before)


# Unit scale


@pytest.mark.parametrize("factor", [1e-120, 1e-8, 1.0, 1e8, 1e120])
def test_unit_scale(storage: Kind, factor: float, X: Matrix, kinds: SimpleNamespace) -> None:
    data = as_data(storage(factor * X))
    scaling, rms = unit_scaling(data), np.sqrt(np.mean(np.square(X)))
    assert_allclose(scaling.unit, factor * rms, rtol=1e-12)
    assert scaling.a == scaling.b
    kinds.compare(scaling.apply(data), X / rms, 1e-10)


def test_unit_scale_beyond_single_precision(X: Matrix, kinds: SimpleNamespace) -> None:
    """In float32 the squares of 1e30 overflow; the scaled matrix has none of it."""
    data = as_data((1e30 * X).astype(np.float32))
    kinds.compare(unit_scaling(data).apply(data), X / np.sqrt(np.mean(np.square(X))), TOLERANCE[np.float32])


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_unit_scale_of_what_is_known(
    incomplete: Kind, factor: float, X: Matrix, known: Matrix, kinds: SimpleNamespace
) -> None:
    data = incomplete(factor * X, known)
    rms = np.sqrt(np.sum(known * X**2) / X.size)
    assert_allclose(unit_scaling(data).unit, factor * rms, rtol=1e-12)
    kinds.compare(unit_scaling(data).apply(data), X / rms, 1e-10, known)


# Equilibration


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equilibrated_is_the_explicit_matrix(
    storage: Kind, dtype: type, uneven: Matrix, kinds: SimpleNamespace
) -> None:
    X = uneven.astype(dtype)
    data = as_data(storage(X))
    kinds.compare(equilibration(data).apply(data), equilibrate(X.astype(float)), TOLERANCE[dtype])


def test_equilibrated_data_of_other_units(storage: Kind, uneven: Matrix, kinds: SimpleNamespace) -> None:
    """A search scales to unit, equilibrates, scales to unit again, perhaps transposed: in any order."""
    data, Y = as_data(storage(uneven)), equilibrate(uneven)
    seven, transpose = Scaling(7.0), Scaling(transposed=True)

    def then_equilibrate(data: Any) -> Any:
        return equilibration(data).apply(data)

    kinds.compare(seven.apply(then_equilibrate(data)), Y / 7.0, 1e-12)
    kinds.compare(then_equilibrate(seven.apply(data)), Y, 1e-12)
    kinds.compare(then_equilibrate(transpose.apply(data)), Y.T, 1e-12)
    kinds.compare(transpose.apply(then_equilibrate(transpose.apply(data))), Y, 1e-12)
    equal = then_equilibrate(data)
    kinds.compare(unit_scaling(equal).apply(equal), Y / np.sqrt(np.mean(Y**2)), 1e-12)


def test_equilibrated_compression(rng: np.random.Generator) -> None:
    X = rng.random((30, 4)) @ rng.random((4, 20)) * np.outer(np.arange(1.0, 31), np.arange(1.0, 21))
    compressed = compress(as_data(X), 6, rng)
    assert_allclose(read_all(compressed), X, rtol=1e-8)
    assert_allclose(read_all(equilibration(compressed).apply(compressed)), equilibrate(X), rtol=1e-8)


def test_several_row_blocks(storage: Kind, rng: np.random.Generator, kinds: SimpleNamespace) -> None:
    X = rng.random((1100, 500)) * (rng.random((1100, 500)) < 0.1) * np.arange(1, 501)
    assert len(list(row_blocks(X.shape))) > 1
    data = as_data(storage(X))
    kinds.compare(equilibration(data).apply(data), equilibrate(X), 1e-10)


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, f) for f in (1e-130, 1e-8, 1e8, 1e130)]
    + [(np.float32, f) for f in (1e-15, 1e-8, 1e8, 1e15)],
)
@pytest.mark.parametrize("store", [np.ascontiguousarray, sparse.csc_matrix])
def test_equilibrated_data_have_no_units(
    store: Kind, dtype: type, factor: float, uneven: Matrix, kinds: SimpleNamespace
) -> None:
    data, plain, tolerance = (
        as_data(store((factor * uneven).astype(dtype))),
        as_data(uneven),
        TOLERANCE[dtype],
    )
    scaled = equilibration(data).apply(data)
    kinds.compare(scaled, equilibrate(uneven), 10 * tolerance)
    expected = equilibration(plain).apply(plain).squared_norm()
    assert_allclose(scaled.squared_norm(), expected, rtol=tolerance)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_unit_scale_comes_first_where_single_precision_ends(
    factor: float, uneven: Matrix, kinds: SimpleNamespace
) -> None:
    """As a search does it: entries that float32 can just hold, with squares that it cannot."""
    uneven *= uneven / uneven.max() > 1e-4
    data = as_data((factor * uneven).astype(np.float32))
    unit = unit_scaling(data).apply(data)
    kinds.compare(equilibration(unit).apply(unit), equilibrate(uneven), 1e-4)


def test_scales_of_an_equilibration(uneven: Matrix) -> None:
    """X = diag(a) Y diag(b); what is zero keeps the scale one."""
    data = as_data(uneven)
    scaling = equilibration(data)
    assert scaling.a.shape == (17, 1)
    assert scaling.b.shape == (11, 1)
    assert scaling.a.dtype == scaling.b.dtype == np.float64
    assert (scaling.a > 0).all()
    assert (scaling.a[3], scaling.b[5]) == (1.0, 1.0)
    nonzero = uneven.any(axis=1)
    assert_allclose(scaling.a[nonzero, 0] ** 2, np.linalg.norm(uneven, axis=1)[nonzero], rtol=1e-14)
    assert_allclose(scaling.a * read_all(scaling.apply(data)) * scaling.b.T, uneven, rtol=1e-13)


def test_scales_of_what_is_known(incomplete: Kind, X: Matrix, known: Matrix) -> None:
    scaling = equilibration(incomplete(X, known))
    for axis, scales in ((1, scaling.a), (0, scaling.b)):
        squares = np.sum(known * X**2, axis=axis)
        assert_allclose(scales[:, 0], np.where(squares > 0, squares, 1.0) ** 0.25, rtol=1e-12)


def test_factors_of_equilibrated_data(rng: np.random.Generator) -> None:
    """If Y = U Vᵀ then X = (diag(a) U)(diag(b) V)ᵀ."""
    U, V = rng.random((12, 3)), rng.random((9, 3))
    data = as_data(U @ V.T)
    scaling = equilibration(data)
    scaled = scaling.apply(data)
    assert scaled.squared_residual(*scaling.to_scaled(U, V)) < 1e-28 * scaled.squared_norm()
    assert np.linalg.matrix_rank(read_all(scaled)) == 3


@pytest.mark.parametrize("which", ["row", "column", "both"])
def test_a_dominant_row_or_column_is_reduced(which: str, complete: Kind, rng: np.random.Generator) -> None:
    """Its norm is comparable with those of the others, which keep their proportions."""
    X = 0.5 + rng.random((17, 11))
    X[3] *= 1.0 if which == "column" else 1e4
    X[:, 5] *= 1.0 if which == "row" else 1e4
    for transposed in (False, True):
        data = Scaling(transposed=transposed).apply(complete(X))
        scaling = reduce_dominant(data)
        scaled = scaling.apply(data).right(np.eye(data.shape[1]))
        for axis in (0, 1):
            norms = np.linalg.norm(scaled, axis=axis)
            assert norms.max() < 30 * norms.min()
        a, b = (scaling.b, scaling.a) if transposed else (scaling.a, scaling.b)
        assert len(np.unique(np.delete(a, 3))) == len(np.unique(np.delete(b, 5))) == 1


def test_small_rows_are_not_enlarged(rng: np.random.Generator) -> None:
    X = rng.random((30, 20)) * np.where(np.arange(30) < 5, 1e-17, 1.0)[:, None]
    X[7] *= 1e6
    scaled = read_all(reduce_dominant(as_data(X)).apply(as_data(X)))
    assert scaled[:5].max() < 1e-14 * scaled[8:].max()


def test_reduction_by_what_is_known(incomplete: Kind, X: Matrix, known: Matrix) -> None:
    """Geometric means of the known positive entries, where they are far above their power mean."""
    X = X * np.where(np.arange(len(X)) == 2, 1e8, 1.0)[:, None]
    scaling = reduce_dominant(incomplete(X, known))
    there = (X > 0) & (known > 0)
    logs = np.log(X, out=np.zeros_like(X), where=there)
    for axis, scales in ((1, scaling.a), (0, scaling.b)):
        count = there.sum(axis=axis)
        means = np.exp(logs.sum(axis=axis) / np.maximum(count, 1) - 0.5 * logs[there].mean())
        means = np.where(count > 0, means, 1.0)
        usual = np.mean(means**0.25) ** 4
        assert_allclose(scales[:, 0], np.where(means > 100 * usual, means, usual), rtol=1e-12)
    assert np.flatnonzero(scaling.a > scaling.a.min()) == [2]


entries = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))
shapes = st.tuples(st.integers(1, 6), st.integers(1, 6))


@settings(deadline=None, max_examples=60)
@given(
    X=shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=entries)), order=st.sampled_from("CF")
)
def test_any_matrix(X: Matrix, order: str) -> None:
    """No entry of Y is above one, and Y is the same for any storage of X."""
    X = X if X.any() else X + 1.0
    Y = equilibrate(X)
    assert Y.max() <= 1 + 1e-12
    for data in (as_data(np.array(X, order=order)), as_data(sparse.csr_array(X))):
        scaled = equilibration(data).apply(data)
        assert_allclose(read_all(scaled), Y, rtol=1e-12)
        assert_allclose(scaled.squared_norm(), np.sum(Y**2), rtol=1e-12)
        assert_allclose(sums_of_squares(scaled)[1][:, 0], np.square(Y).sum(axis=0), rtol=1e-12)
