"""`RankDisplay`: every rule's evidence, the choice, and what else is plausible."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from autonmf import AutoNMF, RankEstimate
from autonmf.baselines import METHODS
from autonmf.plotting import RankDisplay

RANKS = np.arange(1, 7)
EVIDENCE = {
    "rank": RANKS,
    "loss": np.array([60.0, 40, 10, 9, 9, 9]),
    "drop": np.array([np.nan, 20, 30, 1, 0, 0]),
    "drop_ratio": np.array([np.nan, 2 / 3, 30, np.inf, np.nan, np.nan]),
}


def shaded(ax) -> list[float]:
    """The middles of the shaded ranks."""
    return [float(np.mean(patch.get_extents().transformed(ax.transData.inverted()).intervalx))
            for patch in ax.patches]  # fmt: skip


def line_of(ax, label: str):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


def marked(ax) -> list[tuple[float, float]]:
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in ax.lines
        if len(line.get_xdata()) == 1 and line.get_marker() == "o"
    ]


def test_the_marginal_rule_shows_drops_and_ratios(fitted: AutoNMF) -> None:
    axes = RankDisplay.from_estimator(fitted).plot().axes_
    assert list(axes) == ["drop", "drop_ratio"]
    evidence = fitted.rank_estimate_.evidence
    for name, ax in axes.items():
        line = line_of(ax, name)
        assert_array_equal(line.get_xdata(), evidence["rank"])
        assert_allclose(line.get_ydata(), evidence[name])
        at = evidence["rank"] == fitted.n_components_
        assert marked(ax) == [(fitted.n_components_, pytest.approx(evidence[name][at][0]))]
        assert ax.get_yscale() == "log"
    assert "drop in loss" in axes["drop"].get_ylabel()
    assert axes["drop"].get_title(loc="left") == f"rank {fitted.n_components_} (rule: marginal)"


def test_zero_and_infinity_are_at_the_edges() -> None:
    axes = RankDisplay(EVIDENCE, 3).plot().axes_
    assert_allclose(line_of(axes["drop"], "drop").get_ydata(), [np.nan, 20, 30, 1, np.nan, np.nan])
    assert_allclose(
        line_of(axes["drop_ratio"], "drop_ratio").get_ydata(), [np.nan, 2 / 3, 30, np.nan, np.nan, np.nan]
    )
    (zero,) = [line for line in axes["drop"].lines if line.get_marker() == "v"]
    (infinite,) = [line for line in axes["drop_ratio"].lines if line.get_marker() == "^"]
    assert_array_equal(zero.get_xdata(), [5, 6])
    assert_array_equal(infinite.get_xdata(), [4])


def test_plausible_ranks_are_shaded_in_every_panel() -> None:
    axes = RankDisplay(EVIDENCE, 3, plausible=(3, 5)).plot().axes_
    for ax in axes.values():
        assert_allclose(shaded(ax), [3, 5])
    assert axes["drop_ratio"].get_xlabel() == "rank (shaded: plausible ranks)"


def test_a_single_plausible_rank_needs_no_key() -> None:
    assert RankDisplay(EVIDENCE, 3, plausible=(3,)).plot().axes_["drop_ratio"].get_xlabel() == "rank"


def test_confidence_is_in_the_title() -> None:
    estimate = RankEstimate(3, "auto", "", EVIDENCE, (3,), confidence=0.934)
    assert RankDisplay.from_estimate(estimate).title == "rank 3, confidence 93 % (rule: auto)"
    assert RankDisplay(EVIDENCE, 3).title == "rank 3"


def test_a_probability_replaces_the_score_and_the_drop_ratio() -> None:
    more = {**EVIDENCE, "score": RANKS - 3.0, "probability": np.eye(6)[2]}
    axes = RankDisplay(more, 3).plot().axes_
    assert list(axes) == ["drop", "probability"]
    assert_allclose(line_of(axes["probability"], "probability").get_ydata(), np.eye(6)[2])
    assert axes["probability"].get_ylim()[1] > 1.0
    assert not axes["drop"].get_xlabel()
    assert axes["probability"].get_xlabel() == "rank"
    assert list(RankDisplay({**EVIDENCE, "score": RANKS - 3.0}, 3).plot().axes_) == ["drop", "score"]


def test_a_score_of_minus_infinity_is_at_the_bottom() -> None:
    scores = np.array([-np.inf, -1.0, 2.0, 0.0, -1.0, -2.0])
    ax = RankDisplay({"rank": RANKS, "score": scores}, 3).plot().axes_["score"]
    assert_allclose(line_of(ax, "score").get_ydata(), [np.nan, -1, 2, 0, -1, -2])
    (lowest,) = [line for line in ax.lines if line.get_marker() == "v"]
    assert_array_equal(lowest.get_xdata(), [1])


@pytest.mark.parametrize("ratios", [[30.0, 20, 1.1, 1, 0.9, 0.8], [4.0, 1.5, 1.2, 1, 0, 0], [0.9] * 6])
def test_what_is_above_noise_stands_on_its_level(ratios: list[float]) -> None:
    ax = RankDisplay({"rank": RANKS, "noise_ratio": np.array(ratios)}, 3).plot().axes_["noise_ratio"]
    assert_allclose(line_of(ax, "noise").get_ydata(), 1.0)
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < 1.0 < high
    (bars,) = ax.collections
    drawn = np.array([bar for bar in bars.get_segments() if len(bar)]).reshape(-1, 2, 2)
    above = [rank for rank, ratio in zip(RANKS, ratios, strict=True) if ratio > 1.0]
    assert_array_equal(drawn[:, 0, 0], above)
    assert_allclose(drawn[:, 0, 1], 1.0)
    assert_allclose(drawn[:, 1, 1], [ratio for ratio in ratios if ratio > 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_the_evidence_of_every_method_can_be_drawn(low_rank: np.ndarray, method: str) -> None:
    estimate = METHODS[method](low_rank, max_rank=6, random_state=0)
    axes = RankDisplay.from_estimate(estimate).plot().axes_
    assert axes
    for name, ax in axes.items():
        values = np.asarray(estimate.evidence[name], dtype=float)
        drawn = line_of(ax, name).get_ydata()
        assert_allclose(drawn[np.isfinite(drawn)], values[np.isfinite(drawn)])
        assert estimate.rank in [rank for rank, _ in marked(ax)]
        low, high = ax.get_ylim()
        assert low <= np.nanmin(drawn) <= np.nanmax(drawn) <= high


def test_stability_below_zero_is_not_cut_off() -> None:
    values = np.array([1.0, 0.99, 0.98, -0.4, -0.6, -0.5])
    ax = RankDisplay({"rank": RANKS, "stability": values}, 3).plot().axes_["stability"]
    assert ax.get_ylim()[0] < -0.6


def test_a_threshold_is_a_line() -> None:
    table = {"rank": RANKS, "singular_value": 2.0**-RANKS, "threshold": np.full(6, 0.1)}
    ax = RankDisplay(table, 3).plot().axes_["singular_value"]
    assert_allclose(line_of(ax, "threshold").get_ydata(), 0.1)
    assert [text.get_text() for text in ax.texts] == ["threshold"]


def test_standard_errors_are_a_band() -> None:
    table = {"rank": RANKS, "error": np.ones(6), "standard_error": np.full(6, 0.25)}
    (band,) = RankDisplay(table, 3).plot().axes_["error"].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.75, 1.25)


def test_the_loss_is_drawn_alone_or_on_demand() -> None:
    only = {name: EVIDENCE[name] for name in ("rank", "loss")}
    assert list(RankDisplay(only, 3).plot().axes_) == ["loss"]
    assert list(RankDisplay(EVIDENCE, 3).plot(columns="loss").axes_) == ["loss"]


def test_columns_of_unknown_rules_are_drawn_by_name() -> None:
    table = {"rank": RANKS, "my_score": RANKS * 1.0, "note": np.array(list("abcdef"))}
    axes = RankDisplay(table, 3).plot().axes_
    assert list(axes) == ["my_score"]
    assert axes["my_score"].get_ylabel() == "my score"


def test_ranks_far_beyond_the_choice_are_not_shown() -> None:
    ranks = np.arange(1, 401)
    ax = RankDisplay({"rank": ranks, "singular_value": 1.0 / ranks}, 3).plot().axes_["singular_value"]
    assert len(line_of(ax, "singular_value").get_xdata()) == 50
    ax = RankDisplay({"rank": ranks, "singular_value": 1.0 / ranks}, 120).plot().axes_["singular_value"]
    assert ax.get_xlim()[1] > 200


def test_one_rank_without_any_drop() -> None:
    table = {"rank": np.array([4]), "drop": np.array([np.nan]), "drop_ratio": np.array([np.nan])}
    display = RankDisplay(table, 4, plausible=(4,)).plot()
    display.figure_.canvas.draw()
    assert display.axes_["drop"].get_title(loc="left") == "rank 4"


def test_errors_say_what_to_do(low_rank: np.ndarray) -> None:
    with pytest.raises(ValueError, match="drop, drop_ratio"):
        RankDisplay(EVIDENCE, 3).plot(columns="drops")
    with pytest.raises(ValueError, match="column 'rank'"):
        RankDisplay({"drop": RANKS}, 3)
    given = AutoNMF(n_components=2, max_rank=4, random_state=0).fit(low_rank)
    with pytest.raises(ValueError, match="n_components=None"):
        RankDisplay.from_estimator(given)
    with pytest.raises(NotFittedError):
        RankDisplay.from_estimator(AutoNMF())
