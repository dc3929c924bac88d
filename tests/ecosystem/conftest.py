"""Data that the tests with other libraries share."""

from __future__ import annotations

import numpy as np
import pytest

from autonmf import AutoNMF


@pytest.fixture(scope="session")
def cube(low_rank: np.ndarray) -> np.ndarray:
    """The 60 x 40 matrix of three components as a scene of 6 x 10 pixels with 40 bands."""
    return low_rank.reshape(6, 10, 40)


@pytest.fixture(scope="session")
def plain(low_rank: np.ndarray) -> tuple[np.ndarray, AutoNMF]:
    """What `AutoNMF` finds without any other library: W and the model."""
    model = AutoNMF(random_state=0)
    return model.fit_transform(low_rank), model
