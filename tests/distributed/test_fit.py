"""A Dask array is factorised as the array that it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF, rank_path
from autonmf.baselines import cross_validate
from autonmf.datasets import make_low_rank

FIRST = 4  # rank of the paths


def model(**options: Any) -> AutoNMF:
    """One whose polish is short: every iteration is a round trip to the workers."""
    return AutoNMF(**{"max_rank": FIRST, "random_state": 0, "tol": 1e-2} | options)


def assert_same(there: AutoNMF, here: AutoNMF) -> None:
    assert there.n_components_ == here.n_components_
    np.testing.assert_allclose(there.path_.relative_losses, here.path_.relative_losses, rtol=0, atol=1e-6)
    assert there.reconstruction_err_ == pytest.approx(here.reconstruction_err_, rel=1e-6)
    np.testing.assert_allclose(there.components_, here.components_, rtol=0, atol=1e-4)
    np.testing.assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["direct", "compressed"])
def test_engines(client: Any, tall: np.ndarray, engine: str) -> None:
    there = model(engine=engine).fit(da.from_array(tall, chunks=(50, 30)))
    assert_same(there, here := model(engine=engine).fit(tall))
    np.testing.assert_allclose(there.path_.lambdas, here.path_.lambdas, rtol=1e-3)
    assert type(there.components_) is np.ndarray
    assert there.n_features_in_ == 30


@pytest.mark.parametrize("options", [{"n_components": 2}, {"rule": "marginal"}], ids=["given", "marginal"])
def test_without_equilibration(client: Any, tall: np.ndarray, options: dict[str, Any]) -> None:
    there = model(**options).fit(da.from_array(tall, chunks=(60, 30)))
    here = model(**options).fit(tall)
    assert_same(there, here)
    np.testing.assert_allclose(there.path_.lambdas, here.path_.lambdas, rtol=1e-6)


@pytest.mark.slow
def test_more_columns_than_rows(client: Any) -> None:
    X = make_low_rank(30, 60, rank=3, noise=0.1, random_state=0)[0]
    there = model().fit(da.from_array(X, chunks=(7, 20)))
    assert_same(there, model().fit(X))


def unknown(X: np.ndarray) -> Any:
    chunked = da.from_array(X, chunks=(60, 30))
    return chunked[chunked[:, 0] > -1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunked",
    [
        lambda X: da.from_array(X, chunks=((1, 100, 3, 136), 30)),
        lambda X: da.from_array(X, chunks=(1, 30)),
        lambda X: da.from_array(X, chunks=(80, 7)),
        unknown,
        lambda X: da.from_array(X, chunks=(60, 30)).map_blocks(sparse.csr_matrix),
        lambda X: da.from_array(X, chunks=(60, 30)).persist(),
    ],
    ids=["uneven", "one-row", "columns", "unknown", "csr", "persisted"],
)
def test_chunks(client: Any, tall: np.ndarray, chunked: Callable[[np.ndarray], Any]) -> None:
    there = model(max_rank=3, engine="direct").fit(chunked(tall))
    assert_same(there, model(max_rank=3, engine="direct").fit(tall))


def test_unknown_columns_are_refused(client: Any, tall: np.ndarray) -> None:
    X = da.from_array(tall, chunks=(60, 30))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model().fit(X[:, da.from_array(tall[0], chunks=30) > 0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "contains NaN.*dask.array.where"),
        (np.inf, "contains infinity"),
        (-1.0, "Negative values in data passed to NMF"),
    ],
)
def test_bad_values(client: Any, tall: np.ndarray, value: float, message: str) -> None:
    X = tall.copy()
    X[200, 3] = value
    bad = da.from_array(X, chunks=(50, 30))
    with pytest.raises(ValueError, match=message):
        model().fit(bad)


def test_nothing_to_factorise(client: Any) -> None:
    with pytest.raises(ValueError, match="all zeros"):
        model().fit(da.zeros((40, 5), chunks=(10, 5)))
    with pytest.raises(ValueError, match="two dimensions"):
        model().fit(da.ones(40, chunks=10))
    with pytest.raises(TypeError, match="complex"):
        model().fit(da.ones((40, 5), chunks=10, dtype=complex))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "palm"}, "solver='auto'"),
        ({"solver": "pasm"}, "solver='auto'"),
        ({"grid": "adaptive"}, "grid='exact'"),
        ({"init": "nndsvd"}, "init='random'"),
        ({"missing": "mask"}, r"pass X.compute\(\)"),
    ],
)
def test_what_needs_memory_says_so(
    client: Any, tall: np.ndarray, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(NotImplementedError, match=message):
        model(**options).fit(da.from_array(tall, chunks=(60, 30)))


def test_weights_are_refused(client: Any, tall: np.ndarray) -> None:
    with pytest.raises(NotImplementedError, match="weighted"):
        model().fit(da.from_array(tall, chunks=(60, 30)), sample_weight=np.ones(240))


@pytest.mark.slow
def test_chunks_do_not_decide_how_long_a_rank_is_iterated(client: Any) -> None:
    X = make_low_rank(120, 30, rank=2, noise=0.001, random_state=0)[0]
    here = rank_path(X, 5, random_state=0, engine="compressed")
    for chunks in ((120, 30), ((50, 1, 69), 30), (40, 7)):
        there = rank_path(da.from_array(X, chunks=chunks), 5, random_state=0, engine="compressed")
        assert [visit.n_iter for visit in there.visits] == [visit.n_iter for visit in here.visits]
        np.testing.assert_allclose(there.relative_losses, here.relative_losses, rtol=0, atol=1e-7)


def test_rank_path(client: Any, tall: np.ndarray) -> None:
    X = da.from_array(tall, chunks=(60, 30))
    for options in ({}, {"equilibrate": True}):
        there = rank_path(X, 3, random_state=0, **options)
        here = rank_path(tall, 3, random_state=0, **options)
        np.testing.assert_allclose(there.losses, here.losses, rtol=1e-6)
        np.testing.assert_allclose(there.lambdas, here.lambdas, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"rule": "marginal"}], ids=str)
def test_a_fit_is_few_rounds(
    client: Any, tall: np.ndarray, rounds: list[Any], options: dict[str, Any]
) -> None:
    """One per iteration, two per rank for its loss and its λ, four for its last iterations, and a few sums.

    Among these are five for the leading direction of X, to six digits, seven for a direction that the
    scales of its rows may hide from the noise view, and two for the second stage of the polish.
    """
    there = model(engine="compressed", max_rank=8, **options).fit(da.from_array(tall, chunks=(60, 30)))
    during = len(rounds)
    path = there.path_
    n_ranks, n_fallbacks = len(path.points), sum(visit.reason == "fallback" for visit in path.visits)
    assert during <= there.n_iter_ + 2 * n_ranks + 4 * (n_ranks - 1) + 9 * n_fallbacks + 52
    assert len(rounds) == during, "a path that is read asks the workers again"


@pytest.mark.slow
def test_losses_never_rise_with_the_rank(client: Any) -> None:
    """Many ranks for few components: the greedy fallback is needed, on the workers as in memory."""
    X = make_low_rank(120, 40, rank=3, noise=0.3, random_state=0)[0]
    for options in ({"equilibrate": True}, {}):
        there = rank_path(da.from_array(X, chunks=(30, 40)), 12, random_state=0, tol=1e-2, **options)
        assert (np.diff(there.losses) <= 1e-7 * there.squared_norm).all()
        here = rank_path(X, 12, random_state=0, tol=1e-2, **options)
        atol = 1e-2 if options else 1e-4  # the path of the equilibrated X may begin at another rank
        np.testing.assert_allclose(there.relative_losses, here.relative_losses, rtol=0, atol=atol)


def test_python_objects_are_refused() -> None:
    with pytest.raises(TypeError, match=r"X holds Python objects.*X\.astype\(float\)"):
        model().fit(da.from_array(np.ones((4, 3)).astype(object), chunks=2))


def test_no_rows_are_refused(client: Any, tall: np.ndarray) -> None:
    """A selection that is known to be empty only once it is computed."""
    X = da.from_array(tall, chunks=(60, 30))
    with pytest.raises(ValueError, match="X is empty: it has no rows"):
        model().fit(X[X[:, 0] < 0])


def test_a_checkpoint_is_refused(client: Any, tall: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="cannot be saved in a checkpoint"):
        rank_path(da.from_array(tall, chunks=(60, 30)), 4, checkpoint=tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_an_asynchronous_client_is_refused(tall: np.ndarray) -> None:
    """As in a notebook whose client was opened with asynchronous=True."""
    from distributed import Client

    async def fit() -> None:
        async with Client(processes=False, n_workers=1, dashboard_address=":0", asynchronous=True):
            model().fit(da.from_array(tall, chunks=(60, 30)))

    with (
        ThreadPoolExecutor(1) as thread,  # a browser of other tests may run an event loop in this one
        pytest.raises(ValueError, match="open one with asynchronous=False"),
    ):
        thread.submit(lambda: asyncio.run(fit())).result()


@pytest.mark.slow
def test_cross_validation_holds_out_the_same_entries(client: Any, tall: np.ndarray) -> None:
    there = cross_validate(da.from_array(tall, chunks=(60, 30)), folds=2, max_rank=4, random_state=0)
    here = cross_validate(tall, folds=2, max_rank=4, random_state=0)
    assert there.rank == here.rank == 3
    np.testing.assert_allclose(there.evidence["error"], here.evidence["error"], rtol=1e-3)
