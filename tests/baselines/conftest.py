"""The easy case that every method is tried on: four components, little noise."""

from __future__ import annotations

import numpy as np
import pytest

from autonmf.baselines.curve import loss_curve
from autonmf.datasets import make_low_rank
from autonmf.path import RankPath

TRUE_RANK = 4


@pytest.fixture(scope="session")
def easy() -> np.ndarray:
    """200 x 120 with four components. Read-only: a method that writes to X fails."""
    X = make_low_rank(200, 120, rank=TRUE_RANK, noise=0.1, random_state=0)[0]
    X.setflags(write=False)
    return X


@pytest.fixture(scope="session")
def easy_path(easy: np.ndarray) -> RankPath:
    return loss_curve(easy, max_rank=12, random_state=0)
