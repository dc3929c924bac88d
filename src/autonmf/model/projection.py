"""New rows onto given components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.model.nnls import solve_nnls
from autonmf.model.objective import gram, loss_from


class Projection(NamedTuple):
    """Nonnegative weights of given components, and what they leave."""

    W: Array
    loss: float  # ½‖X - W Vᵀ‖²


def project(data: Data, V: Array) -> Projection:
    """W ≥ 0 minimising ‖X - W Vᵀ‖, row by row."""
    product, gram_V = data.right(V), gram(V)
    W = solve_nnls(product, gram_V)
    inner = float(np.sum(W * product, dtype=np.float64))
    return Projection(W, loss_from(data, W, V, inner, gram(W), gram_V))
