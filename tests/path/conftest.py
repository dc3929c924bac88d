"""Paths that several modules look at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autonmf import RankPath, rank_path
from autonmf.datasets import make_low_rank


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def small() -> np.ndarray:
    X = make_low_rank(20, 14, rank=3, random_state=1)[0]
    X.setflags(write=False)
    return X


@pytest.fixture(scope="session")
def path(low_rank: np.ndarray) -> RankPath:
    return rank_path(low_rank, max_rank=8, random_state=0)


@pytest.fixture
def same() -> Callable[[RankPath, RankPath], bool]:
    """Whether two paths are equal to the last bit."""
    return _same


def _same(first: RankPath, second: RankPath) -> bool:
    """Equal to the last bit, factors and all; seconds are no part of a result."""
    clockless = [[visit._replace(seconds=0.0) for visit in path.visits] for path in (first, second)]
    return clockless[0] == clockless[1] and all(
        np.array_equal(p.U, q.U) and np.array_equal(p.V, q.V) and (p.loss, p.lam) == (q.loss, q.lam)
        for p, q in zip(first.points, second.points, strict=True)
    )
