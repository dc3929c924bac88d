"""Solutions grown from the leading pair: a component more is never worse."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF

from autonmf import rank_path
from autonmf.data import as_data
from autonmf.path import Workspace
from autonmf.path.growing import Growth
from autonmf.path.result import PathPoint, RankPath

RNG = np.random.default_rng(0)
MATRICES = {
    "noise": RNG.random((30, 20)),
    "six decades": 10.0 ** RNG.uniform(-6, 0, (10, 7)),
    "three components": RNG.random((40, 3)) @ RNG.random((3, 12)),
    "identity": np.eye(8),
    "rank one": np.outer(RNG.random(6), RNG.random(9)),
    "constant": np.full((5, 4), 7.0),
    "blocks": np.kron(np.eye(3), RNG.random((3, 2))),
}
NOISE = MATRICES["noise"]


def growth(X: Any, **options: Any) -> Growth:
    return Growth(Workspace.of(as_data(X), scale=False, tall=False), **options)


def nothing(rank: int) -> PathPoint:
    """A solution of the noise that explains nothing of it."""
    return PathPoint(
        np.full((30, rank), 1e-9), np.full((20, rank), 1e-9), 0.5 * np.square(NOISE).sum(), 3.0, 7
    )


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_losses_fall_from_the_best_of_rank_one(name: str, stored: Callable[[np.ndarray], Any]) -> None:
    X = MATRICES[name]
    least = 0.5 * np.square(np.linalg.svd(X)[1][1:]).sum()
    grown = growth(stored(X))
    states = [grown.at_rank(rank) for rank in range(1, min(X.shape) + 1)]
    losses = np.array([0.5 * np.square(X - state.U @ state.V.T).sum() for state in states])
    assert losses[0] == pytest.approx(least, abs=1e-12 * np.square(X).sum())
    assert (np.diff(losses) <= 1e-12 * np.square(X).sum()).all()
    for rank, state in enumerate(states, 1):
        assert state.U.shape[1] == state.rank == rank
        assert min(state.U.min(), state.V.min()) >= 0


@pytest.mark.parametrize("name", ["noise", "six decades", "identity", "blocks"])
def test_they_are_fair_solutions(name: str) -> None:
    X = MATRICES[name]
    peer = NMF(3, init="nndsvda", max_iter=2000, random_state=0).fit(X).reconstruction_err_ ** 2
    assert 2 * growth(X).at_rank(3).loss <= 1.25 * peer + 1e-12


def test_the_order_of_questions_does_not_matter() -> None:
    up, down = growth(NOISE), growth(NOISE)
    first = [up.at_rank(rank).V for rank in (2, 4, 6)]
    then = [down.at_rank(rank).V for rank in (6, 4, 2)][::-1]
    assert all(np.array_equal(one, other) for one, other in zip(first, then, strict=True))


def test_a_worse_point_is_replaced_and_others_are_not() -> None:
    path = rank_path(NOISE, random_state=0)
    grown = Growth(Workspace.of(as_data(NOISE)))
    for point in path.points[1:]:
        assert grown.no_worse_than_one(point) is point
    better = grown.no_worse_than_one(nothing(4))
    assert better.loss == pytest.approx(0.5 * np.square(NOISE - better.U @ better.V.T).sum())
    assert better.loss < path.rank_one_loss
    assert (better.rank, better.lam, better.n_iter) == (4, 3.0, 7)


def test_a_heavy_ridge_is_no_fault() -> None:
    """With μ = 10 the best of eq. (1) explains less than the leading pair, and is to stay."""
    X = np.random.default_rng(0).random((60, 40))
    path = rank_path(X, 6, mu=10.0, budget="full", scale=False, random_state=0)
    U, V = (growth(X, mu=0.0).at_rank(1).U, growth(X, mu=0.0).at_rank(1).V)
    leading = 0.5 * np.square(X - U @ V.T).sum() + 5.0 * (np.square(U).sum() + np.square(V).sum())
    for point in path.points:
        ridge = 5.0 * (np.square(point.U).sum() + np.square(point.V).sum())
        assert point.loss + ridge <= leading * (1 + 1e-9)
    assert path.losses.min() > path.rank_one_loss


def test_nothing_is_grown_after_the_deadline() -> None:
    late = growth(NOISE, deadline=time.monotonic() - 1.0)
    point = nothing(4)
    assert late.no_worse_than_one(point) is point
    assert replace(late, deadline=np.inf).no_worse_than_one(point) is not point


def near_rank_one() -> np.ndarray:
    return 1.0 + 1e-4 * np.random.default_rng(0).random((150, 120))


def test_visits_tell_of_it() -> None:
    path = rank_path(near_rank_one(), random_state=0)
    grown = [visit for visit in path.visits if visit.reason == "grown"]
    assert grown
    for visit in grown:
        assert visit.loss == path.at_rank(visit.rank).loss
    assert (path.losses <= path.rank_one_loss * (1 + 1e-6)).all()


def test_interrupted_while_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Growth, point: PathPoint) -> PathPoint:
        raise KeyboardInterrupt

    monkeypatch.setattr(Growth, "no_worse_than_one", interrupt)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        path = rank_path(NOISE, 5, random_state=0)
    assert isinstance(path, RankPath)
    assert not path.complete
    assert path.ranks.tolist() == [1, 2, 3, 4, 5]


def test_the_way_back_from_the_evened_copy_is_mended() -> None:
    X = 10.0 ** np.random.default_rng(23).uniform(-6, 0, (10, 3))
    for seed in range(10):
        path = rank_path(X, max_rank=3, evened=True, random_state=seed)
        assert (path.losses <= path.rank_one_loss * (1 + 1e-6)).all()
