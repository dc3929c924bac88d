"""Numbers about X, from a few passes over it; a sparse X is never made dense."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.blocks import row_blocks
from autonmf.data.masked_sparse import MaskedSparse
from autonmf.data.rowwise import Turned

MOST_HASHED = 2_000_000
"""Rows among which repetitions are looked for, at most."""

MOST_SORTED = 1_000_000
"""Entries that are looked at together, and that a median is taken of."""


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
    repeated_rows: int | None  # rows that came before; None where there are too many to look
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
    entries, sparse = _entries(data)
    missing = 0 if data.complete else _missing(data)
    smallest, whole = _positive_entries(entries)
    rows, columns = data.squares(np.ones(m)), data.T.squares(np.ones(n))
    return Survey(
        shape=(n, m),
        sparse=sparse,
        dtype=str(data.dtype),
        zeros=n * m - missing - int(np.count_nonzero(entries)),
        smallest=smallest,
        median=_median(entries),
        largest=float(entries.max()),
        at_largest=int(np.count_nonzero(entries == entries.max())),
        whole=whole,
        zero_rows=int(np.count_nonzero(rows == 0)),
        zero_columns=int(np.count_nonzero(columns == 0)),
        repeated_rows=_repeated(data, rows) if n <= MOST_HASHED else None,
        row_energies=rows,
        column_energies=columns,
        missing=missing,
    )


def _entries(data: Any) -> tuple[Array, bool]:
    """The entries of X that are stored, with zeros for missing ones; and whether it is stored sparse."""
    if isinstance(data, MaskedSparse):
        return data.known.X.data, True
    matrix: Any = data.T if isinstance(data, Turned) else data
    stored = matrix.X
    return (stored, False) if isinstance(stored, np.ndarray) else (stored.data, True)


def _missing(data: Data) -> int:
    return sum(int(np.count_nonzero(data.omega(b) == 0)) for b in row_blocks(data.shape))


def _positive_entries(entries: Array) -> tuple[float, bool]:
    """The smallest positive entry, and whether all entries are whole numbers."""
    flat = entries.ravel(order="K")
    smallest, whole = np.inf, True
    for start in range(0, flat.size, MOST_SORTED):
        some = flat[start : start + MOST_SORTED]
        smallest = min(smallest, float(np.min(some, where=some > 0, initial=np.inf)))
        whole = whole and bool(np.equal(np.floor(some), some).all())
    return smallest, whole


def _median(entries: Array) -> float:
    """Of the positive entries; of an even selection of them where there are many."""
    positive = entries[entries > 0]
    return float(np.median(positive[:: max(positive.size // MOST_SORTED, 1)]))


def _repeated(data: Data, squares: Array) -> int:
    """Rows equal to an earlier one; only rows of equal norm are compared, and zero rows are not counted."""
    _, group, sizes = np.unique(squares, return_inverse=True, return_counts=True)
    suspects = (sizes[group] > 1) & (squares > 0)
    seen: set[bytes] = set()
    repeated = 0
    for block in row_blocks(data.shape):
        where = np.flatnonzero(suspects[block])
        if not where.size:
            continue
        for row in np.ascontiguousarray(data.rows(block)[where]):
            key = blake2b(row.tobytes(), digest_size=16).digest()
            repeated += key in seen
            seen.add(key)
    return repeated
