"""Many samples of few features."""

from __future__ import annotations

from autonmf.bench.order.factors import Generator, half_normal
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import bounded, weakest


@drawn(
    "tall",
    "synthetic",
    hard="few features: max_rank is near, and one more component adds as many unknowns as a row has",
    held_out=True,
)
def tall(rng: Generator) -> Instance:
    """Three to eight half-normal components in 30 to 50 features of 1000 to 1500 samples."""
    n, m, rank = int(rng.integers(1000, 1501)), int(rng.integers(30, 51)), int(rng.integers(3, 9))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"noise {sigma:.2g}")
