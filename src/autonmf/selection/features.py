r"""The features of the default rule: a few numbers for each rank.

The path was computed on Y: X with rows and columns scaled to comparable norms, so that low-energy components
count as much as the others. Z is X scaled to noise of unit variance (`autonmf.data.noise`). With
:math:`\ell_k` the relative loss at rank k and :math:`d_k = \ell_{k-1}-\ell_k` its drop:

============  =====================================================================  ========  ===============
feature       formula                                                                matrix    neutral value
============  =====================================================================  ========  ===============
drop ratio    :math:`(d_k+f)/(d_{k+1}+f)`: how many times more component k lowers     Y         up to 2
              the loss than the next one. The floor f is a part of the last squared
              singular value: drops below it are noise, or come from ranks with few
              iterations
elbow fit     -log10 of the misfit of two straight lines, one up to k and one         Y         the smallest
              beyond, to the roots of the drops
fall to       how far the noise ratio falls with component k, in decades, where it    Z         0
noise         falls to that of noise
============  =====================================================================  ========  ===============

The noise ratio after k components is :math:`\sigma_{k+1}^2` of Z over the largest that noise alone would have
beyond k directions; up to one, the residual looks like noise. It counts linear directions, but the
nonnegative rank may be larger than the linear one. Then k nonnegative components explain less than k
directions do, and the next component lowers the loss by more than :math:`\sigma_{k+1}^2` of Y. From the first
rank at which the residual looks like noise, the noise ratio is therefore at least the ratio of the two,
divided by a tolerance for solutions that have not converged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data.noise import NOISE_LIMIT
from autonmf.path import Evidence
from autonmf.solvers import HIGH_RANK

FLOOR = 0.25
"""The floor f under the drops, as a fraction of the squared singular value at the largest rank."""

NEGLIGIBLE = 1e-6
"""Minimum of the floor f, as a fraction of ‖Y‖², for data without noise."""

MIN_DROP_RATIO, MAX_DROP_RATIO = 2.0, 10.0
"""Drop ratios are clipped to this range; the lower end is the paper's τ for real data."""

ELBOW_RANGE = 0.8
"""The fraction of the ranks that may be an elbow: at the largest ranks losses have not converged."""

ELBOW_MIN_RANKS = 5
"""Minimum number of ranks for an elbow: two lines fit fewer points exactly."""

ELBOW_MISFIT = 0.01
"""Added to the misfit, as a fraction of the largest root: lines may fit a few points by chance."""

LEAST_FALL = 0.2
"""Minimum fall at the first rank whose residual may be noise, which breaks ties."""

FIRST = 10.0
"""Minimum noise ratio before the first component if clipped noise was undone, which removes the mean of X.
Also the noise ratio before known components, which are assumed to be in X."""

LAG = 2.0
"""Drops up to this multiple of the next squared singular value may come from solutions not yet converged."""


class Features(NamedTuple):
    """One row for each rank from one, or the number of known components, to the largest visited."""

    rank: Array
    loss: Array  # the fraction of ‖Y‖² that is not explained, never increasing
    drop: Array
    drop_ratio: Array  # of the spectrum at high ranks, where the path makes few iterations
    elbow: Array
    noise_ratio: Array
    noise_ratio_before: Array
    fall: Array
    n_above: int  # the directions above noise count as so many components, known ones as one
    doubtful: bool  # whether one more may be hidden, or one may be an outlier
    n_known: int = 0


def compute_features(evidence: Evidence) -> Features:
    """Compute the features of every rank.

    Known components together count as the first component, with the smallest of their drops; the elbow is
    fitted to the drops of each of them and of the other components.
    """
    first = max(evidence.n_known, 1)
    ranks = evidence.ranks - (first - 1)
    largest = int(ranks[-1])
    spectrum = np.pad(evidence.spectrum, (0, largest + 2))
    losses = _losses(ranks, evidence.losses, spectrum)
    drops, known = -np.diff(losses), evidence.known_drops
    if evidence.n_known:
        drops[0] = known[-1] if known.size else 0.0
    noise_ratios = _noise_ratios(evidence, drops, spectrum)
    before, after = noise_ratios[:-1], noise_ratios[1:]
    return Features(
        rank=np.arange(first, first + largest),
        loss=np.maximum(losses[1:-1], 0.0),
        drop=drops[:-1],
        drop_ratio=_drop_ratios(drops, spectrum),
        elbow=_elbow_fits(*_prepend_known(known, drops[:-1], ranks))[-largest:],
        noise_ratio=after,
        noise_ratio_before=before,
        fall=_falls(before, after),
        n_above=evidence.whitened.count_above() + (evidence.n_known > 0),
        doubtful=evidence.whitened.doubtful,
        n_known=evidence.n_known,
    )


def _prepend_known(known: Array, drops: Array, ranks: Array) -> tuple[Array, Array]:
    """Replace the first drop by those of the known components, with their ranks.

    Without known components drops would decrease. Those up to the last one that is larger than the drop of a
    known component are therefore sorted.
    """
    if not known.size:
        return drops, ranks
    every, larger = np.append(known, drops[1:]), np.flatnonzero(drops[1:] > known[-1])
    count = len(known) + (int(larger[-1]) + 1 if larger.size else 0)
    every[:count] = np.sort(every[:count])[::-1]
    return every, np.append(np.arange(1, len(known)), ranks + len(known) - 1)


