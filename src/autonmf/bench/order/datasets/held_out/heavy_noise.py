"""Noise so strong that most of the energy of X is noise."""

from __future__ import annotations

from autonmf.bench.order.factors import Generator, half_normal
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import edge, overdispersed, weakest


@drawn(
    "heavy-noise",
    "synthetic",
    hard="the weakest component barely rises above the edge of the noise",
    held_out=True,
)
def heavy_noise(rng: Generator) -> Instance:
    """Three to ten components, the weakest 1.1 to 1.6 times the spectral norm of the noise.

    (`edge` takes the strongest row and column for all, and is about 1.4 times that norm here.) The noise has
    mean zero: additive noise of this size, clipped, would be a component of its own.
    """
    n, m, rank = int(rng.integers(200, 501)), int(rng.integers(200, 401)), int(rng.integers(3, 11))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    M = U @ V.T
    scale = (weakest(U, V) / (rng.uniform(0.75, 1.05) * edge(M))) ** 2
    return Instance(overdispersed(M, scale, rng), rank, U, V, f"variance {scale:.2g} times the mean")
