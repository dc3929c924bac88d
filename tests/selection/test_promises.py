"""What the default rule promises, on families and seeds of the benchmark that it was not made with.

Lower bounds, not the figures of ``experiments/results/order/page.md``; a rule is not to be tuned to these
seeds.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from experiments.rank_benchmark import FINAL_SEEDS, Row, Score, choose_families, run_order, score_by


@cache
def answers(group: str) -> list[Row]:
    """The default rule on every family of a group, held out or not."""
    names = [family.name for family in choose_families("all") if family.group == group]
    return run_order(names, ["auto"], FINAL_SEEDS, show=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_x_m", ["1000x400", "1000x800", "3000x1000", "3000x2000", "5000x3000", "5000x4000"]
)
def test_the_papers_configurations(n_x_m: str) -> None:
    names = [f"paper-{n_x_m}-{noise}-r{rank}" for noise in (0.1, 0.3) for rank in (10, 20)]
    rows = run_order(names, ["auto"], FINAL_SEEDS[:1], show=False)
    assert [row.rank for row in rows] == [row.truth for row in rows] == [10, 20, 10, 20]


@pytest.mark.slow
def test_parts_of_real_data_mixed_by_us() -> None:
    rows = answers("semi")
    score = Score.of(rows)
    assert score.instances == 45
    assert score.exact >= 0.85
    assert score.within_one >= 0.95
    assert score.worst < 1.0, "an answer is off by a factor of two"
    assert min(each.exact for each in score_by(rows, lambda row: row.family).values()) >= 0.6


@pytest.mark.slow
def test_confidence_means_something() -> None:
    rows = answers("semi") + answers("synthetic")
    sure = [row for row in rows if row.confidence is not None and row.confidence >= 0.9]
    assert len(sure) >= 0.5 * len(rows)
    assert Score.of(sure).exact >= 0.85


def test_noise_has_one_component_and_says_so() -> None:
    rows = [row for row in answers("synthetic") if row.family.startswith("nothing")]
    assert len(rows) == 15
    for row in rows:
        assert row.rank == 1
        assert "no structure beyond rank one" in row.warnings


@pytest.mark.slow
def test_real_data(real_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight sets with a reference; of the two forms of BBC, tf-idf."""
    monkeypatch.setenv("AUTONMF_DATA", str(real_home))
    rows = [row for row in answers("real") if row.family != "bbc-counts"]
    if len(rows) < 8:
        pytest.skip(f"{real_home} has {len(rows)} of the eight data sets")
    assert sum(row.missed_by <= 1 for row in rows) >= 6
    assert max(row.log_error for row in rows) < 1.0, "an answer is off by a factor of two"
