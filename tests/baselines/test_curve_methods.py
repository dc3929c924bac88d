"""Elbow and BIC: on curves made by hand, and on the easy case."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import PathPoint, RankPath
from autonmf.baselines import bic, elbow
from autonmf.baselines.curve import knees


def path_of(losses: list[float], *, complete: bool = True) -> RankPath:
    points = tuple(
        PathPoint(np.zeros((9, rank)), np.zeros((8, rank)), loss, 0.0, 1)
        for rank, loss in enumerate(losses, start=1)
    )
    return RankPath(points, (), (9, 8), 200.0, 50.0, 100.0, 0.0, 0.0, complete, {})


def test_the_curve_of_the_kneedle_article() -> None:
    """Figure 2: y = 5 - 1/(x + 0.1) on ten points of [0, 1] has its knee at 0.22."""
    x = np.linspace(0, 1, 10)
    (knee,) = knees(x, 5 - 1 / (x + 0.1))
    assert_allclose(x[knee], 2 / 9)


def test_a_curve_with_two_knees() -> None:
    y = np.cumsum([0.0, 8, 1, 0.1, 0.1, 0.1, 6, 0.5, 0.1, 0.1, 0.1, 0.1])
    assert knees(np.arange(12.0), y) == [1, 6]


@pytest.mark.parametrize("y", [np.arange(6.0), np.zeros(6), np.arange(6.0) ** 2])
def test_curves_without_a_knee(y: np.ndarray) -> None:
    assert knees(np.arange(6.0), y) == []


def test_a_slight_bend_is_no_knee() -> None:
    assert knees(np.arange(6.0), np.array([0.0, 2.2, 4, 5.9, 7.9, 10])) == []


def test_elbow_by_hand() -> None:
    estimate = elbow(None, path=path_of([100.0, 60.0, 20.0, 19.0, 18.0, 17.0, 16.0, 15.0]))
    assert estimate.rank == 3
    # (100 - 20)/85 - 2/7
    assert_allclose(estimate.evidence["difference"][2], 80 / 85 - 2 / 7)


def test_a_rank_that_was_solved_badly_is_no_elbow() -> None:
    estimate = elbow(None, path=path_of([100.0, 60.0, 20.0, 45.0, 18.0, 17.0, 16.0, 15.0]))
    assert estimate.rank == 3


@pytest.mark.parametrize("losses", [[5.0], [5.0, 5.0, 5.0], [5.0, 4.0]])
def test_too_short_or_flat_for_an_elbow(losses: list[float]) -> None:
    estimate = elbow(None, path=path_of(losses))
    assert estimate.rank == 1
    assert "no clear knee" in estimate.warnings[0]


def test_bic_by_hand() -> None:
    """9 x 8, one component, RSS 12: 72 ln(12/72) + 16 ln 72."""
    value = bic(None, path=path_of([6.0])).evidence["bic"]
    assert_allclose(value, 72 * np.log(12 / 72) + 16 * np.log(72))
    # The second component costs 16 ln 72 = 68.4 on 9 x 8: the loss has to fall below exp(-0.95) of itself.
    share = np.exp(-16 * np.log(72) / 72)
    assert bic(None, path=path_of([90.0, 90.0 * share * 0.99])).rank == 2
    assert bic(None, path=path_of([90.0, 90.0 * share * 1.01])).rank == 1
    assert bic(None, path=path_of([90.0, 90.0 * share * 1.01])).plausible == (1, 2)


def test_bic_of_an_exact_fit() -> None:
    estimate = bic(None, path=path_of([90.0, 0.0, 0.0]))
    assert estimate.rank == 2
    assert np.isfinite(estimate.evidence["bic"]).all()


def test_bic_that_still_falls() -> None:
    estimate = bic(None, path=path_of([90.0, 1.0, 0.01]))
    assert estimate.rank == 3
    assert "max_rank" in estimate.warnings[0]


@pytest.mark.parametrize("method", [elbow, bic])
def test_easy_case(easy: np.ndarray, easy_path: RankPath, method: object) -> None:
    assert method(easy, path=easy_path).rank == 4
    assert method(easy, max_rank=12, random_state=0).rank == 4
    assert method(sparse.csr_matrix(easy), max_rank=12, random_state=0).rank == 4


@pytest.mark.parametrize("method", [elbow, bic])
def test_a_given_path_is_the_one_read(easy: np.ndarray, easy_path: RankPath, method: object) -> None:
    computed, read = method(easy, max_rank=12, random_state=0), method(None, path=easy_path)
    assert_array_equal(computed.evidence["loss"], read.evidence["loss"])
    assert_allclose(read.evidence["loss"], [
        0.5 * np.linalg.norm(easy - point.U @ point.V.T) ** 2 for point in easy_path.points
    ], rtol=1e-6)  # fmt: skip


@pytest.mark.parametrize("method", [elbow, bic])
def test_incomplete_paths_are_reported(method: object) -> None:
    assert "incomplete" in method(None, path=path_of([5.0, 1.0, 0.9], complete=False)).warnings[0]
