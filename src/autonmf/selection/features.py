r"""What the default rule looks at: four numbers for each rank.

Y is X with rows and columns scaled to comparable norm, where low-energy components count like the others. The
path was followed on Y; its solutions were scaled back to X. With :math:`\ell_k` the relative loss at rank k
and :math:`d_k = \ell_{k-1}-\ell_k` the drop that component k brings:

============  =====================================================================  ========  ===============
feature       formula                                                                matrix    neutral value
============  =====================================================================  ========  ===============
drop ratio    :math:`(d_k+f)/(d_{k+1}+f)`: how many times more component k lowers     Y and X   up to 2
              the loss than the next one; it has to be 2 on Y, and is as large as
              on X. The floor f is a part of the last squared singular value: drops
              below it are noise, or come from ranks with few iterations
elbow fit     -log10 of the misfit of two straight lines, one up to k and one         Y         the smallest
              beyond, to the roots of the drops
noise ratio   :math:`\sigma_{k+1}^2` over the largest that noise with the energy      X         1
              beyond the first k directions has (Marchenko and Pastur, 1967)
the same      the noise ratio before component k                                      X         1
before
============  =====================================================================  ========  ===============

Nonnegative components may leave more than the best k directions do: noise ratios count linear directions.

If the noise is white, noise ratios fall to one where structure ends, and stay there. No earlier rank can be
right then, however large its drop ratio: a low-energy last component is as real as the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.path import Evidence
from autonmf.solvers import HIGH_RANK

FLOOR = 0.25
"""The floor f under the drops, as a fraction of the squared singular value at the largest rank."""

NEGLIGIBLE = 1e-6
"""The floor f at least, as a fraction of ‖Y‖²: data without noise have no other."""

MIN_DROP_RATIO, MAX_DROP_RATIO = 2.0, 100.0
"""Drop ratios up to the first, the paper's τ for real data, say nothing; beyond the second, no more."""

ELBOW_RANGE = 0.8
"""The fraction of the ranks in which an elbow is looked for: beyond it the loss falls as the path begins."""

ELBOW_MIN_RANKS = 5
"""Two lines always fit fewer points."""

NOISE_LIMIT = 1.6
"""Noise ratios up to this may be noise; above it there is structure."""

MANY = 10
"""This many components of noise explain less, on average, than the largest singular value of noise does."""

EXACT = 1e-9
"""If less than this fraction of ‖Y‖² is left, it consists of rounding errors."""

WHITE = (0.8, 1.05)
"""Noise ratios of white noise, which fall slowly as directions are taken from it ..."""

IN_A_ROW = 5
"""... at this many ranks, or up to the last."""


class Features(NamedTuple):
    """One row for each rank from one to the largest visited."""

    rank: Array
    loss: Array  # the fraction of ‖Y‖² that is not explained, never increasing
    drop: Array
    drop_ratio: Array  # of Y; by the spectrum at high ranks, where the path makes few iterations
    log_drop_ratio: Array  # log10 of that of X where Y has one, between two limits
    elbow: Array
    noise_ratio: Array
    noise_ratio_before: Array
    rank_one_noise_ratio: float  # of Y at rank one; ∞: what is left cannot be noise


def compute_features(evidence: Evidence) -> Features:
    """The features of every rank."""
    largest = int(evidence.ranks[-1])
    spectrum, of_X = (
        np.pad(values, (0, largest + 2)) for values in (evidence.spectrum, evidence.spectrum_of_X)
    )
    losses = _losses(evidence.ranks, evidence.losses, spectrum)
    drops, drops_of_X = (
        curve[:-1] - curve[1:] for curve in (losses, _losses(evidence.ranks, evidence.losses_of_X, of_X))
    )
    ratios, ratios_of_X = _drop_ratios(drops, spectrum), _drop_ratios(drops_of_X, of_X)
    noise_ratios = _noise_ratios(evidence.shape, of_X, largest)
    return Features(
        rank=np.arange(1, largest + 1),
        loss=np.maximum(losses[1:-1], 0.0),
        drop=drops[:-1],
        drop_ratio=ratios,
        log_drop_ratio=np.log10(
            np.where(
                ratios >= MIN_DROP_RATIO, np.clip(ratios_of_X, MIN_DROP_RATIO, MAX_DROP_RATIO), MIN_DROP_RATIO
            )
        ),
        elbow=_elbow_fits(drops[:-1], evidence.ranks),
        noise_ratio=noise_ratios[1:],
        noise_ratio_before=noise_ratios[:-1],
        rank_one_noise_ratio=_rank_one_noise_ratio(evidence.shape, spectrum, largest),
    )


def _rank_one_noise_ratio(shape: tuple[int, int], spectrum: Array, largest: int) -> float:
    """The noise ratio of Y at rank one; ∞ if what is left of it cannot be noise.

    That is where fewer components than noise would need explain all of it, or where many of them explain
    more than (√n + √m)²/nm of the energy each, the largest fraction that noise has in one direction.
    """
    n, m = (side - 1 for side in shape)
    left = 1.0 - np.cumsum(spectrum)
    if left[0] > EXACT and largest < min(shape):
        explained = 1.0 - max(left[largest - 1], 0.0) / left[0]
        edges = (largest - 1) * (np.sqrt(n) + np.sqrt(m)) ** 2 / (n * m)
        if explained >= 1.0 - EXACT or (largest > MANY and explained > edges):
            return np.inf
    return float(_noise_ratios(shape, spectrum, largest)[1])


