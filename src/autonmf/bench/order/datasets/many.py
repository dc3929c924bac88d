"""Thirty or forty components."""

from __future__ import annotations

from autonmf.bench.order.factors import Generator, half_normal
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import bounded, weakest


@drawn("many", "synthetic", hard="each component lowers the loss by a few hundredths, and the bound is near")
def many(rng: Generator) -> Instance:
    """Thirty or forty half-normal components, the weakest 1.5 to 3 times the edge of the noise."""
    n, m, rank = int(rng.integers(350, 601)), int(rng.integers(250, 401)), int(rng.choice([30, 40]))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"noise {sigma:.2g}")
