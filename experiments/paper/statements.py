"""The paper's statements as checks of a result: whether it is stationary, whether its rank is right.

All take X and factors in the units of X, as a `PathPoint` holds them; λ, μ and δ are those of the
`RankPath` (``point.lam``, ``path.mu``, ``path.delta``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from autonmf._types import Array
from autonmf.data import Data, as_data
from autonmf.data.factors import gram
from autonmf.losses.frobenius import Problem, gradient, lipschitz, projected_gradient
from autonmf.model.initial import randomized_svd
from autonmf.model.penalty import ColumnPenalty

__all__ = [
    "BlockResidual",
    "RankCondition",
    "Recovery",
    "Stationarity",
    "exact_recovery",
    "rank_condition",
    "stationarity",
]


def smooth_objective(problem: Problem, U: Array, V: Array) -> float:
    """F_μ(U, V), the first two terms of eq. (1), with the residual formed."""
    ridge = float(np.sum(np.square(U)) + np.sum(np.square(V)))
    return 0.5 * problem.data.squared_residual(U, V) + 0.5 * problem.mu * ridge


def objective(problem: Problem, U: Array, V: Array) -> float:
    """Φ(U, V) of eq. (1) at nonnegative factors, with the residual formed."""
    penalty = problem.penalty
    return smooth_objective(problem, U, V) + penalty.value(U) + penalty.value(V)


# How far a point is from the optimality conditions of eq. (1)


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
        return self._relative(self.p_stationarity, self.factor_norm)

    @property
    def relative_kkt(self) -> float:
        """`kkt` divided by ‖XC‖."""
        return self._relative(self.kkt, self.product_norm)

    @staticmethod
    def _relative(residual: float, size: float) -> float:
        return residual / size if size > 0 else np.inf if residual > 0 else 0.0


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
    X, U, V : arrays of shape (n, m), (n, r) and (m, r)
        The data, which may be sparse, and nonnegative factors; zero columns are allowed.
    lam, mu, delta : float
        λ, μ and δ. Where ``gamma`` is not given, γ = τ + δ with the Lipschitz constant τ of the block.
    gamma : float or pair, optional
        γ of both blocks, or of U and V.

    Returns
    -------
    Stationarity
        A point of the exact path that was iterated to convergence (``budget="full"``) is P-stationary from 0
        to its smallest breakpoint; its ``lam`` is where the path *reached* it, which can be larger.

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> from experiments.paper.statements import stationarity
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> path = rank_path(X, max_rank=5, budget="full", tol=1e-8, random_state=0)
    >>> point = path.at_rank(3)
    >>> found = stationarity(X, point.U, point.V, lam=point.lam, mu=path.mu, delta=path.delta)
    >>> found.holds(tol=1e-3), found.equal_supports
    (True, True)
    """
    data = as_data(X)
    U, V = _check_factors(U, V, data.shape, data.dtype)
    _check_constants(lam=lam, mu=mu, delta=delta)
    penalty = ColumnPenalty(lam)

    def residual(block: Array, product: Array, gram: Array, gamma: float | None) -> BlockResidual:
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

    gammas = gamma if isinstance(gamma, tuple) else (gamma, gamma)
    return Stationarity(
        lam=lam,
        U=residual(U, data.right(V), gram(V), gammas[0]),
        V=residual(V, data.left(U), gram(U), gammas[1]),
        equal_supports=bool(np.array_equal(U.any(axis=0), V.any(axis=0))),
    )


# When the number of columns of a global minimiser is the nonnegative rank of its product


@dataclass(frozen=True)
class RankCondition:
    """Whether λ/μ is so large that a global minimiser has no superfluous column."""

    columns: int  # q, components that are nonzero in both factors
    product_norm: float  # ‖UVᵀ‖
    lam: float
    mu: float
    note: str = (
        "This is a statement about global minimisers of the model. Nothing here shows that the point is one: "
        "an algorithm finds critical points."
    )

    @property
    def smallest_lam(self) -> float:
        """The λ from which on the condition holds: ½μ√q‖UVᵀ‖."""
        return 0.5 * self.mu * float(np.sqrt(self.columns)) * self.product_norm

    @property
    def holds(self) -> bool:
        """Whether 2λ ≥ μ√q‖UVᵀ‖."""
        return self.lam >= self.smallest_lam

    def __str__(self) -> str:
        return (
            f"λ = {self.lam:.6g} ≥ ½μ√q‖UVᵀ‖ = {self.smallest_lam:.6g} with q = {self.columns} columns: "
            f"{_verdict(self.holds)}\n  {self.note}"
        )


