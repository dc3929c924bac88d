"""Scores, which method comes first, the page and its picture: by hand."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.rank_benchmark import Row, Score, overall, score_by
from experiments.rank_benchmark.page import PAGE, PICTURE, exact_shares, page, print_scores, write_page
from experiments.rank_benchmark.run import Store
from experiments.rank_benchmark.scores import (
    Sureness,
    ranked_by_family,
    ranked_by_group,
    ranked_held_out,
    ranked_overall,
    uneven,
)
from experiments.shared import RESULTS


def row(method: str, truth: int, rank: int | None, **other: Any) -> Row:
    given = {
        "family": "small", "group": "synthetic", "held_out": False, "seed": 0, "n": 20, "m": 30,
        "max_rank": 10, "seconds": 1.0, "plausible": () if rank is None else (rank,), "code": "1234",
    }  # fmt: skip
    return Row(method=method, truth=truth, rank=rank, **(given | other))


REAL = {"family": "samson", "group": "real"}
ROWS = [
    row("near", 4, 5, **REAL),
    row("far", 4, 8, **REAL),
    row("auto", 4, 4, confidence=0.95, **REAL),
    row("near", 4, 4),
    row("far", 4, 4),
    row("auto", 4, 4, confidence=0.5),
]


def lines_of(text: str, title: str) -> list[list[str]]:
    """The cells of the first table below a title, without its header."""
    section = text.split(f"\n{title}\n")[1].split("\n#")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def test_the_best_method_comes_first() -> None:
    assert [one.method for one in ranked_overall(ROWS)] == [
        "auto",
        "near",
        "far",
    ]  # far: as often, but farther
    by_group = [(one.where, one.method) for one in ranked_by_group(ROWS)]
    assert [where for where, _ in by_group] == ["synthetic"] * 3 + ["real"] * 3
    assert [method for where, method in by_group if where == "real"] == ["auto", "near", "far"]
    assert [one.where for one in ranked_by_family(ROWS)] == ["small"] * 3 + ["samson"] * 3


def test_how_sure() -> None:
    sure = [
        row("a", 4, 4, confidence=0.9),
        row("a", 4, 5, confidence=0.99),
        row("a", 4, 4, confidence=0.89),
        row("a", 4, None),  # failed: says nothing about confidence
    ]
    assert Sureness.of(sure) == Sureness(pytest.approx(2 / 3), 0.5)
    assert Sureness.of(sure[2:]) == Sureness(0.0, None)
    assert Sureness.of(sure[3:]) == Sureness(None, None)


def test_the_page_begins_with_what_matters() -> None:
    text = page(ROWS, "order.png")
    titles = [line for line in text.splitlines() if line.startswith("#")]
    assert titles == ["# Rank selection", "## Overall", "## By group", "## By family", "## Every answer"]
    assert "2 instances of 2 families, seeds 0, held-out families left out. Code 1234." in text
    assert lines_of(text, "## Overall") == [
        ["**auto**", "100%", "100%", "0.00", "0.00", "50%", "100%", "1.0"],
        ["near", "50%", "100%", "0.16", "0.32", "-", "-", "1.0"],
        ["far", "50%", "50%", "0.50", "1.00", "-", "-", "1.0"],
    ]
    assert text.index("## Overall") < text.index("](order.png)") < text.index("## By group")
    assert lines_of(text, "## By group")[5][:4] == ["real", "far", "1", "0%"]
    assert lines_of(text, "## By family")[3][:4] == ["samson", "**auto**", "1", "100%"]
    answers = lines_of(text, "## Every answer")
    assert answers[0] == ["samson", "0", "20 x 30", "4", "**4**", "5", "8", ""]
    assert answers[1] == ["small", "0", "20 x 30", "4", "**4**", "**4**", "**4**", ""]


def test_the_page_says_what_went_wrong() -> None:
    failed = row("near", 4, None, seed=1, error="ZeroDivisionError: no answer")
    text = page([*ROWS, failed])
    assert text.endswith("## Failures\n\n- small seed 1, near: ZeroDivisionError: no answer\n")
    assert lines_of(text, "## Every answer")[2][4:7] == ["", "", "failed"]
    assert "Not every method has answered every instance" in text
    assert "Not every method" not in page(ROWS)
    assert uneven(ROWS[1:])
    assert "Answers of 2 states of the code are mixed (1234, 5678)" in page(
        [*ROWS[1:], replace(ROWS[0], code="5678")]
    )
    assert "held-out families included" in page([replace(ROWS[0], held_out=True)])


def test_the_terminal_shows_one_line_a_method(capsys: pytest.CaptureFixture[str]) -> None:
    print_scores(ROWS)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["Rank", "selection"] in lines
    shown = [line for line in lines if line and line[0] in ("auto", "near", "far")]
    assert shown == [
        ["auto", "(ours)", "100%", "100%", "0.00", "0.00", "50%", "100%", "1.0", "100%", "100%"],
        ["near", "50%", "100%", "0.16", "0.32", "-", "-", "1.0", "100%", "0%"],
        ["far", "50%", "50%", "0.50", "1.00", "-", "-", "1.0", "100%", "0%"],
    ]


def test_shares_of_the_picture() -> None:
    methods, columns, shares = exact_shares([*ROWS, row("late", 4, 4)])
    assert (methods, columns) == (["auto", "late", "near", "far"], ["overall", "synthetic", "real"])
    np.testing.assert_array_equal(shares, [[1, 1, 1], [1, 1, np.nan], [0.5, 1, 0], [0.5, 1, 0]])


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    write_page([*ROWS, row("late", 4, 4)], tmp_path)
    assert f"]({PICTURE})" in (tmp_path / PAGE).read_text(encoding="utf-8")
    height, width, _ = imread(tmp_path / PICTURE).shape
    assert min(height, width) > 200


def test_a_page_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    write_page(ROWS, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [PAGE]
    assert PICTURE not in (tmp_path / PAGE).read_text(encoding="utf-8")


def test_held_out_families_are_scored_together() -> None:
    held = [row("auto", 4, 4, held_out=True), row("auto", 4, 5, held_out=True, family="other")]
    (standing,) = ranked_held_out([*ROWS, *held])
    assert (standing.where, standing.score.instances, standing.score.exact) == ("held out", 2, 0.5)
    assert ranked_held_out(ROWS) == []


def test_the_committed_page_is_that_of_the_committed_rows() -> None:
    rows = Store(RESULTS / "order").rows
    assert page(rows, PICTURE) == (RESULTS / "order" / PAGE).read_text(encoding="utf-8")


def answer(truth: int, rank: int | None, **other: Any) -> Row:
    return row("a", truth, rank, **({"group": "semi"} | other))


def test_score_by_hand() -> None:
    score = Score.of(
        [
            answer(4, 4),
            answer(4, 5, plausible=(4, 5), warnings=("unsure",)),
            answer(4, 8, seconds=3.0),
            answer(8, 1, warnings=("nothing",)),
        ]
    )
    assert score == Score(
        instances=4,
        exact=0.25,
        within_one=0.5,
        log_error=pytest.approx((math.log2(1.25) + 1 + 3) / 4),
        worst=3.0,
        bias=pytest.approx((math.log2(1.25) + 1 - 3) / 4),
        covered=0.5,
        warned=0.5,
        silent=0.25,
        failed=0.0,
        seconds=1.5,
    )


def test_zero_counts_as_one() -> None:
    assert answer(1, 0).log_error == 0.0
    assert answer(1, 0).missed_by == 1
    assert answer(4, 0).log_error == 2.0


def test_a_failure_is_the_worst_answer() -> None:
    assert answer(2, None).log_error == pytest.approx(math.log2(10 / 2))
    assert answer(8, None).log_error == 3.0
    score = Score.of([answer(8, None), answer(8, 4)])
    assert (score.failed, score.within_one, score.silent, score.bias) == (0.5, 0.0, 1.0, -1.0)
    assert math.isnan(Score.of([answer(8, None)]).bias)


def test_no_rows() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Score.of([])


def test_overall_is_the_mean_over_groups() -> None:
    rows = [answer(2, 2, group="paper", seed=seed) for seed in range(9)] + [answer(2, 8, group="semi")]
    assert overall(rows)["a"].exact == 0.5
    assert overall(rows)["a"].log_error == 1.0
    assert overall(rows)["a"].worst == 2.0
    assert overall(rows)["a"].instances == 10
    by_group = score_by(rows, lambda one: one.group)
    assert (by_group["paper"].exact, by_group["semi"].exact) == (1.0, 0.0)


def test_rows_survive_json() -> None:
    one = answer(4, 5, plausible=(4, 5), warnings=("unsure",), confidence=0.5)
    stored = json.loads(json.dumps(one.as_dict()))
    assert Row.from_dict(stored) == one
    assert Row.from_dict(stored | {"of a later version": 1}) == one
