"""How far a point is from the optimality conditions of eq. (1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import as_data
from autonmf.data.factors import gram
from autonmf.losses.frobenius import gradient, lipschitz, projected_gradient
from autonmf.model.penalty import ColumnPenalty
from autonmf.theory.factors import as_factors, check_constants


@dataclass(frozen=True)
class BlockResidual:
    """Optimality of one factor B with the other fixed."""

    gamma: float  # γ of the proximal step
    p_stationarity: float  # distance from a fixed point of that step, in units of B
    kkt: float  # ‖∇ᵖF‖, zero exactly at critical points of F̃
    subgradient: float  # dist(0, ∂Ψ): the same without the zero columns
    factor_norm: float  # ‖B‖
    product_norm: float  # ‖XC‖, the scale of the gradient
    lam_interval: tuple[float, float]  # the λ at which no column of B would appear or vanish

    @property
    def relative_p_stationarity(self) -> float:
        """`p_stationarity` divided by ‖B‖."""
        return _ratio(self.p_stationarity, self.factor_norm)

    @property
    def relative_kkt(self) -> float:
        """`kkt` divided by ‖XC‖."""
        return _ratio(self.kkt, self.product_norm)


@dataclass(frozen=True)
class Stationarity:
    """The optimality residuals of (U, V) at one λ."""

    lam: float
    U: BlockResidual
    V: BlockResidual
    equal_supports: bool  # the same columns are nonzero in U and V

    @property
    def p_stationarity(self) -> float:
        """Distance of both blocks from P-stationarity."""
        return float(np.hypot(self.U.p_stationarity, self.V.p_stationarity))

    @property
    def kkt(self) -> float:
        """‖(∇ᵖ_U F, ∇ᵖ_V F)‖: zero exactly at critical points of the smooth model."""
        return float(np.hypot(self.U.kkt, self.V.kkt))

    @property
    def subgradient(self) -> float:
        """dist(0, ∂Ψ(U, V)): zero exactly at critical points of the model."""
        return float(np.hypot(self.U.subgradient, self.V.subgradient))

    @property
    def lam_interval(self) -> tuple[float, float]:
        """The λ for which the column conditions of P-stationarity hold; empty if the first is larger.

        A point that is critical at one λ is so at every λ; P-stationary it is on this interval only.
        """
        (low_U, high_U), (low_V, high_V) = self.U.lam_interval, self.V.lam_interval
        return max(low_U, low_V), min(high_U, high_V)

    def holds(self, tol: float = 1e-4) -> bool:
        """Whether both blocks are P-stationary up to ``tol``, relative to the norm of the factor."""
        return max(self.U.relative_p_stationarity, self.V.relative_p_stationarity) <= tol

    def __str__(self) -> str:
        low, high = self.lam_interval
        lines = [f"optimality at λ = {self.lam:.6g}"]
        for name, product, block in (("U", "XV", self.U), ("V", "XᵀU", self.V)):
            lines.append(
                f"  {name}: P-stationarity {block.relative_p_stationarity:.1e} of ‖{name}‖, "
                f"projected gradient {block.relative_kkt:.1e} of ‖{product}‖"
            )
        lines.append(f"  conditions on the columns hold for λ in [{low:.6g}, {high:.6g}]")
        if not self.equal_supports:
            lines.append("  supports of U and V differ: not a critical point for any μ > 0")
        return "\n".join(lines)


def stationarity(
    X: Any,
    U: Any,
    V: Any,
    *,
    lam: float,
    mu: float,
    delta: float = 1e-6,
    gamma: float | tuple[float, float] | None = None,
) -> Stationarity:
    r"""P-stationarity and KKT residuals of both blocks.

    U is P-stationary if it is a fixed point of its own proximal step,

    .. math:: U \in \mathrm{prox}_{g_1}^{1/\gamma}\bigl(U - \tfrac1\gamma\nabla_U F_\mu(U,V)\bigr),

    which is the case exactly if each zero column has
    :math:`\|[-\nabla_U F_\mu]_{+,i}\|\le\sqrt{2\lambda\gamma}` and each other column satisfies the KKT
    conditions and :math:`\|U_i\|\ge\sqrt{2\lambda/\gamma}`. The KKT residual is the norm of the projected
    gradient; over the nonzero columns alone it is the distance of 0 from ∂Ψ.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
    U, V : arrays of shape (n, r) and (m, r)
        Nonnegative factors; zero columns are allowed.
    lam, mu : float
        λ and μ of eq. (1), in the units of X.
    delta : float
        Where ``gamma`` is not given, γ = τ + δ with the Lipschitz constant τ of the block.
    gamma : float or pair, optional
        γ of both blocks, or of U and V.

    Returns
    -------
    Stationarity
        With `Stationarity.lam_interval`, the λ for which the conditions on the columns hold. A point of the
        exact path is solved on a fixed set of columns: iterated to convergence (``budget="full"``), it is
        P-stationary from 0 to its smallest breakpoint, while its ``lam`` is where the path *reached* it,
        which can be larger.

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> from autonmf.theory import stationarity
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> path = rank_path(X, max_rank=5, budget="full", tol=1e-8, random_state=0)
    >>> point = path.at_rank(3)
    >>> found = stationarity(X, point.U, point.V, lam=point.lam, mu=path.mu, delta=path.delta)
    >>> found.holds(tol=1e-3), found.equal_supports
    (True, True)
    """
    data = as_data(X)
    U, V = as_factors(U, V, data.shape, data.dtype)
    check_constants(lam=lam, mu=mu, delta=delta)
    gammas = gamma if isinstance(gamma, tuple) else (gamma, gamma)
    penalty = ColumnPenalty(lam)
    return Stationarity(
        lam=lam,
        U=_block(penalty, U, data.right(V), gram(V), mu, delta, gammas[0]),
        V=_block(penalty, V, data.left(U), gram(U), mu, delta, gammas[1]),
        equal_supports=bool(np.array_equal(U.any(axis=0), V.any(axis=0))),
    )


def _block(
    penalty: ColumnPenalty,
    block: Array,
    product: Array,
    gram: Array,
    mu: float,
    delta: float,
    gamma: float | None,
) -> BlockResidual:
    if gamma is None:
        gamma = lipschitz(gram, mu) + delta
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma must be positive, got {gamma}; a zero factor needs delta > 0")
    G = gradient(block, product, gram, mu)
    projected = projected_gradient(block, G)
    active = block.any(axis=0)
    downhill = np.maximum(-G[:, ~active], 0.0)
    entering = np.einsum("ij,ij->j", downhill, downhill) / (2.0 * gamma)
    leaving = penalty.breakpoints(np.einsum("ij,ij->j", block[:, active], block[:, active]), gamma)
    return BlockResidual(
        gamma=gamma,
        p_stationarity=penalty.stationarity(block, G, gamma),
        kkt=float(np.linalg.norm(projected)),
        subgradient=float(np.linalg.norm(projected[:, active])),
        factor_norm=float(np.linalg.norm(block)),
        product_norm=float(np.linalg.norm(product)),
        lam_interval=(float(entering.max(initial=0.0)), float(leaving.min(initial=np.inf))),
    )


def _ratio(residual: float, size: float) -> float:
    if residual == 0:
        return 0.0
    return residual / size if size > 0 else np.inf
