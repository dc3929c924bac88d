"""Components whose norms decay geometrically over one and a half to two decades."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator, half_normal, unit_columns
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import bounded, weakest


@drawn(
    "energies",
    "synthetic",
    hard="the last component has 1/1000 to 1/10000 of the energy of the first: no elbow",
)
def energies(rng: Generator) -> Instance:
    """Norms ‖U_j‖‖V_j‖ from 1 down to 10^-1.5 ... 10^-2; the weakest 2 to 4 times the edge of the noise."""
    n, m, rank = int(rng.integers(200, 401)), int(rng.integers(150, 301)), int(rng.integers(4, 9))
    decades = rng.uniform(1.5, 2.0)
    norms = np.sqrt(n * m) * 10.0 ** -np.linspace(0.0, decades, rank)
    U, V = unit_columns(half_normal(n, rank, rng)) * norms, unit_columns(half_normal(m, rank, rng))
    sigma = weakest(U, V) / (rng.uniform(2.0, 4.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"{decades:.1f} decades, noise {sigma:.2g}")
