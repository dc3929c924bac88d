r"""The column penalty :math:`g(B) = \lambda\|B\|_{2,0} + \delta_{\mathbb R_+}(B)`.

Everything that follows from its definition: value, proximal map, the λ at which a column would be
dropped, and the optimality conditions of a fixed point (P-stationarity).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autonmf._types import Array


@dataclass(frozen=True)
class ColumnPenalty:
    """λ times the number of nonzero columns, over nonnegative matrices."""

    lam: float

    def value(self, block: Array) -> float:
        """g(B) for B ≥ 0."""
        return self.lam * int(np.count_nonzero(block.any(axis=0)))

    def threshold(self, gamma: float) -> float:
        """√(2λ/γ): the norm below which the proximal map removes a column."""
        return float(np.sqrt(2.0 * self.lam / gamma))

    def keeps(self, squared_norms: Array, gamma: float) -> Array:
        """Which columns of a projected point survive: ‖max(P,0)_j‖ > √(2λ/γ)."""
        return np.asarray(squared_norms > 2.0 * self.lam / gamma)

    def prox(self, point: Array, gamma: float) -> Array:
        """Remark 2: argmin over B of g(B) + γ/2‖B - P‖² (a column at the threshold becomes zero)."""
        projected = np.maximum(point, 0.0)
        norms = np.einsum("ij,ij->j", projected, projected)
        projected[:, ~self.keeps(norms, gamma)] = 0.0
        return projected

    @staticmethod
    def breakpoints(squared_norms: Array, gamma: float) -> Array:
        """½γ‖max(P,0)_j‖²: column j is kept precisely while λ is below its breakpoint."""
        return np.asarray(0.5 * gamma * squared_norms, dtype=np.float64)

    def stationarity(self, block: Array, gradient: Array, gamma: float) -> float:
        """Distance from P-stationarity (Theorem 3), zero exactly at fixed points of the prox step.

        For an active column the KKT residual ‖B_j - max(0, B_j - G_j/γ)‖ and the shortfall of its norm
        below √(2λ/γ); for a zero column the excess of ‖max(0, -G_j)‖/γ over √(2λ/γ).
        """
        active = block.any(axis=0)
        stepped = np.maximum(block - gradient / gamma, 0.0)
        kkt = np.where(active, np.linalg.norm(block - stepped, axis=0), 0.0)
        norms = np.linalg.norm(np.where(active, block, stepped), axis=0)
        gap = np.where(active, self.threshold(gamma) - norms, norms - self.threshold(gamma))
        return float(np.hypot(np.linalg.norm(kkt), np.linalg.norm(np.maximum(gap, 0.0))))
