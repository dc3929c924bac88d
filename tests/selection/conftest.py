"""Choosing a rank by the default rule, from X or from evidence made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autonmf import RankEstimate, rank_path, select_rank
from autonmf.data.noise import WhitenedSpectrum
from autonmf.path import Evidence

Choose = Callable[..., RankEstimate]


@pytest.fixture(scope="session")
def choose() -> Choose:
    """The default rule on X."""

    def choice(X: Any, **options: Any) -> RankEstimate:
        return select_rank(rank_path(X, equilibrate=True, **({"random_state": 0} | options)), "auto")

    return choice


@pytest.fixture(scope="session")
def evidence_of() -> Callable[..., Evidence]:
    """Evidence of a path on which every rank brings what these drops say, on Y and on Z alike."""

    def evidence(drops: Any, shape: tuple[int, int] = (90, 60), *, complete: bool = True) -> Evidence:
        spectrum = np.asarray(drops, dtype=float)
        losses = 1.0 - np.cumsum(spectrum)
        ranks = np.arange(1, len(spectrum) + 1)
        return Evidence(shape, ranks, losses, spectrum, WhitenedSpectrum(shape, spectrum), complete)

    return evidence