def _losses(ranks: Array, losses: Array, spectrum: Array) -> Array:
    """ℓ₀ = 1, the losses up to the largest rank, and one more from the spectrum; never increasing.

    They are interpolated linearly between visited ranks.
    """
    known, heights = np.append(0, ranks), np.append(1.0, losses)
    if ranks[0] > 1:
        known, heights = np.insert(known, 1, 1), np.insert(heights, 1, 1.0 - spectrum[0])
    visited = np.interp(np.arange(ranks[-1] + 1), known, heights)
    falling = np.minimum.accumulate(visited)
    return np.asarray(np.append(falling, falling[-1] - spectrum[ranks[-1]]))


def _drop_ratios(drops: Array, spectrum: Array) -> Array:
    """Each drop over the next, with a floor added to both; from the spectrum at high ranks."""
    largest = len(drops) - 1
    floor = FLOOR * spectrum[largest - 1] + NEGLIGIBLE
    by_path, by_spectrum = ((d[:largest] + floor) / (d[1 : largest + 1] + floor) for d in (drops, spectrum))
    return np.asarray(np.where(np.arange(1, largest + 1) < HIGH_RANK, by_path, by_spectrum))


def _noise_ratios(evidence: Evidence, drops: Array, spectrum: Array) -> Array:
    """The noise ratio after k = 0, 1, ..., up to the largest rank."""
    largest = len(drops) - 1
    ratios, known = evidence.whitened.ratios, evidence.n_known > 0
    ratios = np.pad(np.append(FIRST, ratios) if known else ratios, (0, largest + 1))[: largest + 1]
    if evidence.whitened.clipped:
        ratios[0] = max(ratios[0], FIRST)
    if not evidence.all_known:  # the drops are of known entries, the spectrum of the completed matrix
        return ratios
    first = evidence.whitened.count_above() + known
    k = np.arange(1, largest + 1)
    lag = drops[1:] / np.maximum(spectrum[1 : largest + 1], NEGLIGIBLE) / LAG
    ratios[1:] = np.where((k >= first) & (k < HIGH_RANK), np.maximum(ratios[1:], lag), ratios[1:])
    return ratios


def _falls(before: Array, after: Array) -> Array:
    """How far the noise ratio falls with each component, in decades; less if more than noise is left."""
    decades = np.log10(np.maximum(before, 1.0)) - np.log10(np.maximum(after, 1.0))
    like_noise = np.clip((NOISE_LIMIT - after) / (NOISE_LIMIT - 1.0), 0.0, 1.0)
    falls = np.maximum(decades, 0.0) * like_noise
    first = np.flatnonzero((before > NOISE_LIMIT) & (after <= NOISE_LIMIT))[:1]
    falls[first] = np.maximum(falls[first], LEAST_FALL)
    return np.asarray(falls)


def _elbow_fits(drops: Array, visited: Array) -> Array:
    """-log10 of the root mean square misfit of two lines that meet at each rank; the smallest elsewhere.

    Rank k has the weight 1/k, so that ranks 4 to 8 count as much as 20 to 40 and the answer depends little on
    ``max_rank``. Ranks that were not visited are left out, since they are interpolated.
    """
    last = max(int(ELBOW_RANGE * len(drops)), 3)
    ranks = visited[(visited >= 2) & (visited <= min(last, len(drops)))]
    fits = np.full(len(drops), np.nan)
    heights = np.sqrt(np.where(drops[ranks - 1] > NEGLIGIBLE, drops[ranks - 1], 0.0))
    if len(ranks) >= ELBOW_MIN_RANKS and heights.max() ** 2 > NEGLIGIBLE:
        weights, y = 1.0 / ranks, heights / heights.max()
        parted = (
            _line_misfits(ranks, y, weights)[:-2]
            + _line_misfits(ranks[::-1], y[::-1], weights[::-1])[-2:0:-1]
        )
        fits[ranks[:-2] - 1] = -0.5 * np.log10(parted / weights.sum() + ELBOW_MISFIT**2)
    return np.where(np.isnan(fits), np.nanmin(fits) if np.isfinite(fits).any() else 0.0, fits)


def _line_misfits(x: Array, y: Array, weights: Array) -> Array:
    """The weighted sums of squares about the best line through the first point, the first two, ..., all."""
    x, y = x - x[0], y - y[0]
    total, wx, wy, xx, xy, yy = (np.cumsum(weights * term) for term in (1.0, x, y, x * x, x * y, y * y))
    spread, shared, height = (a - b * c / total for a, b, c in ((xx, wx, wx), (xy, wx, wy), (yy, wy, wy)))
    slope = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    return np.asarray(np.maximum(height - slope * shared, 0.0))


def format_number(value: float) -> str:
    """A number with at most three digits, for a sentence.

    >>> format_number(1.649), format_number(10.0), format_number(1139.8)
    ('1.65', '10', '1,140')
    """
    short = f"{value:.3g}"
    return f"{float(short):,.0f}" if 1e3 <= float(short) < 1e6 else short
