r"""Automatic relevance determination for NMF (Tan and Févotte, 2013), with Gaussian noise.

Column j of both factors has a prior of common scale :math:`\lambda_j`, which itself has an inverse-gamma
prior with shape a and scale b. The negative log posterior is

.. math:: \frac1{2\varphi}\|X-UV^\top\|_F^2
    + \sum_j\Bigl[\frac{f(U_j)+f(V_j)+b}{\lambda_j} + c\log\lambda_j\Bigr],

with :math:`f(B)=\|B\|_1` and :math:`c=n+m+a+1` for the exponential prior of their l1-ARD. Its minimiser over
:math:`\lambda_j` is :math:`(f(U_j)+f(V_j)+b)/c`: a component that is not needed shrinks until
:math:`\lambda_j` reaches its bound b/c.

V. Y. F. Tan and C. Févotte, Automatic relevance determination in nonnegative matrix factorization with the
β-divergence, IEEE Trans. Pattern Anal. Mach. Intell. 35 (2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf import kernels
from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.baselines.spectrum import check_noise, noise_level, singular_values
from autonmf.data import Data
from autonmf.data.factors import dot, gram
from autonmf.distributed import as_data
from autonmf.losses import FROBENIUS
from autonmf.path import PathOptions, prepare
from autonmf.selection import RankEstimate

RELEVANT = 0.1
"""A component counts if λ_j exceeds its bound by more than this fraction."""

NOT_CONVERGED = 1e-3
"""λ_j has not converged if it still changes by more than this fraction in the last iteration."""


@dataclass(frozen=True)
class Posterior:
    """The negative log posterior and its descent."""

    data: Data
    dispersion: float  # φ, the variance of the noise
    b: float
    c: float

    def scales(self, U: Array, V: Array) -> Array:
        """The minimising λ for given factors."""
        return np.asarray((U.sum(axis=0) + V.sum(axis=0) + self.b) / self.c)

    def relevance(self, scales: Array) -> Array:
        """λ over its bound b/c, minus one."""
        return np.asarray(scales * self.c / self.b - 1.0)

    def update_block(self, block: Array, product: Array, gram: Array, scales: Array) -> Array:
        """Minimise over one column of a block after the other, with the other block and λ fixed.

        The penalty φ‖B_j‖₁/λ_j is linear: it is subtracted from X C.
        """
        block = np.array(block, order="F")
        kernels.hals_sweeps(block, product - self.dispersion / scales, gram, 0.0, 1)
        return block

    def step(self, U: Array, V: Array, scales: Array) -> tuple[Array, Array, Array]:
        U = self.update_block(U, self.data.right(V), gram(V), scales)
        V = self.update_block(V, self.data.left(U), gram(U), scales)
        return U, V, self.scales(U, V)


def prior_constants(length: int, shape: float, mean: float, rank: int) -> tuple[float, float]:
    """(b, c), with b such that the prior mean of an entry of X is ``mean`` (method of moments)."""
    return float(np.sqrt((shape - 1) * (shape - 2) * mean / rank)), length + shape + 1


def ard_nmf(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    noise: float | None = None,
    shape: float = 5.0,
    tol: float = 1e-5,
    max_iter: int = 5000,
) -> RankEstimate:
    """Choose the rank by automatic relevance determination: the number of relevant components.

    Parameters
    ----------
    X, random_state
        As in `bic`.
    max_rank : int, optional
        Initial number of components. Default: min(⌈min(n, m)/2⌉, 50).
    noise : float, optional
        Standard deviation √φ of the noise. None: estimated from the median singular value, as in `svht`.
    shape : float
        Shape a of the prior of λ, above 2; b follows from it and the mean of X.
    tol : float
        Stop when no λ_j changes by more than this fraction.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    RankEstimate
        Its evidence has the relevance of each component (λ_j above its bound, as a fraction of it),
        decreasing.

    Examples
    --------
    >>> from autonmf.baselines import ard_nmf
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> ard_nmf(X, max_rank=8, random_state=0).rank
    3
    """
    data = as_data(X)
    if not shape > 2 or max_iter < 1:
        raise ValueError(f"shape must be > 2 and max_iter >= 1, got {shape} and {max_iter}")
    rank = PathOptions(max_rank=max_rank).first_rank(data.shape)
    check_noise(noise)
    sigma = noise_level(singular_values(data), data.shape) if noise is None else float(noise)
    start, sketch = as_generator(random_state).spawn(2)
    with one_pool():
        view = prepare(data, PathOptions(), rank, sketch)
        matrix: Data = view.double
        n, m = matrix.shape
        ones = (np.ones((size, 1), view.scaled.dtype, order="F") for size in (n, m))
        mean = dot(next(ones), view.scaled.right(next(ones))) / (n * m)
        b, c = prior_constants(n + m, shape, mean, rank)
        # φ must be positive: without noise it is that of rounding errors.
        dispersion = max((sigma / view.scaling.unit) ** 2, 1e-12)
        posterior = Posterior(matrix, dispersion, b, c)
        U, V = FROBENIUS.initialize(matrix, rank, "random", start)
        scales = posterior.scales(U, V)
        for _ in range(max_iter):
            previous = scales
            U, V, scales = posterior.step(U, V, scales)
            change = float(np.abs(scales / previous - 1.0).max())
            if change <= tol:
                break
    relevance = np.sort(posterior.relevance(scales))[::-1]
    kept = max(1, int((relevance > RELEVANT).sum()))
    warnings = []
    if change > NOT_CONVERGED:
        warnings.append(f"ARD did not converge in max_iter={max_iter} iterations: raise max_iter")
    if kept == len(relevance) > 1:
        warnings.append(f"none of the {kept} components was removed: raise max_rank or noise")
    if not relevance[0] > RELEVANT:
        warnings.append("every component was removed: X looks like noise with this prior")
    return RankEstimate(
        rank=kept,
        rule="ard",
        why=f"{kept} of {len(relevance)} components remain relevant (noise level {sigma:.3g})",
        evidence={"rank": np.arange(1, len(relevance) + 1), "relevance": relevance},
        plausible=(kept,),
        warnings=tuple(warnings),
    )
