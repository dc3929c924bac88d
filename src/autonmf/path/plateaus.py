"""Where the plateaus of solutions end to which no λ has led."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from autonmf.model.objective import Problem
from autonmf.path.grids import CROSSING, breakpoints_of
from autonmf.path.result import RankPath
from autonmf.path.workspace import Workspace
from autonmf.solvers import State


def with_plateaus(path: RankPath, workspace: Workspace) -> RankPath:
    """The path with the λ at which each of its solutions would lose a component.

    As on an exact path, λ is the running maximum of the breakpoints, and each rank is reached just above
    the end of the plateau before.
    """
    problem = Problem(workspace.matrix, mu=path.mu / workspace.scale, delta=path.delta / workspace.scale)
    points, visits, lam = [], [], 0.0
    for point, visit in zip(reversed(path.points), path.visits, strict=True):
        factors = workspace.inward(point.U, point.V)
        U, V = (np.asfortranarray(factor, dtype=problem.data.dtype) for factor in factors)
        end = float(breakpoints_of(State.start(problem, U, V)).min()) * workspace.scale**2
        points.append(replace(point, lam=lam))
        visits.append(visit._replace(lam=lam, next_lam=end))
        lam = max(lam, (1 + CROSSING) * end)
    return replace(path, points=tuple(reversed(points)), visits=tuple(visits))


class LatePath:
    """A path whose plateaus are found when it is asked for: a rule reads losses only.

    Until then X is kept as its compression, which is small beside the path. Without one they are found at
    once, so that X can go.
    """

    def __init__(self, path: RankPath, workspace: Workspace) -> None:
        self.losses_only = path
        if not np.isnan(path.points[0].lam):
            self.value = path
        elif workspace.compressed is None:
            self.value = with_plateaus(path, workspace)
        else:
            lean = workspace.compressed.quick()
            self._workspace = replace(workspace, data=lean, scaled=lean, compressed=lean)

    @cached_property
    def value(self) -> RankPath:
        return with_plateaus(self.losses_only, self._workspace)

    def __getstate__(self) -> dict[str, Any]:
        return {"losses_only": self.value, "value": self.value}
