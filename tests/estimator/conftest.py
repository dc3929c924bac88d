"""A model that several modules look at, and a way to fit others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autonmf import AutoNMF


@pytest.fixture(scope="session")
def model(low_rank: np.ndarray) -> AutoNMF:
    return AutoNMF(max_rank=8, random_state=0).fit(low_rank)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def fitted() -> Callable[..., tuple[np.ndarray, AutoNMF]]:
    """Fit with a few options: W and the estimator."""
    return _fitted


def _fitted(X: object, **options: object) -> tuple[np.ndarray, AutoNMF]:
    estimator = AutoNMF(**{"max_rank": 6, "random_state": 0} | options)
    return estimator.fit_transform(X), estimator
