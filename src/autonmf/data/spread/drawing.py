"""Random rows that do not depend on where they are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.protocol import Data
from autonmf.data.spread.rows import Node, Rows
from autonmf.data.spread.tall import workers_of
from autonmf.data.spread.workers import BOUNDS

STEPPING = (np.random.PCG64, np.random.PCG64DXSM)
"""Generators that can be put forward by a number of draws."""


def random_rows(data: Data, rank: int, rng: np.random.Generator) -> Any:
    """N x rank uniform numbers, component by component, beside the rows of X.

    A worker puts the generator forward to its own part of the stream: the numbers are those that one array
    would have.
    """
    n, _ = data.shape
    workers = workers_of(data)
    if workers is None:
        return rng.random((rank, n)).T
    source = rng.bit_generator
    if not isinstance(source, STEPPING):
        source = np.random.PCG64(int(rng.integers(2**63)))
    args = (BOUNDS, source.state, n, rank, np.dtype(data.dtype))
    rows = Rows(Node(workers, _drawn, args, (rank,), np.dtype(data.dtype), keep=True))
    source.advance(rank * n)
    return rows


def _drawn(bounds: tuple[int, int], state: Any, n: int, rank: int, dtype: Any) -> Array:
    start, stop = bounds
    drawn = np.empty((stop - start, rank), dtype=dtype, order="F")
    for j in range(rank):
        source = getattr(np.random, state["bit_generator"])()
        source.state = state
        source.advance(j * n + start)
        drawn[:, j] = np.random.Generator(source).random(stop - start)
    return drawn
