"""Readings of "a random nonnegative starting point", which the paper does not specify."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array

STARTS = ("least squares", "uniform", "uniform / 100", "normal", "nndsvd", "nndsvda")
"""Uniform of the scale of X; uniform(0, 1); a hundredth of it; max(0, N(0, 1)); two from the SVD."""

ROLE = 7
"""Added to a seed for the start: the data are drawn from the seed itself."""


def init_of(start: str, shape: tuple[int, int], rank: int, seed: int) -> Any:
    """What `rank_path` takes as ``init``."""
    if start == "least squares":
        return "random"
    if start in ("nndsvd", "nndsvda"):
        return start
    return random_start(start, shape, rank, seed)


def random_start(start: str, shape: tuple[int, int], rank: int, seed: int) -> tuple[Array, Array]:
    """(U⁰, V⁰) of one of the laws."""
    rng = np.random.default_rng([seed, ROLE])
    if start == "normal":
        U, V = (np.maximum(rng.standard_normal((length, rank)), 0.0) for length in shape)
    elif start in ("uniform", "uniform / 100"):
        U, V = (rng.random((length, rank)) for length in shape)
        if start != "uniform":
            U, V = 0.01 * U, 0.01 * V
    else:
        raise ValueError(f"unknown start {start!r}; choose one of {', '.join(STARTS)}")
    return np.asfortranarray(U), np.asfortranarray(V)
