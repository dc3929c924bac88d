"""New rows onto given components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data import Data, to_unit_scale
from autonmf.model.nnls import solve_nnls
from autonmf.model.objective import gram, loss_from


class Projection(NamedTuple):
    """Nonnegative weights of given components, and what they leave."""

    W: Array
    loss: float  # ½‖X - W Vᵀ‖²


def project(data: Data, V: Array) -> Projection:
    """W ≥ 0 minimising ‖X - W Vᵀ‖, row by row; computed at unit scale, where nothing overflows."""
    if data.squared_norm() == 0.0:
        return Projection(np.zeros((data.shape[0], V.shape[1]), dtype=data.dtype), 0.0)
    scaled, scale = to_unit_scale(data)
    size = max(float(V.max()), float(np.finfo(V.dtype).tiny))
    V = np.asfortranarray(V / np.asarray(size, dtype=V.dtype))
    product, gram_V = scaled.right(V), gram(V)
    W = solve_nnls(product, gram_V)
    inner = float(np.sum(W * product, dtype=np.float64))
    loss = loss_from(scaled, W, V, inner, gram(W), gram_V) * scale**2
    return Projection(W * np.asarray(scale / size, dtype=W.dtype), loss)
