"""`AgreementDisplay`: who said what."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf.compare import compare_ranks
from autonmf.plotting import AgreementDisplay
from autonmf.plotting.style import LIGHT

RANKS = {"marginal-2": 4, "bic": 9, "svht": 5, "ard": None}


def answers(ax) -> dict[str, float]:
    """The dot of each method."""
    return {line.get_label(): float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o"}


def bars(ax, color: str) -> list[tuple[float, float]]:
    return [tuple(line.get_xdata()) for line in ax.lines if line.get_alpha() and line.get_color() == color]


def test_every_answer_is_a_dot_in_its_row() -> None:
    ax = AgreementDisplay(RANKS).plot().ax_
    assert answers(ax) == {"marginal-2": 4, "bic": 9, "svht": 5}
    assert [label.get_text() for label in ax.get_yticklabels()] == list(RANKS)
    rows = {line.get_label(): line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o"}
    assert rows == {"marginal-2": 0, "bic": 1, "svht": 2}
    assert [text.get_text() for text in ax.texts] == ["4", "9", "5", "failed"]
    assert ax.get_xlabel() == "rank"


def test_ours_is_marked_through_all_rows() -> None:
    ax = AgreementDisplay(RANKS, ours="svht").plot().ax_
    (line,) = [line for line in ax.lines if tuple(line.get_ydata()) == (0, 1)]
    assert_allclose(line.get_xdata(), 5)
    assert line.get_color() == LIGHT.choice
    bold = [label.get_text() for label in ax.get_yticklabels() if label.get_fontweight() == "bold"]
    assert bold == ["svht"]


def test_a_failed_method_can_be_ours() -> None:
    ax = AgreementDisplay(RANKS, ours="ard").plot().ax_
    assert not [line for line in ax.lines if tuple(line.get_ydata()) == (0, 1)]


def test_plausible_ranks_are_bars_over_runs() -> None:
    ax = AgreementDisplay(RANKS, plausible={"bic": (7, 8, 9, 11)}).plot().ax_
    assert bars(ax, LIGHT.data) == [(6.75, 9.25), (10.75, 11.25)]
    assert "plausible" in ax.get_xlabel()


@pytest.mark.parametrize(("largest", "scale"), [(30, "linear"), (200, "log")])
def test_answers_far_apart_are_on_a_log_scale(largest: int, scale: str) -> None:
    ax = AgreementDisplay({"a": 3, "b": largest}).plot().ax_
    assert ax.get_xscale() == scale
    assert ax.get_xlim()[1] > largest


def test_from_a_comparison(low_rank: np.ndarray) -> None:
    comparison = compare_ranks(low_rank, ["bic", "marginal-5", "svht"], max_rank=6, random_state=0)
    display = comparison.plot()
    assert isinstance(display, AgreementDisplay)
    assert answers(display.ax_) == comparison.ranks
    assert display.ours == "marginal-5"
    assert display.plausible["bic"] == comparison.estimates["bic"].plausible


def test_all_failed() -> None:
    ax = AgreementDisplay({"a": None, "b": None}).plot().ax_
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == ["failed", "failed"]


def test_ours_must_be_one_of_the_methods() -> None:
    with pytest.raises(ValueError, match="marginal-2, bic"):
        AgreementDisplay(RANKS, ours="auto")
