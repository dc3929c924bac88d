"""The loss curve that several methods read: a path of X with its losses on X itself."""

from __future__ import annotations

from typing import Any

from autonmf._types import Seed
from autonmf.data import as_data
from autonmf.path import RankPath, confirm, rank_path

NEGLIGIBLE = 1e-12
"""A loss below this share of ½‖X‖² is rounding."""


def loss_curve(
    X: Any, *, max_rank: int | None = None, random_state: Seed = None, path: RankPath | None = None
) -> RankPath:
    """A path of X from ``max_rank`` down to one, every loss evaluated on X; or the path that was given."""
    if path is not None:
        return path
    data = as_data(X)
    found = rank_path(data, max_rank, random_state=random_state)
    return confirm(found, data, found.ranks)


def curve_warnings(path: RankPath) -> tuple[str, ...]:
    """What is wrong with a path, for a method that reads its losses."""
    return () if path.complete else ("the path is incomplete",)
