"""Ranks of a path whose solutions waste a component are given better ones."""

from __future__ import annotations

import numpy as np
import pytest

from autonmf import rank_path
from autonmf.data import as_data
from autonmf.model.components import split_strongest
from autonmf.path import PathOptions, prepare
from autonmf.path.search import _leave_poor_minima
from autonmf.path.walk import Solution

RANK = 6
WASTED = range(3, RANK)  # ranks whose solutions are those of one component less


@pytest.fixture(params=["frobenius", "kullback-leibler"])
def loss(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def X(rng: np.random.Generator) -> np.ndarray:
    """Counts with six components."""
    U, V = rng.gamma(0.3, 1.0, (150, RANK)), rng.gamma(0.3, 1.0, (40, RANK))
    return rng.poisson(20 * U @ V.T).astype(float)


def waste(good: dict[int, Solution]) -> list[Solution]:
    """The solutions, those of some ranks with a component in two halves."""
    found = dict(good)
    for rank in WASTED:
        before = good[rank - 1]
        sizes = np.linalg.norm(before.U, axis=0) * np.linalg.norm(before.V, axis=0)
        U, V = split_strongest(before.U, before.V, sizes, rank)
        found[rank] = Solution(U, V, before.loss, 0.0, 1)
    return list(found.values())


def test_a_wasted_component_is_used(X: np.ndarray, loss: str) -> None:
    path = rank_path(X, max_rank=RANK + 3, beta_loss=loss, scale=False, random_state=0)
    good = {point.rank: Solution(point.U, point.V, point.loss, 0.0, 1) for point in path.points}
    options = PathOptions(beta_loss=loss, scale=False)
    view = prepare(as_data(X), options, RANK, np.random.default_rng(0))
    found = _leave_poor_minima(waste(good), RANK, view, options)
    assert [solution.rank for solution in found] == list(good)
    for solution in found:
        assert solution.loss <= 1.02 * good[solution.rank].loss
        assert solution.loss == pytest.approx(view.evaluate(solution.U, solution.V), rel=1e-5)


def test_other_ranks_stay_as_they_are(X: np.ndarray, loss: str) -> None:
    path = rank_path(X, max_rank=RANK + 3, beta_loss=loss, scale=False, random_state=0)
    good = [Solution(point.U, point.V, point.loss, 0.0, 1) for point in path.points]
    options = PathOptions(beta_loss=loss, scale=False)
    view = prepare(as_data(X), options, RANK, np.random.default_rng(0))
    found = _leave_poor_minima(good, RANK, view, options)
    assert all(one is other for one, other in zip(found, good, strict=True))
