r"""What speaks for a rank, as numbers.

With :math:`d_k = \ell_{k-1}-\ell_k` the drop of the loss that component k brings:

- *step*: how many times more component k brings than the next one would, :math:`\frac{d_k+f}{d_{k+1}+f}`. It
  has to be two at least on the evened copy Y, where faint components count, and is as large as on X, where
  components made of faint noise do not. The floor f is a part of the last singular value's square: drops
  below it are noise, or come from ranks that were hardly iterated.
- *bend*: how well two straight lines, one up to k and one beyond, describe the roots of the drops of Y.
- *remainder*: the square of the (k+1)-th singular value of X over the edge that noise with the energy beyond
  the first k has (Marchenko and Pastur, 1967): about one if there is nothing but noise beyond k directions.
  Nonnegative components may leave more than the best k directions do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.path import HARDLY_ITERATED, Evidence

FLOOR = 0.25
"""The floor f under the drops, as a share of the squared singular value at the largest rank."""

NEGLIGIBLE = 1e-6
"""The floor f at least, as a share of ‖Y‖²: data without noise have no other."""

NO_STEP, CLEAR_STEP = 2.0, 100.0
"""Ratios of drops up to the first, the paper's τ for real data, say nothing; from the second on, no more."""

BENT_UP_TO = 0.8
"""The share of the ranks in which a bend is looked for: at the very first the loss still falls by itself."""

FEWEST_BENT = 5
"""Through fewer points two lines always pass."""

LIKE_NOISE = 1.6
"""Remainders up to this may be noise; above it there is structure."""

MANY = 10
"""So many components of noise explain less than its edge on average."""

EXACT = 1e-9
"""Less than this share of ‖Y‖² left is a remainder of rounding errors."""


class Features(NamedTuple):
    """One row for each rank from one to the largest visited."""

    rank: Array
    loss: Array  # the share of ‖Y‖² that is not explained, never increasing
    drop: Array
    ratio: Array  # this drop of Y over the next, with a floor; by the spectrum where the path hardly iterates
    step: Array  # log10 of the same on X where Y has one, between two limits
    bend: Array
    remainder: Array  # of X; 1: like noise
    before: Array  # the remainder of X before this component
    noise: float  # the remainder of Y at rank one; ∞: it cannot be noise


def features_of(evidence: Evidence) -> Features:
    """The features of every rank."""
    largest = int(evidence.ranks[-1])
    spectrum, of_X = (
        np.pad(values, (0, largest + 2)) for values in (evidence.spectrum, evidence.spectrum_of_X)
    )
    losses = _losses(evidence.ranks, evidence.losses, spectrum)
    drops, drops_of_X = (
        curve[:-1] - curve[1:] for curve in (losses, _losses(evidence.ranks, evidence.losses_of_X, of_X))
    )
    steps, steps_of_X = _steps(drops, spectrum), _steps(drops_of_X, of_X)
    remainders = _remainders(evidence.shape, of_X, largest)
    return Features(
        rank=np.arange(1, largest + 1),
        loss=np.maximum(losses[1:-1], 0.0),
        drop=drops[:-1],
        ratio=steps,
        step=np.log10(np.where(steps >= NO_STEP, np.clip(steps_of_X, NO_STEP, CLEAR_STEP), NO_STEP)),
        bend=_bends(drops[:-1], evidence.ranks),
        remainder=remainders[1:],
        before=remainders[:-1],
        noise=_noise(evidence.shape, spectrum, largest),
    )


def _noise(shape: tuple[int, int], spectrum: Array, largest: int) -> float:
    """The remainder of Y at rank one; ∞ if what is left of it cannot be noise.

    That is where fewer components than noise would need explain it all, or many of them more than the edge
    of noise, (√n + √m)²/nm of the energy each.
    """
    n, m = (side - 1 for side in shape)
    left = 1.0 - np.cumsum(spectrum)
    if left[0] > EXACT and largest < min(shape):
        explained = 1.0 - max(left[largest - 1], 0.0) / left[0]
        edges = (largest - 1) * (np.sqrt(n) + np.sqrt(m)) ** 2 / (n * m)
        if explained >= 1.0 - EXACT or (largest > MANY and explained > edges):
            return np.inf
    return float(_remainders(shape, spectrum, largest)[1])


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


def _steps(drops: Array, spectrum: Array) -> Array:
    """Each drop over the next, with a floor under both; by the spectrum where the path hardly iterates."""
    largest = len(drops) - 1
    floor = FLOOR * spectrum[largest - 1] + NEGLIGIBLE
    by_path, by_spectrum = ((d[:largest] + floor) / (d[1 : largest + 1] + floor) for d in (drops, spectrum))
    return np.asarray(np.where(np.arange(1, largest + 1) < HARDLY_ITERATED, by_path, by_spectrum))


def _remainders(shape: tuple[int, int], spectrum: Array, largest: int) -> Array:
    """σ²_{k+1} over the edge v(√(n-k) + √(m-k))² of noise of the variance v beyond k directions."""
    k = np.arange(largest + 1)
    n, m = (np.maximum(side - k, 1) for side in shape)
    left = 1.0 - np.append(0.0, np.cumsum(spectrum))[: largest + 1]
    edge = left / (n * m) * (np.sqrt(n) + np.sqrt(m)) ** 2
    something = (left > EXACT) & (k < min(shape) - 1) & (spectrum[: largest + 1] > 0)
    return np.where(something, spectrum[: largest + 1] / np.where(something, edge, 1.0), 1.0)


def _bends(drops: Array, visited: Array) -> Array:
    """-log10 of the root mean square distance from two lines that part at each rank; the least elsewhere.

    Ranks weigh 1/k, so that 4 to 8 count as much as 20 to 40 and the upper bound matters little. Only ranks
    that were visited count: those between lie on a line by construction.
    """
    last = max(int(BENT_UP_TO * len(drops)), 3)
    ranks = visited[(visited >= 2) & (visited <= min(last, len(drops)))]
    bends = np.full(len(drops), np.nan)
    heights = np.sqrt(np.where(drops[ranks - 1] > NEGLIGIBLE, drops[ranks - 1], 0.0))
    if len(ranks) >= FEWEST_BENT and heights.max() ** 2 > NEGLIGIBLE:
        weights, y = 1.0 / ranks, heights / heights.max()
        parted = _misfits(ranks, y, weights)[:-2] + _misfits(ranks[::-1], y[::-1], weights[::-1])[-2:0:-1]
        bends[ranks[:-2] - 1] = -0.5 * np.log10(parted / weights.sum() + 1e-12)
    return np.where(np.isnan(bends), np.nanmin(bends) if np.isfinite(bends).any() else 0.0, bends)


def _misfits(x: Array, y: Array, weights: Array) -> Array:
    """The weighted sums of squares about the best line through the first point, the first two, ..., all."""
    x, y = x - x[0], y - y[0]
    total, wx, wy, xx, xy, yy = (np.cumsum(weights * term) for term in (1.0, x, y, x * x, x * y, y * y))
    spread, shared, height = (a - b * c / total for a, b, c in ((xx, wx, wx), (xy, wx, wy), (yy, wy, wy)))
    slope = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    return np.asarray(np.maximum(height - slope * shared, 0.0))
