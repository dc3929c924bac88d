"""The paper's generator with few components and small sides."""

from __future__ import annotations

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.datasets import make_low_rank


@drawn(
    "clipped",
    "synthetic",
    hard="some rows have no component at all: what noise leaves there after clipping has a mean of its own",
)
def clipped(rng: Generator) -> Instance:
    """Two to eight components of the paper, noise of 0.02 to 0.3."""
    n, m = int(rng.integers(40, 400)), int(rng.integers(30, 200))
    rank, noise = int(rng.integers(2, 9)), float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.3]))
    X, U, V = make_low_rank(n, m, rank, noise, random_state=rng)
    return Instance(X, rank, U, V, f"noise {noise:g}")
