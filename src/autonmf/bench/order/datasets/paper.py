"""The 24 configurations of the paper's Table 1."""

from __future__ import annotations

from functools import partial
from itertools import product

from autonmf.bench.order.family import Family, Instance, register
from autonmf.datasets import make_low_rank

SIZES = ((1000, 400), (1000, 800), (3000, 1000), (3000, 2000), (5000, 3000), (5000, 4000))
NOISES = (0.1, 0.3)
RANKS = (10, 20)


def table1(n: int, m: int, noise: float, rank: int, seed: int) -> Instance:
    """max(0, U Vᵀ + σE) with half-normal factors; the seed is that of `make_low_rank`."""
    X, U, V = make_low_rank(n, m, rank, noise, random_state=seed)
    return Instance(X, rank, U, V, f"noise {noise:g}")


for (n, m), noise, rank in product(SIZES, NOISES, RANKS):
    register(
        Family(
            f"paper-{n}x{m}-{noise:g}-r{rank}",
            "paper",
            partial(table1, n, m, noise, rank),
            "easy: components of equal energy, far above the noise",
            large=n > 1000,
        )
    )
