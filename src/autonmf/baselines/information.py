r"""The Bayesian information criterion of a Gaussian model.

With independent errors of equal unknown variance the likelihood is a function of
RSS = :math:`\|X-UV^\top\|_F^2` alone, and

.. math:: \mathrm{BIC}(r) = nm\,\log\frac{\mathrm{RSS}(r)}{nm} + r(n+m-1)\log(nm).

A component has n + m numbers, less one because :math:`cU_j` and :math:`V_j/c` are the same component.
Parameters grow with the data here, which Schwarz's derivation does not allow for: it is a penalty that is
used, not one that is proved.

G. Schwarz, Estimating the dimension of a model, Annals of Statistics 6 (1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array, Seed
from autonmf.baselines.curve import NEGLIGIBLE, curve_warnings, loss_curve
from autonmf.path import RankPath
from autonmf.selection import RankEstimate

STRONG = 10.0
"""A difference of BIC above ten is very strong evidence (Kass and Raftery, 1995)."""


def gaussian_bic(losses: Array, ranks: Array, shape: tuple[int, int]) -> Array:
    """BIC of fits with these losses ½‖X - UVᵀ‖², which must be positive."""
    n, m = shape
    entries = n * m
    return np.asarray(entries * np.log(2.0 * losses / entries) + ranks * (n + m - 1) * np.log(entries))


def bic(
    X: Any, *, max_rank: int | None = None, random_state: Seed = None, path: RankPath | None = None
) -> RankEstimate:
    """The rank of least Gaussian BIC.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data; not read if ``path`` is given.
    max_rank : int, optional
        Where the path starts. Default: min(⌈min(n, m)/2⌉, 50).
    random_state : int, generator or None
        Seed.
    path : RankPath, optional
        A path of X to read, instead of computing one.

    Returns
    -------
    RankEstimate
        With the loss and the BIC at each rank; ``plausible`` are the ranks within 10 of the least.

    Examples
    --------
    >>> from autonmf.baselines import bic
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> bic(X, random_state=0).rank
    3
    """
    curve = loss_curve(X, max_rank=max_rank, random_state=random_state, path=path)
    # An exact fit has no variance: its loss counts as rounding, the same for every such rank.
    losses = np.maximum(curve.losses, NEGLIGIBLE * 0.5 * curve.squared_norm)
    values = gaussian_bic(losses, curve.ranks, curve.shape)
    best = int(np.argmin(values))
    rank = int(curve.ranks[best])
    warnings = curve_warnings(curve)
    if best == len(values) - 1 and best > 0:
        warnings += (f"BIC still falls at the largest rank, {rank}: raise max_rank",)
    return RankEstimate(
        rank=rank,
        rule="bic",
        why=f"rank {rank} has the least BIC: more components lower the loss by less than they cost",
        evidence={"rank": curve.ranks, "loss": curve.losses, "bic": values},
        plausible=tuple(int(r) for r in curve.ranks[values <= values[best] + STRONG]),
        warnings=warnings,
    )
