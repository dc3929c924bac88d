"""Random factors that several families share."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array

Generator = np.random.Generator


def half_normal(size: int, rank: int, rng: Generator) -> Array:
    """max(0, N(0, 1)): the paper's factors, half their entries zero. Every row has a positive entry."""
    factor = np.maximum(rng.standard_normal((size, rank)), 0.0)
    empty = np.flatnonzero(factor.sum(axis=1) == 0)
    factor[empty, rng.integers(rank, size=len(empty))] = np.abs(rng.standard_normal(len(empty))) + 0.1
    return factor


def thinned(size: int, rank: int, share: float, rng: Generator, *, least: int = 5) -> Array:
    """Positive entries in [½, 3/2], a given share of each column, the others zero."""
    kept = rng.random((size, rank)) < share
    for j in range(rank):
        kept[rng.choice(size, min(least, size), replace=False), j] = True
    return kept * rng.uniform(0.5, 1.5, (size, rank))


def mixtures(size: int, rank: int, concentration: float, rng: Generator) -> Array:
    """Rows on the simplex, from a symmetric Dirichlet law; small concentration: nearly pure rows."""
    return rng.dirichlet(np.full(rank, concentration), size)


def unit_columns(factor: Array) -> Array:
    """The factor with columns of unit norm."""
    scaled: Array = factor / np.linalg.norm(factor, axis=0)
    return scaled