def rank_condition(U: Any, V: Any, *, lam: float, mu: float) -> RankCondition:
    r"""The condition on λ/μ under which a global minimiser has no column too many.

    If (U, V) is a global minimiser with :math:`2\lambda/\mu\ge\sqrt{\mathrm{rank}_+(Y)}\,\|Y\|_F`,
    :math:`Y=UV^\top`, then :math:`\mathrm{rank}_+(Y)=\|U\|_{2,0}=\|V\|_{2,0}`.

    The nonnegative rank of Y cannot be computed in general; it is at most the number q of components
    that are nonzero in both factors. With q in its place the condition is stronger, so where it holds the
    proposition's holds too.

    Parameters
    ----------
    U, V : arrays of shape (n, r) and (m, r)
        Nonnegative factors.
    lam, mu : float
        λ and μ.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.paper.statements import rank_condition
    >>> rank_condition(np.eye(4), np.eye(4), lam=3.0, mu=1.0).smallest_lam
    2.0
    """
    U, V = _check_factors(U, V)
    _check_constants(lam=lam, mu=mu)
    norm = float(np.sqrt(np.sum(gram(U) * gram(V))))
    return RankCondition(_count_components(U, V), norm, lam, mu)


# A sufficient condition for the rank of a point to be the rank of the noiseless matrix

ASSUMED = (
    "the noise X - X* has Frobenius norm at most η",
    "the smallest nonzero singular value of X* is more than 2η (otherwise its rank may be larger)",
    "the nonnegative rank of X* equals its rank (it does not on Swimmer: 16 against 13)",
)


@dataclass(frozen=True)
class Recovery:
    """The conditions of exact recovery at one point, and which of them it satisfies."""

    rank: int  # r, the rank that is to be certified
    noise: float  # η ≥ ‖X - X*‖
    noise_bound: float  # what η may be at most
    sigma: float  # σ_r(X), never above its true value
    lam: float
    lam_interval: tuple[float, float]  # empty if the first is larger
    mu: float
    mu_bound: float  # μ must be below
    energy: float  # Ψ(U, V)
    energy_bound: float
    constants: str  # "paper" or "sharp"
    assumed: tuple[str, ...] = ASSUMED

    @property
    def noise_holds(self) -> bool:
        """The noise is small against σ_r(X)."""
        return self.sigma > 0 and self.noise <= self.noise_bound

    @property
    def lam_holds(self) -> bool:
        """λ is in its interval."""
        low, high = self.lam_interval
        return self.lam > 0 and low <= self.lam <= high

    @property
    def mu_holds(self) -> bool:
        """μ is small enough."""
        return self.mu < self.mu_bound

    @property
    def energy_holds(self) -> bool:
        """The point is good enough."""
        return self.energy <= self.energy_bound

    @property
    def certified(self) -> bool:
        """All conditions hold: UVᵀ has rank and nonnegative rank r, and so has X* under ``assumed``."""
        return self.noise_holds and self.lam_holds and self.mu_holds and self.energy_holds

    def __str__(self) -> str:
        low, high = self.lam_interval
        outcome = "certified" if self.certified else "not certified"
        lines = [
            f"rank {self.rank}: {outcome} (constants: {self.constants})",
            f"  noise   {self.noise:.4g} ≤ {self.noise_bound:.4g}: {_verdict(self.noise_holds)}",
            f"  lambda  {self.lam:.4g} in [{low:.4g}, {high:.4g}]: {_verdict(self.lam_holds)}",
            f"  mu      {self.mu:.4g} < {self.mu_bound:.4g}: {_verdict(self.mu_holds)}",
            f"  energy  {self.energy:.6g} ≤ {self.energy_bound:.6g}: {_verdict(self.energy_holds)}",
            "  assumed:",
            *(f"  - {assumption}" for assumption in self.assumed),
        ]
        return "\n".join(lines)


