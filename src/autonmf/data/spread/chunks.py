"""From a Dask array to blocks of rows on the workers."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data.blocks import squared_sum
from autonmf.data.spread.program import Piece, aligned

LARGE_BLOCK = 1 << 29
"""Bytes (as if dense): chunks are joined until a block has as many ..."""

FEW_BLOCKS = 4
"""... or this share of X: a task costs the scheduler the same, however small it is."""


class Survey(NamedTuple):
    """What one pass over a block tells."""

    rows: int
    lowest: float
    highest: float
    squared_norm: float
    stored: int | None  # entries, if sparse

    @staticmethod
    def of(parts: list[Survey]) -> Survey:
        """Of all blocks together; the smallest and the largest entry are NaN if there is one."""
        sparse_ones = [part.stored for part in parts if part.stored is not None]
        return Survey(
            sum(part.rows for part in parts),
            float(np.min([part.lowest for part in parts])),
            float(np.max([part.highest for part in parts])),
            sum(part.squared_norm for part in parts),
            sum(sparse_ones) if sparse_ones else None,
        )


def in_row_chunks(X: Any) -> Any:
    """The array in chunks that have all columns."""
    if any(math.isnan(size) for size in X.chunks[1]):
        raise ValueError(
            "the number of columns of X is not known: call X.compute_chunk_sizes() first, or rebuild X with "
            "known columns"
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def joined(lengths: tuple[float, ...], m: int, itemsize: int) -> list[slice]:
    """Which chunks make a block, by their sizes alone. Chunks of unknown length stay as they are."""
    if any(math.isnan(length) for length in lengths):
        return [slice(i, i + 1) for i in range(len(lengths))]
    enough = min(LARGE_BLOCK / (m * itemsize), sum(lengths) / FEW_BLOCKS)
    cuts, rows = [0], 0.0
    for i, length in enumerate(lengths):
        rows += length
        if rows >= enough:
            cuts.append(i + 1)
            rows = 0.0
    if rows > 0:
        cuts = [*cuts[:-1], len(lengths)] if len(cuts) > 1 else [0, len(lengths)]
    return [slice(*cut) for cut in pairwise(cuts)]


def load(parts: list[Any], dtype: Any) -> Piece:
    """A block from its chunks, and what there is to know about it."""
    X: Any = _sparse(parts, dtype) if any(map(sparse.issparse, parts)) else _dense(parts, dtype)
    stored = None if isinstance(X, np.ndarray) else int(X.nnz)
    entries = X if stored is None else X.data
    with np.errstate(over="ignore", invalid="ignore"):  # whoever asked says what is wrong
        lowest, highest = (float(f(entries)) if entries.size else 0.0 for f in (np.min, np.max))
        survey = Survey(X.shape[0], lowest, highest, squared_sum(entries), stored)
    return (X,), (survey,)


def _dense(parts: list[Any], dtype: Any) -> Array:
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise TypeError(
            "X has chunks that are masked arrays, and their masks would be ignored: fill them first"
        )
    whole = np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)
    return np.require(whole, dtype, ["C", "A"])


def _sparse(parts: list[Any], dtype: Any) -> Any:
    whole = sparse.csr_matrix(parts[0]) if len(parts) == 1 else sparse.vstack(parts, format="csr")
    whole = aligned(whole.astype(dtype, copy=False))
    if not whole.has_canonical_format:
        whole = whole.copy()
        whole.sum_duplicates()
    return whole
