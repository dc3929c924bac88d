"""Matrices with rows on the workers, against the same as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from autonmf.data import Scaled, as_data, compress, even_out
from autonmf.data.dask import as_spread_data
from autonmf.data.spread import Rows, even_out_rows, random_rows, workers
from autonmf.data.spread.chunks import joined
from autonmf.model.objective import gram, loss_of
from autonmf.model.projection import project
from autonmf.model.spectral import leading_triplet
from autonmf.path import Workspace
from autonmf.path.growing import Growth

RNG = np.random.default_rng(0)
A, B = np.asfortranarray(RNG.random((240, 4))), np.asfortranarray(RNG.random((240, 4)))
SMALL = RNG.random((4, 3))


@pytest.fixture(scope="module")
def data(client: Any, tall: np.ndarray) -> Any:
    return as_spread_data(da.from_array(tall, chunks=(50, 30)))


def spread(data: Any, array: np.ndarray) -> Rows:
    """An array as rows on the workers: X·0 + the array."""
    return data.right(np.zeros((data.shape[1], array.shape[1]))) + array


@pytest.mark.parametrize(
    "expression",
    [
        lambda A, B: A.T @ B,
        lambda A, B: gram(A @ SMALL),
        lambda A, B: gram((A * np.arange(1.0, 5.0))[:, [2, 0]] / 3.0),
        lambda A, B: (A - 2.0 * B).T @ np.maximum(A - B, 0.0),
        lambda A, B: (SMALL.T @ A.T) @ B,
        lambda A, B: np.linalg.norm(A * B, axis=0),
        lambda A, B: np.linalg.norm(A - B),
        lambda A, B: np.sum(np.where(A < B, A, 0.5), dtype=np.float64),
        lambda A, B: np.ones((1, 240)) @ A,
        lambda A, B: A.var(axis=0, dtype=np.float64),
    ],
)
def test_arithmetic(data: Any, expression: Callable[[Any, Any], Any]) -> None:
    np.testing.assert_allclose(expression(spread(data, A), spread(data, B)), expression(A, B), rtol=1e-12)


def test_sums_in_a_tree(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = data.left(spread(data, A))
    monkeypatch.setattr(workers, "FAN_IN", 2)  # for three blocks
    np.testing.assert_allclose(data.left(spread(data, A).kept()), expected, rtol=1e-14)
    np.testing.assert_allclose(gram(spread(data, A)), A.T @ A, rtol=1e-13)


def test_large_programs_travel_once(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    V = RNG.random((30, 2))
    expected = data.right(V).gathered()
    monkeypatch.setattr(workers, "LARGE_PROGRAM", 10)
    np.testing.assert_array_equal(data.right(V).gathered(), expected)


def test_precision_is_kept(data: Any) -> None:
    single = spread(data, A).astype(np.float32)
    assert (single * np.float32(2)).dtype == gram(single).dtype == np.float32
    assert (single * SMALL[0, 0]).dtype == (A.astype(np.float32) * SMALL[0, 0]).dtype


def test_rows_never_come_to_the_client_by_accident(data: Any) -> None:
    with pytest.raises(TypeError, match="on the workers"):
        np.asarray(spread(data, A))


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_products_with_X(client: Any, tall: np.ndarray, stored: Callable[..., Any]) -> None:
    X = tall * (tall > 1.0)
    chunks = da.from_array(X, chunks=(70, 30)).map_blocks(stored, meta=stored(np.empty((0, 0))))
    there, here = as_spread_data(chunks), as_data(stored(X))
    V = RNG.random((30, 2))
    U, W = A[:, :2], there.right(V)
    np.testing.assert_allclose(W.gathered(), here.right(V), rtol=1e-12)
    np.testing.assert_allclose(there.left(spread(there, U)), here.left(U), rtol=1e-12)
    assert there.squared_norm() == pytest.approx(here.squared_norm(), rel=1e-14)
    assert there.inner(W, V) == pytest.approx(here.inner(here.right(V), V), rel=1e-12)
    assert there.squared_residual(W, V) == pytest.approx(here.squared_residual(here.right(V), V), rel=1e-12)
    np.testing.assert_allclose(there.rows(slice(60, 150)), X[60:150])
    assert there.cost == here.cost


def test_evened_and_compressed(data: Any, tall: np.ndarray) -> None:
    there, here = even_out_rows(Scaled(data, 2.0)), even_out(Scaled(as_data(tall), 2.0))
    np.testing.assert_allclose(there.a.gathered(), here.a, rtol=1e-12)
    np.testing.assert_allclose(there.b, here.b, rtol=1e-12)
    assert there.squared_norm() == pytest.approx(here.squared_norm())
    U, V = A[:, :3], RNG.random((30, 3))
    rows = spread(data, U)
    assert there.squared_residual(rows, V) == pytest.approx(here.squared_residual(U, V))
    small, reference = (compress(view, 5, np.random.default_rng(0)) for view in (there, here))
    np.testing.assert_allclose(small.L.gathered(), reference.L, atol=1e-9)
    np.testing.assert_allclose(small.R, reference.R, atol=1e-9)
    assert small.squared_residual(rows, V) == pytest.approx(reference.squared_residual(U, V))
    assert loss_of(small, rows, V) == pytest.approx(loss_of(reference, U, V))
    u, sigma, _ = leading_triplet(small)
    assert sigma == pytest.approx(np.linalg.svd(small.R)[1][0])
    assert np.linalg.norm(u) == pytest.approx(1.0)


def test_projection(data: Any, tall: np.ndarray) -> None:
    V = RNG.random((30, 3))
    W, loss = project(data, V)
    expected, expected_loss = project(as_data(tall), V)
    np.testing.assert_allclose(W.gathered(), expected, rtol=1e-10)
    assert loss == pytest.approx(expected_loss)


def test_the_random_start_is_that_of_an_array(data: Any) -> None:
    here, there = np.random.default_rng(3), np.random.default_rng(3)
    drawn = random_rows(data, 4, there)
    np.testing.assert_array_equal(drawn.gathered(), here.random((4, 240)).T)
    assert there.random() == here.random()


def test_chunks_are_joined_by_their_sizes() -> None:
    assert joined((1,) * 64, 10, 8) == [slice(i, i + 16) for i in range(0, 64, 16)]
    assert joined((100, 1, 1, 1), 10, 8) == [slice(0, 4)]
    assert joined((float("nan"), float("nan")), 10, 8) == [slice(0, 1), slice(1, 2)]
    large = (1 << 26,) * 20  # of 512 MB each, whatever their number
    assert joined(large, 1, 8) == [slice(i, i + 1) for i in range(20)]


def test_solutions_are_grown_alike(data: Any, tall: np.ndarray) -> None:
    for rank in (1, 3, 4):
        there, here = (Growth(Workspace.of(each)).at_rank(rank) for each in (data, as_data(tall)))
        assert there.loss == pytest.approx(here.loss, rel=1e-9)
        np.testing.assert_allclose(there.V, here.V, atol=1e-8)
