"""From solutions for the evened copy Y back to solutions for X."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autonmf._types import Array
from autonmf.data.spread import by_columns
from autonmf.path.growing import grown_point, no_worse_than_one
from autonmf.path.result import PathPoint
from autonmf.path.workspace import Workspace


@dataclass(frozen=True)
class WayBack:
    """If Y = diag(a)⁻¹ X diag(b)⁻¹, factors U, V of Y are factors diag(a) U, diag(b) V of X."""

    workspace: Workspace  # of X
    a: Array
    b: Array
    rank_one_loss: float

    def point(self, solution: PathPoint) -> PathPoint:
        """A solution for X; of rank one the best there is, and of higher ranks none that is worse."""
        workspace = self.workspace
        dtype, root = workspace.matrix.dtype, np.sqrt(workspace.scale)
        rows, columns = ((scales / root).astype(dtype)[:, None] for scales in (self.a, self.b))
        factors = workspace.turned(solution.U * rows, solution.V * columns)
        U, V = (by_columns(factor, dtype) for factor in factors)
        point = workspace.point_at(U, V, solution.n_iter)
        if point.rank == 1:
            return grown_point(point, workspace)
        return no_worse_than_one(point, workspace, self.rank_one_loss)

    def without_X(self) -> WayBack:
        """The same with the compression of X in its place."""
        return replace(self, workspace=self.workspace.without_X())
