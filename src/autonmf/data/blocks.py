"""Row blocks of a bounded number of entries."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_ENTRIES = 1 << 20
"""Entries of a temporary block: 8 MB in double precision."""


def row_blocks(shape: tuple[int, int], entries: int = BLOCK_ENTRIES) -> Iterator[slice]:
    """Slices of consecutive rows, each with at most about ``entries`` entries."""
    n, m = shape
    rows = max(1, entries // max(1, m))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))
