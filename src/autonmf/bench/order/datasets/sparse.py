"""Sparse factors: nine entries of ten are zero."""

from __future__ import annotations

from autonmf.bench.order.factors import Generator, thinned
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import speckle


@drawn(
    "sparse",
    "synthetic",
    hard="a component covers one entry of X in a hundred, and noise grows with the signal",
)
def sparse(rng: Generator) -> Instance:
    """Five to fifteen components, gamma noise of relative standard deviation 0.4 to 0.8."""
    n, m, rank = int(rng.integers(250, 501)), int(rng.integers(200, 401)), int(rng.integers(5, 16))
    U, V = thinned(n, rank, 0.1, rng), thinned(m, rank, 0.1, rng)
    spread = rng.uniform(0.4, 0.8)
    return Instance(speckle(U @ V.T, spread**-2, rng), rank, U, V, f"relative noise {spread:.2f}")
