"""X in a few blocks of rows, each contiguous in memory, for losses that read every entry at every step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.dense import Dense
from autonmf.data.masked import Masked, MaskedSparse
from autonmf.data.protocol import Data, RowBlocks, is_sparse, row_blocks
from autonmf.data.scaling import Scaling, split_scaling
from autonmf.data.sparse import Sparse

COUNT, ENTRIES = 16, 1 << 14
"""Maximum number of blocks, and minimum number of entries per block: with fewer, threads do not pay."""


class InBlocks(RowBlocks):
    """A copy of the scaled rows as CSR matrices or C-ordered arrays, in the precision of the search."""

    def __init__(self, X: Any, weights: Array | Masked | MaskedSparse | None) -> None:
        self.shape = X.shape[0], X.shape[1]
        self.dtype = X.dtype
        self.sparse = is_sparse(X)
        self.complete = weights is None
        self._weights = weights
        rows = X.indptr.astype(np.int64) if self.sparse else X.shape[1] * np.arange(len(X) + 1)
        # Blocks have about equally many entries, and depend on X alone.
        count = min(COUNT, 1 + int(rows[-1]) // ENTRIES)
        ends = np.searchsorted(rows, np.linspace(0, rows[-1], count + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], ends, [self.shape[0]]]))
        self._rows = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self._parts = {rows.start: _cut(X, rows) for rows in self._rows}

    @property
    def blocks(self) -> list[slice]:
        return self._rows

    def read(self, rows: slice) -> Any:
        return self._parts[rows.start]

    def read_weights(self, rows: slice) -> Array | None:
        if self._weights is None:
            return None
        if isinstance(self._weights, np.ndarray):
            return self._weights[rows]
        return self._weights.read_weights(rows)


def cut_into_blocks(data: Data, dtype: Any) -> tuple[InBlocks, InBlocks] | None:
    """Scaled data by rows and by columns; None if X is not in memory."""
    inner, scaling = split_scaling(data)
    if isinstance(inner, Sparse):
        X = _divide(inner, scaling, dtype)
        return InBlocks(X.tocsr(), None), InBlocks(X.T.tocsr(), None)
    if isinstance(inner, MaskedSparse):
        X = _divide(inner.known, scaling, dtype)
        return InBlocks(X.tocsr(), inner), InBlocks(X.T.tocsr(), inner.T)
    if not isinstance(inner, Dense | Masked):
        return None
    X = np.empty(inner.shape, dtype=dtype)
    for part in row_blocks(inner.shape):
        a = scaling.a[part] if np.ndim(scaling.a) else scaling.a
        X[part] = inner.X[part] / a / np.asarray(scaling.b).T
    weights = None if isinstance(inner, Dense) else np.ascontiguousarray(inner.weights)
    columns = None if weights is None else np.ascontiguousarray(weights.T)
    return InBlocks(X, weights), InBlocks(np.ascontiguousarray(X.T), columns)


def _cut(X: Any, rows: slice) -> Any:
    """Rows of X, as a view."""
    if not is_sparse(X):
        return X[rows]
    a, b = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
    part = type(X)((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[a:b], X.indices[a:b]  # the constructor would copy short slices
    part.indptr = X.indptr[rows.start : rows.stop + 1] - X.indptr[rows.start]
    return part


def _divide(sparse: Sparse, scaling: Scaling, dtype: Any) -> Any:
    """A scaled sparse X in the same format, which shares the indices of X unless X stores zeros."""
    X = sparse.divide(scaling.a, scaling.b, dtype).X
    if (X.data == 0).any():
        X = X.copy()
        X.eliminate_zeros()
    return X
