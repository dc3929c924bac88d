"""Losses on X itself, where a path saw X through its compression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from autonmf._threads import one_pool
from autonmf.data import Data, to_unit_scale
from autonmf.model.objective import loss_of
from autonmf.path.result import PathPoint, RankPath
from autonmf.path.workspace import Workspace

MISLED = 0.002
"""A loss seen through the compression may miss this share of what the factors explain, for each of them."""


def confirm(path: RankPath, data: Data, ranks: Iterable[int]) -> RankPath:
    """The path with the losses at ``ranks`` evaluated on X itself."""
    wanted = set(ranks)
    with one_pool():
        points = tuple(
            _on_X(point, data) if point.rank in wanted and not point.on_X else point for point in path.points
        )
    return replace(path, points=points)


def misleads(point: PathPoint, workspace: Workspace) -> bool:
    """Whether the loss of a solution through the compression is far from that on X.

    Nonnegative factors need not lie in the leading directions of X: where its spectrum does not decay (the
    identity, very sparse noise), a compressed path cannot see them. The loss on X is then clearly below the
    loss that the path saw. X itself is asked only where a bound does not tell.
    """
    energy = 0.5 * workspace.data.squared_norm()
    tolerance = MISLED * point.rank
    most = _most_unseen(point, workspace)
    if most <= tolerance * (energy - point.loss - most):
        return False
    true = _on_X(point, workspace.data).loss
    return abs(point.loss - true) > tolerance * (energy - true)


def _most_unseen(point: PathPoint, workspace: Workspace) -> float:
    """How far the loss through the compression can be from that on X."""
    if workspace.compressed is None:
        return 0.0
    U, V = (factor.astype(np.float64) for factor in workspace.inward(point.U, point.V))
    return workspace.compressed.most_unseen(U, V) * workspace.scale**2


def _on_X(point: PathPoint, data: Data) -> PathPoint:
    scaled, scale = to_unit_scale(data)  # where squares of large entries fit single precision
    U, V = ((factor / np.sqrt(scale)).astype(data.dtype) for factor in (point.U, point.V))
    return replace(point, loss=loss_of(scaled, U, V) * scale**2, on_X=True)
