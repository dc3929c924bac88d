"""X as the solvers see it, and the way back to the caller's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autonmf._types import Array
from autonmf.data import Data, to_unit_scale
from autonmf.model.balancing import sorted_components
from autonmf.model.objective import Problem
from autonmf.path.result import PathPoint
from autonmf.solvers import Run


@dataclass(frozen=True)
class Frame:
    """X / s, its longer side first if ``tall``.

    Dividing by the root mean square gives the absolute constants μ, δ and ε₁ a meaning; putting the longer
    side first makes the search the same for X and Xᵀ.
    """

    data: Data
    scale: float
    transposed: bool

    @staticmethod
    def of(data: Data, *, scale: bool, tall: bool) -> Frame:
        transposed = tall and data.shape[0] < data.shape[1]
        inner = data.T if transposed else data
        if not scale:
            return Frame(inner, 1.0, transposed)
        return Frame(*to_unit_scale(inner), transposed)

    def inward(self, U: Array, V: Array) -> tuple[Array, Array]:
        """A caller's factors as factors of this frame's matrix."""
        root = np.asarray(np.sqrt(self.scale), dtype=U.dtype)
        return self._swapped(np.asfortranarray(U / root), np.asfortranarray(V / root))

    def outward(self, U: Array, V: Array) -> tuple[Array, Array]:
        """Factors of the frame's matrix as the caller's: balanced, sorted, in the units of X."""
        root = np.asarray(np.sqrt(self.scale), dtype=U.dtype)
        U, V = sorted_components(U, V)
        return self._swapped(U * root, V * root)

    def point(self, problem: Problem, lam: float, run: Run) -> PathPoint:
        """A solution as the caller will see it."""
        U, V = self.outward(run.state.U, run.state.V)
        return PathPoint(U, V, run.state.loss * self.scale**2, lam * self.scale**2, run.n_iter)

    def _swapped(self, U: Array, V: Array) -> tuple[Array, Array]:
        return (V, U) if self.transposed else (U, V)
