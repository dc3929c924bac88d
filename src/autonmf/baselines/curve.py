r"""The rank from the losses of a path: the Bayesian information criterion, and the elbow.

**BIC.** With independent Gaussian errors of equal unknown variance the likelihood is a function of
RSS = :math:`\|X-UV^\top\|_F^2` alone, and

.. math:: \mathrm{BIC}(r) = nm\,\log\frac{\mathrm{RSS}(r)}{nm} + r(n+m-1)\log(nm).

For counts, with the Poisson likelihood, the first term is 2D(r) with the Kullback-Leibler loss D.

A component has n + m parameters, less one because :math:`cU_j` and :math:`V_j/c` are the same component. The
number of parameters grows with the data, which the derivation of Schwarz does not cover, so that the
criterion is a heuristic here.

G. Schwarz, Estimating the dimension of a model, Annals of Statistics 6 (1978).

**Elbow**, by the Kneedle algorithm. The curve is scaled to the unit square and flipped, so that it is
increasing and concave; the knee is where it is furthest above the diagonal. A local maximum :math:`d_i` of
the difference :math:`d = y - x` is a knee if the differences after it fall below
:math:`d_i - S\,\overline{\Delta x}` before they rise to another maximum.

V. Satopää, J. Albrecht, D. Irwin and B. Raghavan, Finding a "Kneedle" in a haystack: detecting knee points in
system behavior, ICDCS Workshops (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array, Seed
from autonmf.distributed import as_data
from autonmf.path import RankPath, rank_path
from autonmf.selection import RankEstimate, evaluate_on_X

STRONG = 10.0
"""A difference in BIC above ten is very strong evidence (Kass and Raftery, 1995)."""

NEGLIGIBLE = 1e-12
"""A loss below this fraction of ½‖X‖² is rounding error."""

INCOMPLETE = "the path is incomplete"


def loss_curve(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    path: RankPath | None = None,
    beta_loss: str | float = "frobenius",
) -> RankPath:
    """The path given, or a path of X from ``max_rank`` down to one with every loss evaluated on X."""
    if path is not None:
        return path
    data = as_data(X)
    found = rank_path(data, max_rank, beta_loss=beta_loss, random_state=random_state)
    return evaluate_on_X(found, data, found.ranks)


def bic(
    X: Any, *, max_rank: int | None = None, random_state: Seed = None, path: RankPath | None = None
) -> RankEstimate:
    """Choose the rank with the lowest BIC of Gaussian errors or, with the Kullback-Leibler loss, of counts.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data; not read if ``path`` is given.
    max_rank : int, optional
        Largest rank of the path. Default: min(⌈min(n, m)/2⌉, 50).
    random_state : int, generator or None
        Seed.
    path : RankPath, optional
        A path of X to use instead of computing one.

    Returns
    -------
    RankEstimate
        With the loss and the BIC at each rank; ``plausible`` are the ranks within 10 of the lowest.

    Examples
    --------
    >>> from autonmf.baselines import bic
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> bic(X, random_state=0).rank
    3
    """
    curve = loss_curve(X, max_rank=max_rank, random_state=random_state, path=path)
    n, m = curve.shape
    if curve.beta_loss == "kullback-leibler":  # half of the deviance
        misfits = 2.0 * curve.losses
    else:  # an exact fit has no variance: all such ranks get the same loss, that of rounding errors
        losses = np.maximum(curve.losses, NEGLIGIBLE * 0.5 * curve.squared_norm)
        misfits = n * m * np.log(2.0 * losses / (n * m))
    values = misfits + curve.ranks * (n + m - 1) * np.log(n * m)
    best = int(np.argmin(values))
    rank = int(curve.ranks[best])
    warnings = [] if curve.complete else [INCOMPLETE]
    if best == len(values) - 1 and best > 0:
        warnings.append(f"BIC still decreases at the largest rank, {rank}: raise max_rank")
    return RankEstimate(
        rank=rank,
        rule="bic",
        why=f"rank {rank} has the lowest BIC",
        evidence={"rank": curve.ranks, "loss": curve.losses, "bic": values},
        plausible=tuple(int(r) for r in curve.ranks[values <= values[best] + STRONG]),
        warnings=tuple(warnings),
    )


def differences(x: Array, y: Array) -> Array:
    """The height of an increasing curve above the diagonal, with both axes scaled to [0, 1]."""
    span_x, span_y = np.ptp(x), np.ptp(y)
    if span_x == 0 or span_y == 0:
        return np.zeros(len(x))
    return np.asarray((y - y.min()) / span_y - (x - x.min()) / span_x)


def knees(x: Array, y: Array) -> list[int]:
    """The indices of all knees of an increasing concave curve with S = 1, in increasing order."""
    above = differences(x, y)
    if not above.any():
        return []
    margin = float(np.mean(np.diff(x))) / float(np.ptp(x))
    inner = range(1, len(above) - 1)
    peaks = [i for i in inner if above[i - 1] < above[i] >= above[i + 1]]
    ends = [*peaks[1:], len(above)][: len(peaks)]
    return [i for i, end in zip(peaks, ends, strict=True) if (above[i + 1 : end] < above[i] - margin).any()]


def elbow(
    X: Any, *, max_rank: int | None = None, random_state: Seed = None, path: RankPath | None = None
) -> RankEstimate:
    """Choose the elbow of the loss curve by the Kneedle algorithm.

    The answer depends on ``max_rank``, where the curve ends.

    Parameters
    ----------
    X, max_rank, random_state, path
        As in `bic`.

    Returns
    -------
    RankEstimate
        With the loss and the difference to the diagonal at each rank.

    Examples
    --------
    >>> from autonmf.baselines import elbow
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> elbow(X, random_state=0).rank
    3
    """
    curve = loss_curve(X, max_rank=max_rank, random_state=random_state, path=path)
    ranks = curve.ranks.astype(float)
    # The loss cannot rise with the rank at convergence.
    losses = np.minimum.accumulate(curve.losses)
    found = knees(ranks, -losses)
    above = differences(ranks, -losses)
    chosen = found[0] if found else int(np.argmax(above))
    warnings = [] if curve.complete else [INCOMPLETE]
    if not found:
        warnings.append("the curve has no clear knee; the point furthest above the diagonal is used")
    rank = int(curve.ranks[chosen])
    return RankEstimate(
        rank=rank,
        rule="elbow",
        why=f"the loss has its elbow at rank {rank}, {above[chosen]:.2f} below the line between its ends",
        evidence={"rank": curve.ranks, "loss": curve.losses, "difference": above},
        plausible=tuple(sorted({rank, *(int(curve.ranks[i]) for i in found)})),
        warnings=tuple(warnings),
    )
