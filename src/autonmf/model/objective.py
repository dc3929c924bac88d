r"""The objective of eq. (1), its smooth part and its derivatives.

.. math::
    \Phi_{\lambda,\mu}(U,V) = \tfrac12\|X-UV^\top\|_F^2 + \tfrac{\mu}{2}(\|U\|_F^2+\|V\|_F^2)
        + \lambda(\|U\|_{2,0}+\|V\|_{2,0}), \qquad U, V \ge 0.

The first two terms are :math:`F_\mu`. Everything below works on one *block* B given ``product`` = X C
and ``gram`` = CᵀC of the other block C, so that U and V share every formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dgemm, sgemm

from autonmf._types import Array
from autonmf.data import Data
from autonmf.model.penalty import ColumnPenalty

TRUSTED_DIGITS = 1e4
"""Gram products give the loss to about eps·‖X‖²; below ½·1e4·eps·‖X‖² the residual itself is formed."""


@dataclass(frozen=True)
class Problem:
    """One instance of eq. (1): the data and its three constants."""

    data: Data
    mu: float = 1e-8  # weight of the squared norms
    lam: float = 0.0  # price of a nonzero column
    delta: float = 1e-6  # what a step size γ adds to its Lipschitz constant

    @property
    def squared_norm(self) -> float:
        """‖X‖²."""
        return self.data.squared_norm()

    @property
    def penalty(self) -> ColumnPenalty:
        return ColumnPenalty(self.lam)

    def at(self, lam: float) -> Problem:
        """The same problem at another λ."""
        return replace(self, lam=lam)

    def step_size(self, gram: Array) -> float:
        """γ = τ + δ, with τ the Lipschitz constant of the block gradient."""
        return lipschitz(gram, self.mu) + self.delta


NARROW = 28
"""Up to here BLAS's general product is faster than its symmetric one, which NumPy would take for BᵀB."""


def gram(block: Array) -> Array:
    """BᵀB."""
    if block.flags.f_contiguous and 0 < block.shape[1] <= NARROW:
        product = dgemm if block.dtype == np.float64 else sgemm
        return np.asarray(product(1.0, block, block, trans_a=True))
    return block.T @ block


def gradient(block: Array, product: Array, gram: Array, mu: float) -> Array:
    r"""Block gradient :math:`\nabla_U F_\mu = (UV^\top - X)V + \mu U`."""
    result: Array = (gram @ block.T).T
    result -= product
    result += mu * block
    return result


def projected_gradient(block: Array, gradient: Array) -> Array:
    """∇ᵖF of Section VI-A: the gradient where it is negative or the entry is positive, else 0.

    It is a subgradient of Ψ, and zero exactly at the KKT points of the block.
    """
    return np.where((gradient < 0) | (block > 0), gradient, 0.0)


def lipschitz(gram: Array, mu: float) -> float:
    """τ = ‖CᵀC‖₂ + μ, the Lipschitz constant of the block gradient."""
    if gram.shape[0] == 0:
        return mu
    return float(np.linalg.eigvalsh(gram)[-1]) + mu


def rough_loss(energy: float, inner: float, gram_U: Array, gram_V: Array) -> float:
    """½(‖X‖² - 2⟨X, UVᵀ⟩ + ⟨UᵀU, VᵀV⟩) from energy = ‖X‖² and inner = ⟨X, UVᵀ⟩, or 0 if negative.

    It loses all digits when the fit is nearly exact; `is_trusted` tells.
    """
    return max(0.5 * (energy - 2.0 * inner + float(np.sum(gram_U * gram_V, dtype=np.float64))), 0.0)


def is_trusted(loss: float, data: Data) -> bool:
    """Whether a `rough_loss` has digits left, given the precision of the products."""
    return loss >= 0.5 * TRUSTED_DIGITS * float(np.finfo(data.dtype).eps) * data.squared_norm()


def loss_from(data: Data, U: Array, V: Array, inner: float, gram_U: Array, gram_V: Array) -> float:
    """½‖X - UVᵀ‖², from ⟨X, UVᵀ⟩ and Gram matrices at hand, or from the residual itself if they cancel."""
    loss = rough_loss(data.squared_norm(), inner, gram_U, gram_V)
    return loss if is_trusted(loss, data) else 0.5 * data.squared_residual(U, V)


def loss_of(data: Data, U: Array, V: Array) -> float:
    """½‖X - UVᵀ‖² of given factors, in double precision, for one product with X."""
    U, V = U.astype(np.float64, copy=False), V.astype(np.float64, copy=False)
    if not data.complete:
        return 0.5 * data.squared_residual(U, V)
    return loss_from(data, U, V, data.inner(U, V), gram(U), gram(V))


def smooth_objective(problem: Problem, U: Array, V: Array) -> float:
    """F_μ(U, V), with the residual formed."""
    ridge = float(np.sum(np.square(U)) + np.sum(np.square(V)))
    return 0.5 * problem.data.squared_residual(U, V) + 0.5 * problem.mu * ridge


def objective(problem: Problem, U: Array, V: Array) -> float:
    """Φ(U, V) of eq. (1) at nonnegative factors, with the residual formed."""
    penalty = problem.penalty
    return smooth_objective(problem, U, V) + penalty.value(U) + penalty.value(V)