def _losses(ranks: Array, losses: Array, spectrum: Array) -> Array:
    """ℓ₀ = 1, ℓ₁ to that of the largest rank, and one more by the spectrum; never increasing.

    Between ranks that were visited it is straight, and constant from the last one on whose loss is known.
    """
    known, heights = np.append(0, ranks[: len(losses)]), np.append(1.0, losses)
    if ranks[0] > 1:
        known, heights = np.insert(known, 1, 1), np.insert(heights, 1, 1.0 - spectrum[0])
    visited = np.interp(np.arange(ranks[-1] + 1), known, heights)
    falling = np.minimum.accumulate(visited)
    return np.asarray(np.append(falling, falling[-1] - spectrum[ranks[-1]]))


def _drop_ratios(drops: Array, spectrum: Array) -> Array:
    """Each drop over the next, with a floor under both; by the spectrum at high ranks."""
    largest = len(drops) - 1
    floor = FLOOR * spectrum[largest - 1] + NEGLIGIBLE
    by_path, by_spectrum = ((d[:largest] + floor) / (d[1 : largest + 1] + floor) for d in (drops, spectrum))
    return np.asarray(np.where(np.arange(1, largest + 1) < HIGH_RANK, by_path, by_spectrum))


def _noise_ratios(shape: tuple[int, int], spectrum: Array, largest: int) -> Array:
    """σ²_{k+1} over v(√(n-k) + √(m-k))², the largest of noise of the variance v beyond k directions."""
    k = np.arange(largest + 1)
    n, m = (np.maximum(side - k, 1) for side in shape)
    left = 1.0 - np.append(0.0, np.cumsum(spectrum))[: largest + 1]
    edge = left / (n * m) * (np.sqrt(n) + np.sqrt(m)) ** 2
    something = (left > EXACT) & (k < min(shape) - 1) & (spectrum[: largest + 1] > 0)
    return np.where(something, spectrum[: largest + 1] / np.where(something, edge, 1.0), 1.0)


def _elbow_fits(drops: Array, visited: Array) -> Array:
    """-log10 of the root mean square distance from two lines that meet at each rank; the least elsewhere.

    Ranks weigh 1/k, so that 4 to 8 count as much as 20 to 40 and the upper bound matters little. Only ranks
    that were visited count: those between lie on a line by construction.
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
        fits[ranks[:-2] - 1] = -0.5 * np.log10(parted / weights.sum() + 1e-12)
    return np.where(np.isnan(fits), np.nanmin(fits) if np.isfinite(fits).any() else 0.0, fits)


def _line_misfits(x: Array, y: Array, weights: Array) -> Array:
    """The weighted sums of squares about the best line through the first point, the first two, ..., all."""
    x, y = x - x[0], y - y[0]
    total, wx, wy, xx, xy, yy = (np.cumsum(weights * term) for term in (1.0, x, y, x * x, x * y, y * y))
    spread, shared, height = (a - b * c / total for a, b, c in ((xx, wx, wx), (xy, wx, wy), (yy, wy, wy)))
    slope = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    return np.asarray(np.maximum(height - slope * shared, 0.0))


def first_white_noise_rank(features: Features) -> int | None:
    """The first rank beyond which X is white noise, if it is not before it; None if there is none."""
    low, high = WHITE
    reached = np.flatnonzero(features.noise_ratio <= high)
    if reached.size == 0 or reached[0] == 0 or features.noise_ratio_before[reached[0]] <= NOISE_LIMIT:
        return None
    run = features.noise_ratio[reached[0] : reached[0] + IN_A_ROW]
    noisy = np.ptp(run) > 0.0  # without noise nothing is left, and noise ratios are one by definition
    return int(reached[0]) + 1 if noisy and low <= run.min() and run.max() <= high else None


def end_at(features: Features, rank: int) -> Features:
    """The features if structure ends at this rank: no drop ratio before it counts."""
    at = rank - 1
    log_drop_ratio = features.log_drop_ratio.copy()
    log_drop_ratio[:at] = np.log10(MIN_DROP_RATIO)
    fall = features.noise_ratio_before[at] / features.noise_ratio[at]
    log_drop_ratio[at] = max(log_drop_ratio[at], np.log10(np.clip(fall, MIN_DROP_RATIO, MAX_DROP_RATIO)))
    return features._replace(log_drop_ratio=log_drop_ratio)


def format_number(value: float) -> str:
    """A number with at most three digits, for a sentence.

    >>> format_number(1.649), format_number(10.0), format_number(1139.8)
    ('1.65', '10', '1,140')
    """
    short = f"{value:.3g}"
    return f"{float(short):,.0f}" if 1e3 <= float(short) < 1e6 else short
