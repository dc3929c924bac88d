"""Pure noise: the absolute value of a standard normal."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.datasets.nothing import HARD, constant, shape
from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn


@drawn("nothing-normal", "synthetic", hard=HARD, held_out=True)
def normal(rng: Generator) -> Instance:
    """Independent entries |N(0, 1)|."""
    return constant(np.abs(rng.standard_normal(shape(rng))), float(np.sqrt(2.0 / np.pi)), "absolute normal")
