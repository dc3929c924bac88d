r"""Singular value hard thresholding (Gavish and Donoho, 2014).

For X = signal + noise with independent entries of standard deviation σ, keeping the singular values above

.. math:: \lambda_*(\beta)\sqrt{n}\,\sigma, \qquad
    \lambda_*(\beta) = \sqrt{2(\beta+1) + \frac{8\beta}{(\beta+1)+\sqrt{\beta^2+14\beta+1}}},

with n the larger dimension and β ≤ 1 the ratio of both, has the least asymptotic mean squared error. With σ
unknown the threshold is :math:`\omega(\beta)` times the median singular value, where
:math:`\omega = \lambda_*/\sqrt{\mu_\beta}` and :math:`\mu_\beta` is the median of the Marchenko-Pastur law.

M. Gavish and D. L. Donoho, The optimal hard threshold for singular values is 4/√3, IEEE Trans. Inf. Theory 60
(2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array, Seed
from autonmf.baselines import marchenko_pastur
from autonmf.baselines.entries import singular_values
from autonmf.data import as_data
from autonmf.selection import RankEstimate

NEAR = 0.05
"""Singular values within this share of the threshold could fall on either side of it."""


def threshold_factor(beta: float) -> float:
    """λ*(β): the threshold in units of √n·σ."""
    return float(np.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1))))


def median_factor(beta: float) -> float:
    """ω(β) = λ*(β)/√μ_β: the threshold in units of the median singular value."""
    return threshold_factor(beta) / float(np.sqrt(marchenko_pastur.median(beta)))


def noise_level(values: Array, shape: tuple[int, int]) -> float:
    """σ from all singular values: their median is √(n μ_β)·σ where at most half of them carry signal."""
    n, m = max(shape), min(shape)
    return float(np.median(values) / np.sqrt(n * marchenko_pastur.median(m / n)))


def svht(
    X: Any, *, noise: float | None = None, max_rank: int | None = None, random_state: Seed = None
) -> RankEstimate:
    """The number of singular values above the optimal hard threshold of Gavish and Donoho.

    It answers a question about linear rank: nonnegative factors may need more components, and any structure
    that is not independent noise (spectra, documents) adds singular values that no one would call a
    component.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    noise : float, optional
        Standard deviation of the noise. None: unknown, and the median singular value stands in for it.
    max_rank, random_state
        Taken so that every method can be called alike. All singular values are computed, nothing is searched
        and nothing is random.

    Returns
    -------
    RankEstimate
        With ``singular_value``, ``threshold`` and ``kept`` for each index.

    Examples
    --------
    >>> from autonmf.baselines import svht
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> svht(X).rank
    3
    """
    data = as_data(X)
    if noise is not None and not noise >= 0:
        raise ValueError(f"noise must be a nonnegative standard deviation, got {noise}")
    values = singular_values(data)
    n, m = max(data.shape), min(data.shape)
    rounding = n * float(np.finfo(np.float64).eps) * float(values[0])
    warnings: list[str] = []
    if noise is not None:
        threshold = threshold_factor(m / n) * float(np.sqrt(n)) * noise
        source = f"for noise of standard deviation {noise:.3g}"
    else:
        threshold = median_factor(m / n) * float(np.median(values))
        source = f"{median_factor(m / n):.4g} times the median singular value"
        if np.median(values) <= rounding:
            warnings.append(
                "half of the singular values are zero: no noise to threshold, linear rank counted"
            )
    threshold = max(threshold, rounding)
    kept = values > threshold
    rank = max(1, int(kept.sum()))
    if not kept.any():
        warnings.append("no singular value is above the threshold: X looks like noise")
    least, most = (int((values > threshold * (1 + side * NEAR)).sum()) for side in (1, -1))
    return RankEstimate(
        rank=rank,
        rule="svht",
        why=f"{int(kept.sum())} singular values are above {threshold:.4g}, {source}",
        evidence={
            "rank": np.arange(1, m + 1),
            "singular_value": values,
            "threshold": np.full(m, threshold),
            "kept": kept,
        },
        plausible=tuple(range(max(1, least), max(rank, most) + 1)),
        warnings=tuple(warnings),
    )
