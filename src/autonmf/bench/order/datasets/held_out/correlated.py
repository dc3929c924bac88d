"""Components that resemble each other."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator, half_normal, mixtures, unit_columns
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import bounded, weakest


@drawn(
    "correlated",
    "synthetic",
    hard="the first component explains nearly everything, the others share the rest",
    held_out=True,
)
def correlated(rng: Generator) -> Instance:
    """Three to eight features vectors at a cosine of 0.6 to 0.8 to each other, mixed by nearly pure rows."""
    n, m, rank = int(rng.integers(200, 401)), int(rng.integers(150, 301)), int(rng.integers(3, 9))
    cosine = rng.uniform(0.6, 0.8)
    common, own = unit_columns(half_normal(m, 1, rng)), unit_columns(half_normal(m, rank, rng))
    share = mixing_share(common, own, cosine)
    V = np.sqrt(m) * unit_columns(share * common + (1.0 - share) * own)
    U = mixtures(n, rank, 0.3, rng) * rng.lognormal(0.0, 0.3, (n, 1))
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"cosine {cosine:.2f}, noise {sigma:.2g}")


def mixing_share(common: np.ndarray, own: np.ndarray, cosine: float) -> float:
    """How much of the common vector gives this mean cosine, by bisection."""
    low, high = 0.0, 1.0
    above = np.triu_indices(own.shape[1], 1)
    for _ in range(40):
        share = 0.5 * (low + high)
        V = unit_columns(share * common + (1.0 - share) * own)
        low, high = (share, high) if (V.T @ V)[above].mean() < cosine else (low, share)
    return share
