"""Gene programmes in single cells."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.bench.order.factors import Generator, mixtures
from autonmf.bench.order.family import Instance, drawn

TARGET = 1e4  # counts of every cell after scaling
PURE = 200  # cells that show what a programme looks like


@drawn(
    "cells",
    "semi",
    hard="most counts are zero, all programmes share a background, and the logarithm bends mixtures",
    held_out=True,
)
def cells(rng: Generator) -> Instance:
    """Four to twelve programmes over 500 to 1000 genes in 400 to 900 cells.

    Gamma-Poisson counts, each cell scaled to 10,000 and log(1 + x) taken. A programme raises 5 % of the
    genes above the background. V is the mean of many pure cells after the same treatment, U the usage: the
    mean of X is U Vᵀ only as far as cells are pure, since the logarithm of a mixture is no mixture of
    logarithms.
    """
    size, genes, rank = int(rng.integers(400, 901)), int(rng.integers(500, 1001)), int(rng.integers(4, 13))
    background = rng.lognormal(0.0, 1.2, genes)
    raised = rng.random((rank, genes)) < 0.05
    programmes = background * np.where(raised, rng.lognormal(2.5, 0.5, (rank, genes)), 1.0)
    programmes /= programmes.sum(axis=1, keepdims=True)
    depth = rng.uniform(2000.0, 5000.0)
    usage = mixtures(size, rank, 0.06, rng)
    X = expression(usage @ programmes, depth, rng)
    pure = np.eye(rank).repeat(PURE, axis=0)
    V = expression(pure @ programmes, depth, rng).reshape(rank, PURE, genes).mean(axis=1).T
    return Instance(X, rank, usage, V, f"{np.mean(X == 0):.0%} zeros, {depth:.0f} counts a cell")


def expression(profiles: Array, depth: float, rng: Generator) -> Array:
    """Counts of cells with these profiles, scaled and log-transformed."""
    depths = rng.lognormal(np.log(depth), 0.35, (len(profiles), 1))
    counted = rng.poisson(rng.gamma(5.0, depths * profiles / 5.0))
    result: Array = np.log1p(TARGET * counted / np.maximum(counted.sum(axis=1, keepdims=True), 1))
    return result
