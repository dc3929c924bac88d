"""A path begins some ranks above the first beyond which X is noise; the others follow when it is read."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import AutoNMF, rank_path
from autonmf.datasets import make_low_rank
from autonmf.path.search import MARGIN

BOUND = 40


@pytest.fixture(scope="module", params=["small", "compressed", pytest.param("tall", marks=pytest.mark.slow)])
def X(request: pytest.FixtureRequest) -> Any:
    """Five components; X is read as it is, through a compression, or in a sample of its rows."""
    shape = {"small": (120, 90), "compressed": (900, 700), "tall": (14000, 60)}[request.param]
    return make_low_rank(*shape, rank=5, random_state=0)[0]


def check_every_rank(path: Any, X: Any) -> None:
    assert_array_equal(path.ranks, np.arange(1, BOUND + 1))
    assert [visit.rank for visit in path.visits] == list(range(BOUND, 0, -1))
    assert np.all(np.diff(path.losses) <= 1e-9 * path.energy)
    for rank in (3, 5 + MARGIN, 6 + MARGIN, BOUND):
        point = path.at_rank(rank)
        residual = np.linalg.norm(X - np.asarray(point.U) @ point.V.T)
        assert point.loss == pytest.approx(0.5 * residual**2, rel=0.01)


def test_every_rank_is_there_when_the_path_is_read(X: Any) -> None:
    model = AutoNMF(max_rank=BOUND, random_state=0).fit(X)
    assert model.n_components_ == 5
    assert model.rank_estimate_.evidence["rank"][-1] == 5 + MARGIN
    check_every_rank(model.path_, X)


def test_the_path_of_an_estimator_is_that_of_the_function(X: Any) -> None:
    path = rank_path(X, max_rank=BOUND, equilibrate=True, random_state=0)
    of_model = AutoNMF(max_rank=BOUND, random_state=0).fit(X).path_
    if len(X) > 1000:  # an estimator keeps a copy of a tall X in single precision only
        assert_allclose(path.losses[:25], of_model.losses[:25], rtol=1e-3)
        return
    assert_array_equal(path.losses, of_model.losses)
    for one, other in zip(path.points, of_model.points, strict=True):
        assert_array_equal(one.U, other.U)
        assert_array_equal(one.V, other.V)


def test_a_change_of_X_after_the_fit_does_not_matter() -> None:
    X = make_low_rank(120, 90, rank=5, random_state=0)[0]
    expected = AutoNMF(max_rank=BOUND, random_state=0).fit(X).path_.losses
    model = AutoNMF(max_rank=BOUND, random_state=0).fit(X)
    X[:] = 1.0
    assert_array_equal(model.path_.losses, expected)


def test_a_given_rank(X: Any) -> None:
    model = AutoNMF(5, max_rank=BOUND, random_state=0).fit(X)
    assert model.n_components_ == 5
    assert_array_equal(model.path_.ranks, np.arange(5, BOUND + 1))


def test_more_components_than_directions_where_noise_begins() -> None:
    """Squared distances on a line have three directions, and need many more nonnegative components."""
    places = np.arange(60.0)
    X = np.square(places[:, None] - places) / 600.0 + 1e-3 * np.random.default_rng(0).random((60, 60))
    model = AutoNMF(random_state=0).fit(X)
    assert model.path_.evidence.whitened.count_above() == 3
    assert model.rank_estimate_.evidence["rank"][-1] == 30
    assert model.n_components_ > 3


@pytest.mark.parametrize(
    "options", [{"missing": "mask"}, {"grid": "adaptive"}, {"rule": "marginal"}, {"init": "given"}]
)
def test_the_path_begins_at_its_bound_where_noise_is_not_known(options: dict[str, Any]) -> None:
    X = make_low_rank(60, 50, rank=3, random_state=0)[0]
    if options.get("init") == "given":
        rng = np.random.default_rng(0)
        options = {"init": (rng.random((60, 20)), rng.random((50, 20)))}
    if "missing" in options:
        X[0, 0] = np.nan
    evidence = AutoNMF(max_rank=20, random_state=0, **options).fit(X).rank_estimate_.evidence
    assert evidence["rank"][-1] > 3 + MARGIN


def test_the_path_begins_at_its_bound_where_nothing_but_rounding_is_left() -> None:
    X = make_low_rank(60, 50, rank=3, noise=0.0, random_state=0)[0]
    ranks = AutoNMF(max_rank=20, random_state=0).fit(X).rank_estimate_.evidence["rank"]
    assert ranks[-1] > 3 + MARGIN


def test_resumed_with_the_same_bits(tmp_path: Any) -> None:
    """Also where the path is followed a second time, from its bound."""
    places = np.arange(60.0)
    X = np.square(places[:, None] - places) / 600.0 + 1e-3 * np.random.default_rng(0).random((60, 60))
    expected = rank_path(X, equilibrate=True, random_state=0)
    file = tmp_path / "checkpoint"

    def stop_after(count: int) -> Any:
        seen = iter(range(count))

        def interrupt(_: Any) -> None:
            if next(seen, None) is None:
                raise OSError("stopped here")

        return interrupt

    for count in (3, 60, 150):
        with pytest.raises(OSError, match="stopped here"):
            rank_path(X, equilibrate=True, random_state=0, checkpoint=file, callback=stop_after(count))
    path = rank_path(X, equilibrate=True, random_state=0, checkpoint=file)
    assert_array_equal(path.losses, expected.losses)


def test_seconds_do_not_count_the_time_before_the_path_is_read() -> None:
    X = make_low_rank(120, 90, rank=5, random_state=0)[0]
    model = AutoNMF(max_rank=BOUND, random_state=0).fit(X)
    time.sleep(0.5)
    began = time.monotonic()
    path = model.path_
    last = max(visit.seconds for visit in path.visits)
    first = max(visit.seconds for visit in path.visits if visit.rank <= 5 + MARGIN)
    assert last - first <= time.monotonic() - began
