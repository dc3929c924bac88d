"""What the default rule promises, on families and seeds of the benchmark that it was not made with.

Lower bounds, not the figures of ``experiments/results/order/page.md``; a rule is not to be tuned to these
seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from autonmf import RankEstimate
from experiments.rank_benchmark import FINAL_SEEDS, Row, Score, choose_families, run_order, score_by

Choose = Callable[..., RankEstimate]
NEW_SEEDS = range(7100, 7104)
"""Neither of the design nor final: no rule has seen them."""


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
    assert score.instances == 90
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


@pytest.mark.slow
def test_no_wrong_answer_to_real_data_is_confident(real_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(real_home))
    wrong = [row for row in answers("real") if row.missed_by]
    assert all(row.confidence is not None and row.confidence < 0.5 for row in wrong)


@pytest.mark.slow
def test_nothing_is_sure_and_wrong_on_seeds_that_no_rule_has_seen() -> None:
    families = [family for family in choose_families("design") if family.group in ("synthetic", "semi")]
    rows = run_order([family.name for family in families], ["auto"], NEW_SEEDS, show=False)
    assert len(rows) >= 100
    sure = [row for row in rows if row.confidence is not None and row.confidence >= 0.9]
    assert len(sure) >= 0.8 * len(rows)
    assert [(row.family, row.seed) for row in sure if row.missed_by] == []
    scores = score_by(rows, lambda row: row.family)
    assert scores["limbs"].exact >= 0.9
    assert scores["column-units"].exact >= 0.8
    assert scores["clipped"].exact >= 0.95
    assert Score.of([row for row in rows if row.family.startswith("low-last")]).exact >= 0.85


# Matrices drawn here, independently of the benchmark


def half_normal(rng: np.random.Generator, shape: tuple[int, int], rank: int) -> np.ndarray:
    U, V = (np.abs(rng.standard_normal((side, rank))) for side in shape)
    return U @ V.T


def test_two_components_without_noise(choose: Choose) -> None:
    for seed in range(40):
        assert choose(half_normal(np.random.default_rng(seed), (31, 67), 2)).rank == 2


def components(rng: np.random.Generator, rank: int, last: float = 1.0) -> np.ndarray:
    """Half of the entries of each factor are zero; the last component is ``last`` times as large."""
    U, V = (rng.gamma(1.0, 1.0, (side, rank)) * (rng.random((side, rank)) < 0.5) for side in (150, 100))
    U[:, -1] *= last
    return U @ V.T


def clip_white(rng: np.random.Generator, low: np.ndarray) -> np.ndarray:
    return np.maximum(low + 0.15 * rng.standard_normal(low.shape), 0.0)


def clip_rows(rng: np.random.Generator, low: np.ndarray) -> np.ndarray:
    sizes = 0.15 * np.exp(0.5 * rng.standard_normal((len(low), 1)))
    return np.maximum(low + sizes * rng.standard_normal(low.shape), 0.0)


def count(rng: np.random.Generator, low: np.ndarray) -> np.ndarray:
    return rng.poisson(20.0 * low).astype(float)


def multiply(rng: np.random.Generator, low: np.ndarray) -> np.ndarray:
    return low * rng.gamma(25.0, 1 / 25.0, low.shape)


@pytest.mark.slow
@pytest.mark.parametrize("add_noise", [clip_white, clip_rows, count, multiply])
def test_a_last_component_of_low_energy(add_noise: Callable[..., np.ndarray], choose: Choose) -> None:
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right += choose(add_noise(rng, components(rng, 5, last=0.35))).rank == 5
    assert right >= 17


@pytest.mark.slow
def test_columns_in_different_units(choose: Choose) -> None:
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = clip_white(rng, components(rng, 4, last=0.35))
        right += choose(X * np.exp(1.5 * rng.standard_normal(X.shape[1]))).rank == 4
    assert right >= 16


@pytest.mark.slow
def test_clipped_noise_of_any_rank(choose: Choose) -> None:
    found = []
    for rank in range(2, 9):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            low = components(rng, rank)
            found.append(choose(np.maximum(low + 0.5 * rng.standard_normal(low.shape), 0.0)).rank - rank)
    assert found.count(0) >= 0.95 * len(found), found


NOTHING: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "uniform": lambda rng: rng.random((120, 70)),
    "shifted normal": lambda rng: 6.0 + rng.standard_normal((120, 70)),
    "clipped normal": lambda rng: np.maximum(rng.standard_normal((120, 70)), 0.0),
    "Poisson": lambda rng: rng.poisson(4.0, (120, 70)).astype(float),
    "gamma": lambda rng: rng.gamma(2.0, 1.0, (120, 70)),
    "uneven": lambda rng: (
        np.exp(rng.standard_normal((120, 1))) * rng.random((120, 70)) * np.exp(rng.standard_normal(70))
    ),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_noise_alone(kind: str, choose: Choose) -> None:
    for seed in range(5):
        estimate = choose(NOTHING[kind](np.random.default_rng(seed)))
        assert estimate.rank == 1
        assert "no structure beyond rank one" in estimate.warnings
