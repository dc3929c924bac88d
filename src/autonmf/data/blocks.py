"""Ranges of rows, fixed by the shape alone, and sums over them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autonmf._types import Array

BLOCK_ENTRIES = 1 << 18
"""Entries of a temporary block: 2 MB in double precision."""

BLOCKS = 8
"""Blocks of a large product: enough to keep a few threads busy, few enough to be large."""


def row_blocks(shape: tuple[int, int], entries: int = BLOCK_ENTRIES) -> Iterator[slice]:
    """Consecutive rows, each range with at most about ``entries`` entries."""
    n, m = shape
    rows = max(1, entries // max(1, m))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def even_blocks(n: int, count: int = BLOCKS) -> Iterator[slice]:
    """At most ``count`` ranges of consecutive rows of nearly equal length."""
    count = min(count, n)
    for i in range(count):
        yield slice(i * n // count, (i + 1) * n // count)


def squared_sum(block: Array) -> float:
    """The sum of squares, accumulated in double precision."""
    flat = block.ravel(order="K").astype(np.float64, copy=False)
    return float(np.dot(flat, flat))
