r"""The elbow of the loss curve, by the Kneedle algorithm (Satopää et al., 2011).

The curve is scaled to the unit square and turned over, so that it is increasing and concave; the knee is
where it is furthest above the diagonal. A local maximum :math:`d_i` of the difference :math:`d = y - x` is a
knee once the differences after it fall below :math:`d_i - S\,\overline{\Delta x}` before they rise to another
maximum.

V. Satopää, J. Albrecht, D. Irwin and B. Raghavan, Finding a "Kneedle" in a haystack: detecting knee points in
system behavior, ICDCS Workshops (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array, Seed
from autonmf.baselines.curve import curve_warnings, loss_curve
from autonmf.path import RankPath
from autonmf.selection import RankEstimate


def differences(x: Array, y: Array) -> Array:
    """How far an increasing curve is above the diagonal, both axes scaled to [0, 1]."""
    span_x, span_y = np.ptp(x), np.ptp(y)
    if span_x == 0 or span_y == 0:
        return np.zeros(len(x))
    return np.asarray((y - y.min()) / span_y - (x - x.min()) / span_x)


def knees(x: Array, y: Array, sensitivity: float = 1.0) -> list[int]:
    """The indices of all knees of an increasing concave curve, in order."""
    above = differences(x, y)
    if not above.any():
        return []
    margin = sensitivity * float(np.mean(np.diff(x))) / float(np.ptp(x))
    inner = range(1, len(above) - 1)
    peaks = [i for i in inner if above[i - 1] < above[i] >= above[i + 1]]
    ends = [*peaks[1:], len(above)][: len(peaks)]
    return [i for i, end in zip(peaks, ends, strict=True) if (above[i + 1 : end] < above[i] - margin).any()]


def elbow(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    path: RankPath | None = None,
    sensitivity: float = 1.0,
) -> RankEstimate:
    """The elbow of the loss over the rank, as the Kneedle algorithm sees it.

    The answer depends on where the curve ends: the same data with another ``max_rank`` have another elbow.

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
    sensitivity : float
        S of the algorithm: how far the curve must fall behind before a bend counts.

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
    # A rank may always be fitted as well as a smaller one: a loss that went up did not converge.
    losses = np.minimum.accumulate(curve.losses)
    found = knees(ranks, -losses, sensitivity)
    above = differences(ranks, -losses)
    chosen = found[0] if found else int(np.argmax(above))
    warnings = curve_warnings(curve)
    if not found:
        warnings += ("the curve has no knee by the algorithm's own threshold; its furthest point is given",)
    rank = int(curve.ranks[chosen])
    return RankEstimate(
        rank=rank,
        rule="elbow",
        why=f"the loss curve bends at rank {rank}, {above[chosen]:.2f} below the straight line of its ends",
        evidence={"rank": curve.ranks, "loss": curve.losses, "difference": above},
        plausible=tuple(sorted({rank, *(int(curve.ranks[i]) for i in found)})),
        warnings=warnings,
    )
