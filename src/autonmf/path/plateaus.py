"""Where the plateaus of solutions end to which no λ has led."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import cached_property
from autonmf.data.spread import by_columns, workers_of
from autonmf.model.objective import Problem
from autonmf.path.grids import CROSSING
from autonmf.path.rescaling import Scales, rescaled
from autonmf.path.result import PathPoint, RankPath
from autonmf.path.spread import end_of_plateau, lazily, one_a_point
from autonmf.path.workspace import Workspace
from autonmf.solvers import State


def with_plateaus(path: RankPath, workspace: Workspace) -> RankPath:
    """The path with the λ at which each of its solutions would lose a component.

    As on an exact path, λ is the running maximum of the breakpoints, and each rank is reached just above
    the end of the plateau before.
    """
    problem = Problem(workspace.matrix, mu=path.mu / workspace.scale, delta=path.delta / workspace.scale)

    def end_of(point: PathPoint) -> float:
        factors = workspace.inward(point.U, point.V)
        U, V = (by_columns(factor, problem.data.dtype) for factor in factors)
        return end_of_plateau(State.start(problem, U, V)) * workspace.scale**2

    with one_pool():
        ends = [end_of(point) for point in reversed(path.points)]
    points, visits, lam = [], [], 0.0
    for point, visit, end in zip(reversed(path.points), one_a_point(path), ends, strict=True):
        points.append(replace(point, lam=lam))
        visits.append(visit._replace(lam=lam, next_lam=end))
        lam = max(lam, (1 + CROSSING) * end)
    path = replace(path, points=tuple(reversed(points)), visits=tuple(visits))
    return lazily(path, workspace.data)


class LatePath:
    """A path whose plateaus are found when it is asked for: a rule reads losses only.

    Until then X is kept as its compression, which is small beside the path. Without one they are found at
    once, so that X can go.
    """

    def __init__(self, path: RankPath, workspace: Workspace, scales: Scales | None = None) -> None:
        self.losses_only = path
        self._scales = scales  # of a path of weighted data: what makes it one of X
        spread = workers_of(workspace.data) is not None
        if not (spread or np.isnan(path.points[0].lam)):
            self.value = rescaled(path, scales)
        elif spread or workspace.compressed is None:
            self.value = rescaled(with_plateaus(path, workspace), scales)
        else:
            lean = workspace.compressed.quick()
            self._workspace = replace(workspace, data=lean, scaled=lean, compressed=lean)

    @cached_property
    def value(self) -> RankPath:
        return rescaled(with_plateaus(self.losses_only, self._workspace), self._scales)

    def __getstate__(self) -> dict[str, Any]:
        return {"losses_only": self.value, "value": self.value}
