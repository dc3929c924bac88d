"""A matrix of 60 x 40."""

from __future__ import annotations

from autonmf.bench.order.factors import Generator, half_normal
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import bounded, weakest


@drawn("small", "synthetic", hard="few entries: the noise alone explains sizeable drops of the loss")
def small(rng: Generator) -> Instance:
    """Two to six half-normal components, the weakest two to four times the edge of the noise."""
    n, m, rank = 60, 40, int(rng.integers(2, 7))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    sigma = weakest(U, V) / (rng.uniform(2.0, 4.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"noise {sigma:.2g}")
