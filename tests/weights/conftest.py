"""Matrices with missing entries and weights that several modules look at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autonmf.datasets import make_low_rank


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def holed() -> Callable[..., np.ndarray]:
    """A copy of X with NaN in place of a fraction of its entries."""
    return _holed


def _holed(X: np.ndarray, fraction: float, seed: int = 1) -> np.ndarray:
    Y = np.array(X)
    Y[np.random.default_rng(seed).random(X.shape) < fraction] = np.nan
    return Y


@pytest.fixture(scope="session")
def planted() -> np.ndarray:
    """100 x 80 with five components and some noise. Read-only."""
    X = make_low_rank(100, 80, rank=5, noise=0.1, random_state=0)[0]
    X.setflags(write=False)
    return X
