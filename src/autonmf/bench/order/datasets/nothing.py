"""Pure noise. Its mean is constant, a component like any other: the truth is one."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn

HARD = "there is nothing beyond the mean, and the loss still falls at every rank"


def constant(X: np.ndarray, mean: float, note: str) -> Instance:
    """Noise around a constant mean."""
    n, m = X.shape
    return Instance(X, 1, np.ones((n, 1)), np.full((m, 1), mean), note)


def shape(rng: Generator) -> tuple[int, int]:
    """Sizes from 80 to 400."""
    return int(rng.integers(80, 401)), int(rng.integers(80, 401))


@drawn("nothing-uniform", "synthetic", hard=HARD)
def uniform(rng: Generator) -> Instance:
    """Independent entries, uniform in [0, 1]."""
    return constant(rng.random(shape(rng)), 0.5, "uniform")


@drawn("nothing-poisson", "synthetic", hard=HARD)
def poisson(rng: Generator) -> Instance:
    """Independent Poisson counts of one mean, between 1 and 10."""
    size, mean = shape(rng), rng.uniform(1.0, 10.0)
    return constant(rng.poisson(mean, size).astype(np.float64), mean, f"Poisson of mean {mean:.1f}")
