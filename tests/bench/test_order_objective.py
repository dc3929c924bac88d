"""The objective, by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from autonmf.bench.order import Row, Score, overall, score_by


def row(truth: int, rank: int | None, **other: Any) -> Row:
    given = {
        "family": "f", "group": "semi", "held_out": False, "seed": 0, "method": "a", "n": 20, "m": 30,
        "max_rank": 10, "seconds": 1.0, "plausible": () if rank is None else (rank,),
    }  # fmt: skip
    return Row(truth=truth, rank=rank, **(given | other))


def test_score_by_hand() -> None:
    score = Score.of(
        [
            row(4, 4),
            row(4, 5, plausible=(4, 5), warnings=("unsure",)),
            row(4, 8, seconds=3.0),
            row(8, 1, warnings=("nothing",)),
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
    assert row(1, 0).log_error == 0.0
    assert row(1, 0).missed_by == 1
    assert row(4, 0).log_error == 2.0


def test_a_failure_is_the_worst_answer() -> None:
    assert row(2, None).log_error == pytest.approx(math.log2(10 / 2))
    assert row(8, None).log_error == 3.0
    score = Score.of([row(8, None), row(8, 4)])
    assert (score.failed, score.within_one, score.silent, score.bias) == (0.5, 0.0, 1.0, -1.0)
    assert math.isnan(Score.of([row(8, None)]).bias)


def test_no_rows() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Score.of([])


def test_overall_is_the_mean_over_groups() -> None:
    rows = [row(2, 2, group="paper", seed=seed) for seed in range(9)] + [row(2, 8, group="semi")]
    assert overall(rows)["a"].exact == 0.5
    assert overall(rows)["a"].log_error == 1.0
    assert overall(rows)["a"].worst == 2.0
    assert overall(rows)["a"].instances == 10
    by_group = score_by(rows, lambda one: one.group)
    assert (by_group["paper"].exact, by_group["semi"].exact) == (1.0, 0.0)


def test_rows_survive_json() -> None:
    one = row(4, 5, plausible=(4, 5), warnings=("unsure",), confidence=0.5)
    stored = json.loads(json.dumps(one.as_dict()))
    assert Row.from_dict(stored) == one
    assert Row.from_dict(stored | {"of a later version": 1}) == one
