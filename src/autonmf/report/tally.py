"""What is counted over the entries of X: block by block, wherever the blocks are, and put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.masked_sparse import MaskedSparse
from autonmf.data.rowwise import as_it_lies
from autonmf.data.spread import Tall, each_block
from autonmf.data.streamed import Streamed

MOST_SORTED = 1_000_000
"""Entries in memory that are looked at together, and about as many that a median is taken of."""


@dataclass(frozen=True)
class Tally:
    """Counts over some entries; those that are not stored are zeros."""

    nonzero: int
    smallest: float  # positive entry
    largest: float
    at_largest: int  # entries equal to the largest
    whole: bool  # integers only
    positive: Array  # an even selection of the positive entries
    sparse: bool  # stored sparse


def tally_of(data: Data) -> Tally:
    """Over all of X. What lies in a file or on a cluster is read a block of rows at a time."""
    matrix: Any = as_it_lies(data)
    n, m = data.shape
    every = max(n * m // MOST_SORTED, 1)
    if isinstance(matrix, Tall):
        return together(each_block(tally, matrix.X, every))
    if isinstance(matrix, Streamed):
        return together(matrix.over(lambda b: tally(matrix.block(b), every)))
    stored = matrix.known.X if isinstance(matrix, MaskedSparse) else matrix.X
    entries = _entries(stored).ravel(order="K")
    every = max(entries.size // MOST_SORTED, 1)
    return together([tally(some, every, sparse.issparse(stored)) for some in _parts(entries)])


def tally(block: Any, every: int, stored_sparse: bool = False) -> Tally:
    """Over one block, an array or a sparse matrix; one positive entry out of ``every`` is kept."""
    entries = _entries(block)
    positive = entries[entries > 0]
    largest = float(positive.max(initial=0.0))
    return Tally(
        nonzero=positive.size,
        smallest=float(positive.min(initial=np.inf)),
        largest=largest,
        at_largest=int(np.count_nonzero(positive == largest)),
        whole=bool(np.equal(np.floor(positive), positive).all()),
        positive=positive[::every].copy(),
        sparse=stored_sparse or sparse.issparse(block),
    )


def together(parts: list[Tally]) -> Tally:
    """The tally of all parts."""
    largest = max(part.largest for part in parts)
    return Tally(
        nonzero=sum(part.nonzero for part in parts),
        smallest=min(part.smallest for part in parts),
        largest=largest,
        at_largest=sum(part.at_largest for part in parts if part.largest == largest),
        whole=all(part.whole for part in parts),
        positive=np.concatenate([part.positive for part in parts]),
        sparse=any(part.sparse for part in parts),
    )


def _entries(block: Any) -> Array:
    """Those that are stored."""
    return np.asarray(block if isinstance(block, np.ndarray) else block.data)


def _parts(entries: Array) -> Iterator[Array]:
    for start in range(0, entries.size, MOST_SORTED):
        yield entries[start : start + MOST_SORTED]
