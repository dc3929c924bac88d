"""Matrices with rows on the workers, against the same as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from autonmf.data import Scaling, as_data, compress, equilibration, sums_of_squares, unit_scaling
from autonmf.data.factors import (
    append_column,
    as_factor,
    cross,
    dot,
    gram,
    map_rows,
    norm,
    scale_columns,
    scale_rows,
    sum_rows,
    take_columns,
    triangle,
)
from autonmf.distributed import rows as on_workers
from autonmf.distributed.data import join_chunks, partition
from autonmf.distributed.rows import Rows
from autonmf.losses import FROBENIUS
from autonmf.model.components import balance, column_norms, combine_columns, find_cheapest_merger
from autonmf.model.initial import draw_factors, leading_triplet
from autonmf.path import PathOptions, prepare
from autonmf.path.unscale import Unscaler

RNG = np.random.default_rng(0)
A, B = np.asfortranarray(RNG.random((240, 4))), np.asfortranarray(RNG.random((240, 4)))
SMALL = RNG.random((4, 3))
COLUMN = RNG.random((240, 1))


@pytest.fixture(scope="module")
def data(client: Any, tall: np.ndarray) -> Any:
    return partition(da.from_array(tall, chunks=(50, 30)))


def place(data: Any, array: np.ndarray) -> Rows:
    """An array as rows on the workers: X·0 + the array."""
    zeros = data.right(np.zeros((data.shape[1], array.shape[1]))).astype(array.dtype)
    rows, _ = data.map_blocks(lambda block, given: (given, None), array)
    return map_rows(np.add, zeros, rows)


def times(A: Any, matrix: np.ndarray) -> Any:
    return A.times(matrix) if isinstance(A, Rows) else A @ matrix


def difference(A: Any, B: Any) -> Any:
    return map_rows(np.subtract, A, B)


def positive(A: np.ndarray) -> np.ndarray:
    return np.maximum(A, 0.0)


def sum_of_smaller(A: np.ndarray, B: np.ndarray) -> Any:
    return np.sum(np.where(A < B, A, 0.5), axis=0, dtype=np.float64)


def merge(A: Any, B: Any) -> Any:
    merger = find_cheapest_merger(gram(A), gram(B))
    return combine_columns(A, merger, merger.a)


@pytest.mark.parametrize(
    "expression",
    [
        cross,
        lambda A, B: gram(times(A, SMALL)),
        lambda A, B: gram(take_columns(scale_columns(A, np.arange(1.0, 5.0)), [2, 0])),
        lambda A, B: gram(scale_columns(A, 1 / 3.0)),
        lambda A, B: cross(difference(A, scale_columns(B, 2.0)), map_rows(positive, difference(A, B))),
        lambda A, B: cross(times(A, SMALL), B),
        lambda A, B: cross(np.ones((240, 1)), A),
        lambda A, B: cross(A, np.ones((240, 1))),
        lambda A, B: column_norms(map_rows(np.multiply, A, B)),
        lambda A, B: dot(A, B),
        lambda A, B: norm(difference(A, B)),
        lambda A, B: sum_rows(sum_of_smaller, A, B),
        lambda A, B: gram(append_column(A, take_columns(B, [1]))),
        lambda A, B: gram(merge(A, B)),
        lambda A, B: np.abs(triangle(A, B)),
        lambda A, B: gram(balance(A, np.diag([3.0, 1.0, 4.0, 2.0]), sort=True)[0]),
        lambda A, B: A.var(axis=0, dtype=np.float64),
    ],
)
@pytest.mark.parametrize("kept", [False, True], ids=["recorded", "kept"])
def test_arithmetic(data: Any, expression: Callable[[Any, Any], Any], kept: bool) -> None:
    remote = [place(data, array) for array in (A, B)]
    remote = [as_factor(rows) for rows in remote] if kept else remote
    np.testing.assert_allclose(expression(*remote), expression(A, B), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scaled_rows(data: Any, dtype: type) -> None:
    array = A.astype(dtype)
    for scales, expected in ((2.0, 2.0), (place(data, COLUMN), COLUMN)):
        scaled = scale_rows(place(data, array), scales)
        assert scaled.dtype == dtype
        np.testing.assert_array_equal(scaled.gather(), scale_rows(array, expected))


def test_sums_in_a_tree(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = data.left(place(data, A))
    monkeypatch.setattr(on_workers, "FAN_IN", 2)  # for three blocks
    np.testing.assert_allclose(data.left(place(data, A).persist()), expected, rtol=1e-14)
    np.testing.assert_allclose(gram(place(data, A)), A.T @ A, rtol=1e-13)


def test_large_programs_travel_once(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    V = RNG.random((30, 2))
    expected = data.right(V).gather()
    monkeypatch.setattr(on_workers, "LARGE_PROGRAM", 10)
    np.testing.assert_array_equal(data.right(V).gather(), expected)


def test_precision_is_kept(data: Any) -> None:
    single = place(data, A).astype(np.float32)
    assert scale_columns(single, np.float32(2)).dtype == gram(single).dtype == np.float32
    assert scale_columns(single, SMALL[0, 0]).dtype == scale_columns(A.astype(np.float32), SMALL[0, 0]).dtype
    assert cross(single, A).dtype == cross(A, single).dtype == np.float64


def test_rows_never_come_to_the_client_by_accident(data: Any) -> None:
    with pytest.raises(TypeError, match="on the workers"):
        np.asarray(place(data, A))


def test_products_of_kept_matrices_are_summed_once(data: Any, rounds: list[Any]) -> None:
    first, second = (as_factor(place(data, array)) for array in (A, B))
    for _ in range(2):
        gram(scale_columns(first, 2.0))
        cross(times(first, SMALL), take_columns(second, [1, 0]))
        norm(first)
        column_norms(second)
    assert len(rounds) == 2  # for the Gram matrix of the first; for their product, and that of the second


def test_rows_and_sums_of_blocks_come_together(data: Any, tall: np.ndarray, rounds: list[Any]) -> None:
    of_rows, of_columns = sums_of_squares(data)
    assert len(rounds) == 1
    np.testing.assert_allclose(of_columns, np.square(tall).sum(axis=0)[:, None], rtol=1e-13)
    np.testing.assert_allclose(of_rows.gather(), np.square(tall).sum(axis=1)[:, None], rtol=1e-13)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("on_client", [False, True], ids=["on the workers", "on the client"])
def test_products_with_X(client: Any, tall: np.ndarray, stored: Callable[..., Any], on_client: bool) -> None:
    X = tall * (tall > 1.0)
    chunks = da.from_array(X, chunks=(70, 30)).map_blocks(stored, meta=stored(np.empty((0, 0))))
    there, here = partition(chunks, on_client=on_client), as_data(stored(X))
    V = np.asfortranarray(RNG.random((30, 2)))
    U = A[:, :2]
    W = there.right(V)
    if on_client:
        assert W.flags.f_contiguous
    else:
        W, U = W.gather(), place(there, U)
    np.testing.assert_allclose(W, here.right(V), rtol=1e-12)
    np.testing.assert_allclose(there.left(U), here.left(A[:, :2]), rtol=1e-12)
    assert there.squared_norm() == pytest.approx(here.squared_norm(), rel=1e-14)
    assert there.squared_residual(U, V) == pytest.approx(here.squared_residual(A[:, :2], V), rel=1e-12)
    read = there.map_blocks(lambda block, _: (block.dense(), None), None)[0]
    np.testing.assert_array_equal(read if on_client else read.gather(), X)
    assert there.cost == here.cost


SCALINGS = {
    "unit": lambda data: unit_scaling(data),
    "equilibrated": lambda data: equilibration(data),
    "both": lambda data: unit_scaling(data).then(equilibration(unit_scaling(data).apply(data))),
    "given columns": lambda data: Scaling(2.0, np.linspace(0.5, 2.0, 30)[:, None]),
}


@pytest.mark.parametrize("name", SCALINGS)
def test_scaled_and_compressed(data: Any, tall: np.ndarray, name: str) -> None:
    scalings = [SCALINGS[name](each) for each in (data, as_data(tall))]
    there, here = (scaling.apply(each) for scaling, each in zip(scalings, (data, as_data(tall)), strict=True))
    if np.ndim(scalings[1].a):
        np.testing.assert_allclose(scalings[0].a.gather(), scalings[1].a, rtol=1e-12)
    np.testing.assert_allclose(scalings[0].b, scalings[1].b, rtol=1e-12)
    assert there.squared_norm() == pytest.approx(here.squared_norm())
    U, V = A[:, :3], RNG.random((30, 3))
    rows = place(data, U)
    np.testing.assert_allclose(there.right(V).gather(), here.right(V), rtol=1e-11)
    np.testing.assert_allclose(there.left(rows), here.left(U), rtol=1e-11)
    assert there.squared_residual(rows, V) == pytest.approx(here.squared_residual(U, V))
    for remote, local in zip(scalings[0].to_original(rows, V), scalings[1].to_original(U, V), strict=True):
        np.testing.assert_allclose(remote.gather() if isinstance(remote, Rows) else remote, local, rtol=1e-11)
    small, reference = (compress(each, 5, np.random.default_rng(0)) for each in (there, here))
    np.testing.assert_allclose(small.L.gather(), reference.L, atol=1e-9)
    np.testing.assert_allclose(small.R, reference.R, atol=1e-9)
    assert small.squared_residual(rows, V) == pytest.approx(reference.squared_residual(U, V))
    assert FROBENIUS.value(small, rows, V) == pytest.approx(FROBENIUS.value(reference, U, V))
    of_rows, of_columns = sums_of_squares(small)
    np.testing.assert_allclose(of_rows.gather(), sums_of_squares(reference)[0], rtol=1e-9)
    np.testing.assert_allclose(of_columns, sums_of_squares(reference)[1], rtol=1e-9)
    u, sigma, _ = leading_triplet(small)
    assert sigma == pytest.approx(np.linalg.svd(small.R)[1][0])
    assert norm(u) == pytest.approx(1.0)


def test_projection(data: Any, tall: np.ndarray) -> None:
    V = RNG.random((30, 3))
    W, loss = FROBENIUS.project(data, V)
    expected, expected_loss = FROBENIUS.project(as_data(tall), V)
    np.testing.assert_allclose(W.gather(), expected, rtol=1e-10)
    assert loss == pytest.approx(expected_loss)


def test_the_random_start_is_that_of_an_array(data: Any, tall: np.ndarray) -> None:
    here, there, plain = (np.random.default_rng(3) for _ in range(3))
    (drawn, V), (U, also_V) = (
        draw_factors(each, 4, "random", rng) for each, rng in ((data, there), (as_data(tall), here))
    )
    np.testing.assert_array_equal(drawn.gather(), U)
    np.testing.assert_array_equal(U, plain.random((4, 240)).T)
    np.testing.assert_array_equal(V, also_V)
    np.testing.assert_array_equal(V, plain.random((4, 30)).T)
    assert there.random() == here.random() == plain.random()


def test_other_generators_draw_the_same_for_every_chunking(client: Any, tall: np.ndarray) -> None:
    """Those that cannot be put forward."""
    drawn = []
    for rows in (50, 240):
        rng = np.random.Generator(np.random.MT19937(0))
        each = partition(da.from_array(tall, chunks=(rows, 30)))
        U, V = draw_factors(each, 4, "random", rng)
        drawn.append((U.gather(), V))
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_are_joined_by_their_sizes() -> None:
    assert join_chunks((1,) * 64, 10, 8) == [slice(i, i + 16) for i in range(0, 64, 16)]
    assert join_chunks((100, 1, 1, 1), 10, 8) == [slice(0, 4)]
    assert join_chunks((float("nan"), float("nan")), 10, 8) == [slice(0, 1), slice(1, 2)]
    large = (1 << 26,) * 20  # of 512 MB each, whatever their number
    assert join_chunks(large, 1, 8) == [slice(i, i + 1) for i in range(20)]


def test_solutions_are_grown_alike(data: Any, tall: np.ndarray) -> None:
    for rank in (1, 3, 4):
        there, here = (_grow(each, rank) for each in (data, as_data(tall)))
        assert there.rank == here.rank == rank
        assert there.loss == pytest.approx(here.loss, rel=1e-9)
        np.testing.assert_allclose(there.V, here.V, atol=1e-8)
        np.testing.assert_allclose(there.XtU, here.XtU, atol=1e-8 * np.abs(here.XtU).max())


def _grow(data: Any, rank: int) -> Any:
    """The greedy fallback from the leading singular pair."""
    view = prepare(data, PathOptions(engine="direct"), 4, np.random.default_rng(0))
    return Unscaler(view, view.scaling, 1e-8)._grow(rank, None)