def exact_recovery(
    X: Any,
    U: Any,
    V: Any,
    *,
    noise: float,
    mu: float,
    lam: float | None = None,
    rank: int | None = None,
    constants: Literal["paper", "sharp"] = "paper",
) -> Recovery:
    r"""Whether a point provably has the rank of the noiseless X*, given only X and a bound on the noise.

    With :math:`\eta\ge\|X-X^*\|_F` and :math:`\sigma_r=\sigma_r(X)`, the proposition on exact recovery
    holds if

    .. math::
        \eta \le \tfrac{\sigma_r}{6}, \quad
        \tfrac{\eta^2}{2} \le \lambda \le \tfrac{(\sigma_r-2\eta)^2}{32}, \quad
        \mu < \tfrac{\lambda}{\sqrt r(\|X\|_F+\eta)}, \quad
        \Psi_{\lambda,\mu}(U,V) \le \tfrac{\eta^2}{2}+2\lambda r.

    Its argument gives more: with the energy bound above, :math:`\eta<\sigma_r/\sqrt2` and
    :math:`\eta^2/4<\lambda<(\sigma_r^2-\eta^2)/4` suffice for any μ (``constants="sharp"``; derived in
    ``docs/theory.md``). Neither needs the point to be critical.

    Parameters
    ----------
    X, U, V : arrays of shape (n, m), (n, r) and (m, r)
        The data, which may be sparse, and nonnegative factors.
    noise : float
        η, a bound on the Frobenius norm of the noise. It must leave room for μ/2(‖U‖² + ‖V‖²).
    mu : float
        μ.
    lam : float, optional
        λ. Critical points do not depend on it, so any will do; by default one is chosen from the interval.
    rank : int, optional
        r. Default: the number of components that are nonzero in both factors.
    constants : {"paper", "sharp"}
        The paper's constants or the widest that the argument allows.

    Returns
    -------
    Recovery
        ``certified`` means: UVᵀ has rank r and nonnegative rank r, every matrix within η of X has rank at
        least r, and X* has exactly r under what is ``assumed``.

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> from experiments.paper.statements import exact_recovery
    >>> X, U, V = make_low_rank(60, 40, rank=3, noise=1e-3, random_state=0)
    >>> path = rank_path(X, max_rank=5, random_state=0)
    >>> [point.rank for point in path.points
    ...  if exact_recovery(X, point.U, point.V, noise=0.05, mu=path.mu).certified]
    [3]
    """
    data = as_data(X)
    U, V = _check_factors(U, V, data.shape, data.dtype)
    _check_constants(noise=noise, mu=mu)
    rank = _count_components(U, V) if rank is None else rank
    if rank < 1:
        raise ValueError(f"there is no rank to certify: rank = {rank}")
    sigma = _singular_value(data, rank)
    if constants == "paper":
        noise_bound = sigma / 6.0
        low, high = 0.5 * noise**2, max(sigma - 2.0 * noise, 0.0) ** 2 / 32.0
        chosen = high
    elif constants == "sharp":
        noise_bound = float(np.nextafter(sigma / np.sqrt(2.0), 0.0))
        low = np.nextafter(0.25 * noise**2, np.inf)
        high = np.nextafter(max(sigma**2 - noise**2, 0.0) / 4.0, 0.0)
        chosen = 0.5 * (low + high)
    else:
        raise ValueError(f"unknown constants {constants!r}; choose 'paper' or 'sharp'")
    lam = float(chosen) if lam is None else lam
    _check_constants(lam=lam)
    problem = Problem(data, mu=mu, lam=lam)
    size = float(np.sqrt(problem.squared_norm)) + noise
    return Recovery(
        rank=rank,
        noise=noise,
        noise_bound=noise_bound,
        sigma=sigma,
        lam=lam,
        lam_interval=(float(low), float(high)),
        mu=mu,
        mu_bound=lam / (float(np.sqrt(rank)) * size) if constants == "paper" else np.inf,
        energy=objective(problem, U, V),
        energy_bound=0.5 * noise**2 + 2.0 * lam * rank,
        constants=constants,
    )


def _singular_value(data: Data, index: int) -> float:
    """σ_index(X), rounded down.

    Singular values of X on a subspace are at most those of X: an inexact subspace errs on the safe side.
    """
    if index > min(data.shape):
        return 0.0
    values = randomized_svd(data, index, np.random.default_rng(0))[1]
    rounding = max(data.shape) * float(np.finfo(data.dtype).eps) * float(values[0])
    return max(float(values[index - 1]) - rounding, 0.0)


# Factors as the checks need them


def _count_components(U: Array, V: Array) -> int:
    """The number of components that are nonzero in both factors."""
    return int(np.count_nonzero(U.any(axis=0) & V.any(axis=0)))


def _check_factors(
    U: Any, V: Any, shape: tuple[int, int] | None = None, dtype: Any = np.float64
) -> tuple[Array, Array]:
    """(U, V) as nonnegative arrays with equally many columns, and the rows of X where its shape is given."""
    U, V = np.asfortranarray(U, dtype=dtype), np.asfortranarray(V, dtype=dtype)
    if U.ndim != 2 or V.ndim != 2 or U.shape[1] != V.shape[1]:
        raise ValueError(f"U and V must be matrices with equally many columns, got {U.shape} and {V.shape}")
    if shape is not None and (U.shape[0], V.shape[0]) != shape:
        raise ValueError(f"U and V have {U.shape[0]} and {V.shape[0]} rows, but X has shape {shape}")
    for name, factor in (("U", U), ("V", V)):
        if not np.isfinite(factor).all() or (factor < 0).any():
            raise ValueError(f"{name} must be finite and nonnegative")
    return U, V


def _check_constants(**values: float) -> None:
    """Refuse a constant that is negative, infinite or NaN."""
    for name, value in values.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be a nonnegative number, got {value}")


def _verdict(holds: bool) -> str:
    """The last word of a line of a report."""
    return "yes" if holds else "NO"
