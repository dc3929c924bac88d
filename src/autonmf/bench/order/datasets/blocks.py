"""Images made of rectangles."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.images import presences, rectangle
from autonmf.bench.order.noise import bounded, weakest


@drawn("blocks", "semi", hard="rectangles overlap, and two of them may nearly be the same")
def blocks(rng: Generator) -> Instance:
    """Five to twenty rectangles in 300 to 700 images of 20 to 30 pixels squared."""
    images, side, rank = int(rng.integers(300, 701)), int(rng.integers(20, 31)), int(rng.integers(5, 21))
    V = np.array([rectangle(side, rng) for _ in range(rank)]).T
    U = presences(images, rank, rng.uniform(0.15, 0.35), rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (images**0.5 + side))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"generated parts, noise {sigma:.2g}")
