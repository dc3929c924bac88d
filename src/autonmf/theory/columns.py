"""When the number of columns of a global minimiser is the nonnegative rank of its product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf.data.factors import gram
from autonmf.theory.factors import as_factors, check_constants, verdict


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
            f"{verdict(self.holds)}\n  {self.note}"
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
        λ and μ of eq. (1), in the units of X.

    Returns
    -------
    RankCondition

    Examples
    --------
    >>> import numpy as np
    >>> from autonmf.theory import rank_condition
    >>> rank_condition(np.eye(4), np.eye(4), lam=3.0, mu=1.0).smallest_lam
    2.0
    """
    U, V = as_factors(U, V)
    check_constants(lam=lam, mu=mu)
    return RankCondition(
        columns=int(np.count_nonzero(U.any(axis=0) & V.any(axis=0))),
        product_norm=float(np.sqrt(np.sum(gram(U) * gram(V)))),
        lam=lam,
        mu=mu,
    )
