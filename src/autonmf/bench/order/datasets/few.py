"""One, two or three components."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator, half_normal
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import bounded


@drawn("few", "synthetic", hard="one is an answer, too: rules that look at a change of slope cannot give it")
def few(rng: Generator) -> Instance:
    """One to three components, noise of a tenth to a half of the root mean square of the signal."""
    n, m, rank = int(rng.integers(80, 401)), int(rng.integers(80, 401)), int(rng.integers(1, 4))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    M = U @ V.T
    share = rng.uniform(0.1, 0.5)
    return Instance(
        bounded(M, share * np.sqrt(np.mean(M**2)), rng), rank, U, V, f"relative noise {share:.2f}"
    )
