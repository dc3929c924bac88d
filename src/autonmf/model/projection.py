"""New rows onto given components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autonmf._threads import each
from autonmf._types import Array
from autonmf.data import Data, to_unit_scale
from autonmf.data.blocks import row_blocks
from autonmf.data.spread import kept, rowwise
from autonmf.model.nnls import solve_nnls
from autonmf.model.nnls_each import solve_nnls_each
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
    if not scaled.complete:
        W, loss = _on_known(scaled, V)
        return Projection(W * np.asarray(scale / size, dtype=W.dtype), loss * scale**2)
    product, gram_V = scaled.right(V), gram(V)
    W = kept(rowwise(solve_nnls, product, gram_V))
    inner = float(np.sum(W * product, dtype=np.float64))
    loss = loss_from(scaled, W, V, inner, gram(W), gram_V) * scale**2
    return Projection(W * np.asarray(scale / size, dtype=W.dtype), loss)


def _on_known(data: Data, V: Array) -> Projection:
    """The same where entries are missing or weighted: Gᵢ = Vᵀ diag(ωᵢ) V is another one in each row."""
    m, rank = V.shape
    columns = V.astype(np.float64)
    pairs = (columns[:, :, None] * columns[:, None, :]).reshape(m, rank * rank)
    product = data.right(V).astype(np.float64)

    def solved(some: slice) -> Array:
        grams = (data.omega(some) @ pairs).reshape(-1, rank, rank)
        return solve_nnls_each(product[some], grams)

    blocks = row_blocks((data.shape[0], max(m, rank * rank)))
    W = np.asfortranarray(np.concatenate(each(solved, blocks)), dtype=np.result_type(data.dtype, V))
    return Projection(W, 0.5 * data.squared_residual(W, V))
