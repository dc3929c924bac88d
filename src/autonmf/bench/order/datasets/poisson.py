"""Poisson counts of a low-rank mean."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator, half_normal
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import counts, edge, weakest


@drawn("poisson", "synthetic", hard="the variance is the mean: strong rows and columns carry the most noise")
def poisson(rng: Generator) -> Instance:
    """Three to ten components; the depth puts the weakest at 1.5 to 3 times the edge of the noise."""
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(100, 301)), int(rng.integers(3, 11))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    U *= rng.lognormal(0.0, 0.4, (n, 1))
    depth = (rng.uniform(1.5, 3.0) * edge(U @ V.T) / weakest(U, V)) ** 2
    U, V = np.sqrt(depth) * U, np.sqrt(depth) * V
    M = U @ V.T
    return Instance(counts(M, rng), rank, U, V, f"mean count {M.mean():.2g}")
