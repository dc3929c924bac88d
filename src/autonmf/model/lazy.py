"""Projections of a Dask array that are computed when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import as_rows
from autonmf.data.spread import aligned, in_row_chunks
from autonmf.model.projection import project


def lazy_projection(X: Any, V: Array) -> Any:
    """W ≥ 0 minimising ‖X - W Vᵀ‖ as a Dask array, in the chunks of rows of X."""
    X = in_row_chunks(X)
    dtype = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
    return X.map_blocks(
        projected,
        np.asfortranarray(V, dtype=dtype),
        dtype=dtype,
        chunks=(X.chunks[0], (V.shape[1],)),
        meta=np.empty((0, 0), dtype=dtype),
    )


def projected(X: Any, V: Array) -> Array:
    """The same for one chunk: rows that are unfit are refused as anywhere else."""
    if X.shape[0] == 0:
        return np.empty((0, V.shape[1]), dtype=V.dtype)
    return np.ascontiguousarray(project(as_rows(aligned(X)), aligned(V)).W, dtype=V.dtype)
