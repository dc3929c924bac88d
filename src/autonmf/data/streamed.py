"""X in a file, read a block of rows at a time and never loaded as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from autonmf._types import Array, cached_property
from autonmf.data.complete import Complete
from autonmf.data.dense import Dense
from autonmf.data.rowwise import RowWise
from autonmf.data.sparse import SPARSE_COST, Sparse
from autonmf.data.stores import Lines

BLOCK_ENTRIES = 1 << 22
"""Entries of a block: 32 MB in double precision, enough for reading to be fast."""


class Streamed(RowWise, Complete):
    """The lines of an HDF5 or zarr array, of a backed AnnData matrix, of a memory map of integers."""

    block_entries = BLOCK_ENTRIES
    parallel = False  # HDF5 lets one thread read at a time; products of a block are parallel

    def __init__(self, source: Lines, dtype: np.dtype[np.floating], scale: float = 1.0) -> None:
        super().__init__((int(source.shape[0]), int(source.shape[1])), dtype)
        self.source = source
        self.scale = scale  # what entries are divided by

    def block(self, some: slice) -> Any:
        values: Any = self.source[some]
        values = values if sparse.issparse(values) else np.asarray(values)
        values = values.astype(self.dtype, copy=False)
        return values if self.scale == 1.0 else values / np.asarray(self.scale, dtype=self.dtype)

    def rows(self, some: slice) -> Array:
        return _array(self.block(some))

    @property
    def cost(self) -> float:
        return super().cost if self.source.nnz is None else SPARSE_COST * float(self.source.nnz)

    def right(self, V: Array) -> Array:
        return np.asfortranarray(np.concatenate(self.over(lambda b: self._piece(b).right(V))))

    def left(self, U: Array) -> Array:
        return self.summed(lambda b: self._piece(b).left(np.asfortranarray(U[b])))

    def _piece(self, some: slice) -> Dense | Sparse:
        block = self.block(some)
        return Dense(block) if isinstance(block, np.ndarray) else Sparse(block.tocsr())

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest entry; NaN if there is one."""
        return self._survey[:2]

    @property
    def _squared_norm(self) -> float:  # found in the same pass as the extremes
        return self._survey[2]

    @cached_property
    def _survey(self) -> tuple[float, float, float]:
        """Minimum, maximum and sum of squares, in one pass over the file."""

        def one(b: slice) -> tuple[float, float, float]:
            piece = self._piece(b)
            with np.errstate(over="ignore", invalid="ignore"):  # as_data says what is wrong
                return *piece.extremes, piece.squared_norm()

        lows, highs, squares = zip(*self.over(one), strict=True)
        return float(np.min(lows)), float(np.max(highs)), float(sum(squares))

    def divided(self, scale: float) -> Streamed:
        return Streamed(self.source, self.dtype, self.scale * scale)


def _array(block: Any) -> Array:
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())
