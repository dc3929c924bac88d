"""A choice whose deciding losses are those on X itself."""

from __future__ import annotations

from autonmf.data import Data
from autonmf.path import RankPath, confirm
from autonmf.selection.estimate import RankEstimate
from autonmf.selection.rules import select_rank

MAX_ROUNDS = 5


def choose_rank(
    path: RankPath, data: Data, rule: str = "marginal", *, tau: float | None = None
) -> tuple[RankPath, RankEstimate]:
    """Choose a rank, evaluate its loss and its neighbours' on X, and choose again until that settles.

    Returns the path with the losses on X, and the choice. A choice by the evened copy is settled at once.
    """
    estimate = select_rank(path, rule, tau=tau)
    if rule == "auto":
        return path, estimate
    for _ in range(MAX_ROUNDS):
        around = {estimate.rank + step for step in (-1, 0, 1)}
        if all(point.on_X for point in path.points if point.rank in around):
            break
        path = confirm(path, data, around)
        estimate = select_rank(path, rule, tau=tau)
    return path, estimate
