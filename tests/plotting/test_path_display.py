"""`PathDisplay`: the drawn numbers are those of the path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from autonmf import AutoNMF, RankPath, rank_path
from autonmf.plotting import PathDisplay

PANELS = ("loss", "lambda")


def segments(ax) -> np.ndarray:
    """(rank, first λ, last λ) of the plateaus that were drawn."""
    (drawn,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    return np.array([(low[0], low[1], high[1]) for low, high in drawn.get_segments()])


def dots(ax) -> list[tuple[float, float]]:
    """Where single large dots are."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in ax.lines
        if len(line.get_xdata()) == 1 and line.get_marker() == "o"
    ]


def test_the_line_is_the_relative_losses(fitted: AutoNMF) -> None:
    ax = PathDisplay.from_estimator(fitted).plot().axes_["loss"]
    assert_array_equal(ax.lines[0].get_xdata(), fitted.path_.ranks)
    assert_allclose(ax.lines[0].get_ydata(), fitted.path_.relative_losses)
    assert "relative loss" in ax.get_ylabel()


def test_the_rank_is_marked_on_its_loss(fitted: AutoNMF) -> None:
    axes = PathDisplay.from_estimator(fitted).plot(panels=PANELS).axes_
    at = fitted.path_.ranks == 3
    assert dots(axes["loss"]) == [(3, pytest.approx(fitted.path_.relative_losses[at][0]))]
    assert [text.get_text() for text in axes["loss"].texts] == ["rank 3"]
    assert axes["lambda"].get_xlabel() == "rank"


def test_another_rank_of_the_same_path_is_marked_in_its_place(fitted: AutoNMF) -> None:
    assert dots(PathDisplay.from_estimator(fitted.at_rank(5)).plot().axes_["loss"])[0][0] == 5


def test_without_a_choice_nothing_is_marked(fitted: AutoNMF) -> None:
    axes = PathDisplay.from_path(fitted.path_).plot().axes_
    assert dots(axes["loss"]) == []
    assert not axes["loss"].texts


def test_plateaus_are_those_of_the_visits(fitted: AutoNMF) -> None:
    drawn = segments(PathDisplay.from_estimator(fitted).plot(panels=PANELS).axes_["lambda"])
    visits = sorted(fitted.path_.visits, key=lambda visit: visit.rank)
    assert_array_equal(drawn[:, 0], [visit.rank for visit in visits])
    assert_allclose(drawn[:, 2], [max(visit.lam, visit.next_lam) for visit in visits])
    assert_allclose(drawn[:-1, 1], [visit.lam for visit in visits[:-1]])


@pytest.mark.parametrize(("last", "scale"), [(9.0, "linear"), (900.0, "log")])
def test_a_plateau_that_begins_at_zero_begins_at_the_edge(last: float, scale: str) -> None:
    """The largest rank begins at λ = 0, which a log scale does not have."""
    plateaus = [(1, 5.0, last), (2, 4.0, 4.5), (3, 0.0, 4.0)]
    ax = PathDisplay([1, 2, 3], [0.5, 0.4, 0.3], plateaus).plot(panels=PANELS).axes_["lambda"]
    assert ax.get_yscale() == scale
    drawn = segments(ax)
    assert drawn[2, 1] == ax.get_ylim()[0]
    assert_allclose(drawn[:2], plateaus[:2])


def test_plateaus_are_those_of_the_start_that_solved_the_rank_best(two_starts: RankPath) -> None:
    of_start_1 = [(1, 51.0, 51.0), (2, 3.5, 50.0), (3, 0.0, 3.0)]
    assert_array_equal(PathDisplay.from_path(two_starts, rank=2).plateaus, of_start_1)


def test_visits_on_one_plateau_are_one_plateau(two_starts: RankPath) -> None:
    of_start_0 = [(1, 9.0, 70.0), (2, 5.0, 8.0), (3, 0.0, 4.0)]
    assert_array_equal(PathDisplay.from_path(two_starts, rank=3).plateaus, of_start_0)
    assert_array_equal(PathDisplay.from_path(two_starts).plateaus, of_start_0)


def test_a_loss_of_zero_is_shown_at_the_bottom() -> None:
    display = PathDisplay([1, 2, 3], [0.5, 0.01, 0.0], [], rank=2).plot()
    line, outside = display.axes_["loss"].lines[:2]
    assert_allclose(line.get_ydata(), [0.5, 0.01, np.nan])
    assert outside.get_marker() == "v"
    assert_array_equal(outside.get_xdata(), [3])


def test_a_path_without_visits_has_no_plateaus() -> None:
    assert list(PathDisplay([1, 2], [0.5, 0.4], []).plot().axes_) == ["loss"]


def test_one_panel_is_drawn_in_the_axes_that_are_given(fitted: AutoNMF) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = PathDisplay.from_estimator(fitted).plot(ax, panels="loss")
    assert display.ax_ is ax is display.axes_["loss"]
    assert display.figure_ is figure
    assert figure.axes == [ax]
    assert plt.get_fignums() == [figure.number]


def test_the_paper_grid_can_be_drawn(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=8, grid="adaptive", random_state=0)
    display = PathDisplay.from_path(path, rank=3).plot()
    assert_array_equal(np.unique(display.plateaus[:, 0]), path.ranks)
    assert (display.plateaus[:, 1] <= display.plateaus[:, 2]).all()


@pytest.mark.parametrize("panels", ["losses", ["loss", "rank"], []])
def test_unknown_panels_are_refused(fitted: AutoNMF, panels) -> None:
    with pytest.raises(ValueError, match="'loss', 'lambda' or both"):
        PathDisplay.from_estimator(fitted).plot(panels=panels)


def test_an_estimator_must_be_fitted() -> None:
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(AutoNMF())
