"""Catalogues of mutations: signatures over 96 channels, counts for each tumour."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import counts

CHANNELS = 96


@drawn(
    "signatures",
    "semi",
    hard="Poisson counts, tumours with many more mutations than others, one flat signature",
)
def signatures(rng: Generator) -> Instance:
    """Three to ten signatures, one of them flat, each active in 30 to 60 % of 100 to 500 tumours.

    A spiky signature has most of its weight in five to fifteen channels, as most of the published ones do.
    """
    samples, rank = int(rng.integers(100, 501)), int(rng.integers(3, 11))
    spiky = rng.dirichlet(np.full(CHANNELS, rng.uniform(0.08, 0.2)), rank - 1)
    V = np.vstack([spiky, rng.dirichlet(np.full(CHANNELS, 3.0))]).T
    burden = rng.uniform(1500.0, 4000.0)
    active = rng.random((samples, rank)) < rng.uniform(0.3, 0.6, rank)
    active[np.arange(samples), rng.integers(rank, size=samples)] = True
    U = (
        burden
        / rank
        * active
        * rng.lognormal(0.0, 0.7, (samples, rank))
        * rng.lognormal(0.0, 0.3, (samples, 1))
    )
    return Instance(counts(U @ V.T, rng), rank, U, V, f"about {U.sum(axis=1).mean():.0f} mutations a tumour")
