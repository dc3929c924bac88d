"""Where the plateaus of solutions end to which no λ has led."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from autonmf._threads import one_pool
from autonmf.data.spread import by_columns, workers_of
from autonmf.model.objective import Problem, gram
from autonmf.path.explore import Exploration
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
        U, V = (by_columns(factor, workspace.precision, keep=False) for factor in factors)
        XtU = workspace.view.seen_from(U, V).left(U)  # on workers it is known from the loss
        state = State(problem, U, V, XtU.astype(workspace.precision), gram(U), gram(V))
        return end_of_plateau(state) * workspace.scale**2

    with one_pool():
        ends = [end_of(point) for point in reversed(path.points)]
    points, visits, lam = [], [], 0.0
    for point, visit, end in zip(reversed(path.points), one_a_point(path), ends, strict=True):
        points.append(replace(point, lam=lam))
        visits.append(visit._replace(lam=lam, loss=point.loss, next_lam=end))
        lam = max(lam, (1 + CROSSING) * end)
    path = replace(path, points=tuple(reversed(points)), visits=tuple(visits))
    return lazily(path, workspace.data)


class LatePath:
    """A path that is worked out when it is asked for: a rule reads a part of it.

    The highest ranks are scaled back then, and the ends of all plateaus found. Until then X is kept as its
    compression or as a copy, if that is small beside the path; else it is all done at once, so that X can go.
    """

    def __init__(self, found: Exploration, scales: Scales | None = None) -> None:
        self._scales = scales  # of a path of weighted data: what makes it one of X
        waits = bool(found.higher) or np.isnan(found.path.points[0].lam)
        here = workers_of(found.workspace.data) is None
        self._found = found.without_X() if waits and here else None
        self._value = self._worked_out(found) if self._found is None else None

    @property
    def weighted(self) -> bool:
        """Whether losses are those of weighted data."""
        return self._scales is not None

    @property
    def value(self) -> RankPath:
        found = self._found
        if found is not None:  # two threads may both come here, and find the same
            self._value = self._worked_out(found)
            self._found = None
        return cast(RankPath, self._value)

    def _worked_out(self, found: Exploration) -> RankPath:
        path = found.whole()
        spread = workers_of(found.workspace.data) is not None
        if spread or np.isnan(path.points[0].lam):
            path = with_plateaus(path, found.workspace)
        return rescaled(path, self._scales)

    def __getstate__(self) -> dict[str, Any]:
        return {"_scales": self._scales, "_found": None, "_value": self.value}
