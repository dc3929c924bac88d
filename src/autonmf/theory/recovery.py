"""A sufficient condition for the rank of a point to be the rank of the noiseless matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from autonmf.data import Data, as_data
from autonmf.losses.frobenius import Problem, objective
from autonmf.model.initial import randomized_svd
from autonmf.theory.factors import as_factors, check_constants, verdict

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
            f"  noise   {self.noise:.4g} ≤ {self.noise_bound:.4g}: {verdict(self.noise_holds)}",
            f"  lambda  {self.lam:.4g} in [{low:.4g}, {high:.4g}]: {verdict(self.lam_holds)}",
            f"  mu      {self.mu:.4g} < {self.mu_bound:.4g}: {verdict(self.mu_holds)}",
            f"  energy  {self.energy:.6g} ≤ {self.energy_bound:.6g}: {verdict(self.energy_holds)}",
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
    X : array, data frame or sparse matrix of shape (n, m)
    U, V : arrays of shape (n, r) and (m, r)
        Nonnegative factors.
    noise : float
        η, a bound on the Frobenius norm of the noise. It must leave room for μ/2(‖U‖² + ‖V‖²).
    mu : float
        μ of eq. (1), in the units of X.
    lam : float, optional
        λ of eq. (1). Critical points do not depend on λ, so any λ will do; by default one is chosen from
        the interval.
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
    >>> from autonmf.theory import exact_recovery
    >>> X, U, V = make_low_rank(60, 40, rank=3, noise=1e-3, random_state=0)
    >>> path = rank_path(X, max_rank=5, random_state=0)
    >>> [point.rank for point in path.points
    ...  if exact_recovery(X, point.U, point.V, noise=0.05, mu=path.mu).certified]
    [3]
    """
    data = as_data(X)
    U, V = as_factors(U, V, data.shape, data.dtype)
    check_constants(noise=noise, mu=mu)
    if rank is None:
        rank = int(np.count_nonzero(U.any(axis=0) & V.any(axis=0)))
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
    check_constants(lam=lam)
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
