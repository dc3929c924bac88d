"""From solutions for the evened copy Y back to solutions for X."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autonmf._types import Array
from autonmf.data.spread import by_columns
from autonmf.path.growing import Growth
from autonmf.path.result import PathPoint
from autonmf.path.workspace import Workspace


@dataclass(frozen=True)
class WayBack:
    """If Y = diag(a)⁻¹ X diag(b)⁻¹, factors U, V of Y are factors diag(a) U, diag(b) V of X."""

    workspace: Workspace  # of X
    a: Array  # n x 1, in the units of the workspace
    b: Array  # m x 1
    growth: Growth

    @staticmethod
    def of(workspace: Workspace, a: Array, b: Array, growth: Growth) -> WayBack:
        root = np.sqrt(workspace.scale)
        rows, columns = ((scales / root).astype(workspace.precision)[:, None] for scales in (a, b))
        return WayBack(workspace, rows, columns, growth)

    def point(self, solution: PathPoint) -> PathPoint:
        """A solution for X; of rank one the best there is, and of higher ranks none that is worse."""
        workspace = self.workspace
        factors = workspace.turned(solution.U * self.a, solution.V * self.b)
        U, V = (by_columns(factor, workspace.precision) for factor in factors)
        point = workspace.point_at(U, V, solution.n_iter)
        return self.growth.point(point) if point.rank == 1 else self.growth.no_worse_than_one(point)

    def on(self, workspace: Workspace) -> WayBack:
        """The same on X prepared otherwise, and as long as it takes."""
        return replace(self, workspace=workspace, growth=Growth(workspace, self.growth.mu))
