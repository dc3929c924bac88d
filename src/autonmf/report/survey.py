"""Numbers about X, from a few passes over it; a sparse X is never made dense, one in a file never loaded."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.blocks import BLOCK_ENTRIES, row_blocks
from autonmf.data.rowwise import Turned
from autonmf.data.spread import is_spread
from autonmf.data.streamed import Streamed
from autonmf.report.tally import tally_of

MOST_HASHED = 2_000_000
"""Rows among which repetitions are looked for, at most."""


@dataclass(frozen=True)
class Survey:
    """What there is to know about a nonnegative n x m matrix."""

    shape: tuple[int, int]
    sparse: bool  # stored sparse
    dtype: str
    zeros: int
    smallest: float  # positive entry
    median: float  # of the positive entries
    largest: float
    at_largest: int  # entries equal to the largest
    whole: bool  # integers only
    zero_rows: int
    zero_columns: int
    repeated_rows: int | None  # rows that came before; None where they were not looked for
    row_energies: Array  # squared norms
    column_energies: Array
    missing: int = 0  # entries that are not known, and are not counted above

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def zero_share(self) -> float:
        """The share of the entries that are zero."""
        return self.zeros / self.size

    @property
    def binary(self) -> bool:
        """Whether there are only zeros and one other value."""
        return self.smallest == self.largest


def survey(data: Data) -> Survey:
    """Look at every entry of X."""
    n, m = data.shape
    missing = 0 if data.complete else _missing(data)
    found = tally_of(data)
    rows, columns = data.squares(np.ones(m)), data.column_squares(np.ones(n))
    return Survey(
        shape=(n, m),
        sparse=found.sparse,
        dtype=str(data.dtype),
        zeros=n * m - missing - found.nonzero,
        smallest=found.smallest,
        median=float(np.median(found.positive)),
        largest=found.largest,
        at_largest=found.at_largest,
        whole=found.whole,
        zero_rows=int(np.count_nonzero(rows == 0)),
        zero_columns=int(np.count_nonzero(columns == 0)),
        repeated_rows=_repeated(data, rows) if _rows_at_hand(data) else None,
        row_energies=rows,
        column_energies=columns,
        missing=missing,
    )


def _missing(data: Data) -> int:
    return sum(int(np.count_nonzero(data.omega(b) == 0)) for b in row_blocks(data.shape))


def _rows_at_hand(data: Data) -> bool:
    """Whether a few rows can be read by themselves; of a file by columns all of it would be, every time."""
    by_columns = isinstance(data, Turned) and isinstance(data.T, Streamed)
    return data.shape[0] <= MOST_HASHED and not by_columns and not is_spread(data)


def _repeated(data: Data, squares: Array) -> int:
    """Rows equal to an earlier one; only rows of equal norm are compared, and zero rows are not counted."""
    _, group, sizes = np.unique(squares, return_inverse=True, return_counts=True)
    suspects = (sizes[group] > 1) & (squares > 0)
    seen: set[bytes] = set()
    repeated = 0
    for block in row_blocks(data.shape, data.block_entries if isinstance(data, Streamed) else BLOCK_ENTRIES):
        where = np.flatnonzero(suspects[block])
        if not where.size:
            continue
        for row in np.ascontiguousarray(data.rows(block)[where]):
            key = blake2b(row.tobytes(), digest_size=16).digest()
            repeated += key in seen
            seen.add(key)
    return repeated
