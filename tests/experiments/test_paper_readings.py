"""The rule and the start under other readings."""

from __future__ import annotations

import numpy as np
import pytest

from autonmf import rank_path, select_rank
from autonmf.datasets import make_low_rank
from experiments.core import bisect_grid
from experiments.paper import paths
from experiments.paper.paths import (
    STARTS,
    bisected,
    init_of,
    over_ranked,
    paper_grid,
    plateau_of,
    random_start,
    reached,
    rule_readings,
    width_of,
)


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return make_low_rank(60, 40, 4, 0.1, random_state=1)[0]


@pytest.mark.parametrize("solver", ["pasm", "s-ipalm"])
def test_as_read_is_the_rule_of_the_package(X: np.ndarray, solver: str) -> None:
    for seed in range(5):
        found = paper_grid(X, solver, tau=5.0, seed=seed)
        ranks = rule_readings(found.curve, 5.0)
        assert ranks["as read"] == found.estimate.rank
        assert len(set(ranks)) == 6


def test_readings_by_hand() -> None:
    """Ranks 1 to 4 with drops 90 (to 2), 6 (to 3), 3 (to 4); rank 3 was left with a worse loss at last."""
    curve = {
        "rank": [4, 3, 3, 2, 1],
        "loss": [1.0, 4.0, 9.0, 10.0, 150.0],
        "rank_one_loss": 100.0,
        "squared_norm": 300.0,
    }
    assert rule_readings(curve, 5.0) == {
        "as read": 2,
        "the last loss at each rank": 2,
        "rank one from the path": 2,
        "the rank after it (λ of i*)": 3,
        "the largest ratio": 2,
        "along the path, ranks decreasing": 4,
    }
    curve["loss"] = [1.0, 4.0, 9.9, 10.0, 150.0]
    assert rule_readings(curve, 20.0)["as read"] == 4  # 15 and 2 are not above 20: the largest rank
    assert rule_readings(curve, 20.0)["the last loss at each rank"] == 2  # 90 against 0.1


def test_one_rank() -> None:
    curve = {"rank": [3], "loss": [1.0], "rank_one_loss": 9.0, "squared_norm": 20.0}
    assert set(rule_readings(curve, 2.0).values()) == {3}


@pytest.mark.parametrize("start", STARTS)
def test_starts(X: np.ndarray, start: str) -> None:
    path = rank_path(X, 8, grid="adaptive", init=init_of(start, X.shape, 8, 0), random_state=0, scale=False)
    assert path.ranks.max() <= 8
    assert select_rank(path, "marginal", tau=5.0).rank in path.ranks


def test_random_starts_have_their_laws() -> None:
    for start, mean, zeros in (("uniform", 0.5, 0.0), ("uniform / 100", 0.005, 0.0), ("normal", 0.399, 0.5)):
        U, V = random_start(start, (200, 100), 20, 3)
        assert (U.shape, V.shape) == ((200, 20), (100, 20))
        assert np.mean(U) == pytest.approx(mean, rel=0.05)
        assert np.mean(V == 0) == pytest.approx(zeros, abs=0.05)
        np.testing.assert_array_equal(U, random_start(start, (200, 100), 20, 3)[0])
    with pytest.raises(ValueError, match="unknown start 'gamma'"):
        random_start("gamma", (5, 5), 2, 0)


def test_plateaus_by_hand() -> None:
    curve = {
        "rank": [9, 5, 5, 3, 1], "lam": [1.0, 2.0, 3.0, 8.0, 9.0], "next_lam": [2.0, 4.0, 6.0, 8.5, 20.0],
        "error": [0.1, 0.2, 0.4, 0.5, 0.9], "recovery_error": [None, 0.3, 0.5, 1.0, 2.0], "order": 5,
    }  # fmt: skip
    plateau = plateau_of(curve)
    assert plateau is not None
    assert (plateau.points, plateau.low, plateau.high, plateau.width) == (2, 2.0, 8.0, 4.0)
    assert (plateau.error, plateau.recovery_error) == pytest.approx((0.3, 0.4))
    assert reached(curve) == (2.0, 0.2)
    assert over_ranked(curve) == 0.2
    jumped = curve | {"order": 4}
    assert (plateau_of(jumped), width_of(jumped), reached(jumped)) == (None, 1.0, (8.0, 0.5))
    last = curve | {"order": 1}
    assert plateau_of(last).high == 20.0  # the path ends there: to where a component would go
    assert reached(curve | {"order": 0}) is None


@pytest.mark.parametrize("solver", ["ipalm", "pasm"])
def test_bisection_between_two_points_of_the_grid(solver: str) -> None:
    """It visits ranks between theirs, and nothing where the grid visits the rank itself."""
    X = make_low_rank(60, 40, rank=3, noise=0.1, random_state=0)[0]
    path = rank_path(X, 20, solver=solver, grid="adaptive", n_points=6, scale=False, random_state=0)
    visited = [visit.rank for visit in path.visits]
    jumped = [rank for rank in range(min(visited), max(visited)) if rank not in visited]
    assert jumped
    for wanted in jumped[:3]:
        below = max(rank for rank in visited if rank < wanted)
        above = min(rank for rank in visited if rank > wanted)
        between = bisect_grid(X, solver, 6, 20, 0, wanted)
        assert between
        assert all(below <= rank <= above for rank, _ in between)
        assert between[-1][0] == wanted or len(between) == 20
        assert all(0 <= loss <= path.rank_one_loss * 1.2 for _, loss in between)
    assert bisect_grid(X, solver, 6, 20, 0, visited[1]) == []


def test_what_the_rule_says_with_a_bisection(monkeypatch: pytest.MonkeyPatch) -> None:
    X = make_low_rank(60, 40, rank=3, noise=0.1, random_state=0)[0]
    curve = {"rank": [8, 2], "loss": [1.0, 30.0], "rank_one_loss": 60.0, "squared_norm": 200.0}
    assert bisected(X, "pasm", curve, tau=5.0, seed=0, wanted=2) == {}
    monkeypatch.setattr(paths, "bisect_grid", lambda *_: [(4, 28.0), (3, 29.0)])
    found = bisected(X, "pasm", curve, tau=5.0, seed=0, wanted=3)
    assert found == {"between": [4, 3], "found_between": 2}  # 60 - 30 over 30 - 29
    monkeypatch.setattr(paths, "bisect_grid", lambda *_: [])
    assert bisected(X, "pasm", curve, tau=5.0, seed=0, wanted=3) == {}
