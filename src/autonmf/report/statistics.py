"""Numbers about X, in a few passes over it: the only module of the report that reads the data.

Sparse matrices stay sparse, and what is in a file or on a cluster is read in blocks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from scipy import sparse

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Block, Data, Scaled, sums_of_squares
from autonmf.distributed import RowPartitioned

MAX_HASHED = 2_000_000
"""Repeated rows are not searched for if there are more rows than this."""

SAMPLE_SIZE = 1_000_000
"""About the number of entries from which the median is computed."""


@dataclass(frozen=True)
class Counts:
    """Counts over some entries; entries that are not stored are zero."""

    nonzero: int
    smallest: float  # positive entry
    largest: float
    at_largest: int  # number of entries equal to the largest
    integers: bool
    sample: Array  # evenly spaced positive entries
    sparse: bool  # stored as a sparse matrix


@dataclass(frozen=True)
class Statistics(Counts):
    """Statistics of a nonnegative n x m matrix."""

    shape: tuple[int, int]
    dtype: str
    row_energies: Array  # squared norms
    column_energies: Array
    repeated_rows: int | None  # rows equal to an earlier one; None if they were not searched for
    missing: int  # missing entries, which are not counted above

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def zeros(self) -> int:
        return self.size - self.missing - self.nonzero

    @property
    def zero_fraction(self) -> float:
        return self.zeros / self.size

    @property
    def zero_rows(self) -> int:
        return int(np.count_nonzero(self.row_energies == 0))

    @property
    def zero_columns(self) -> int:
        return int(np.count_nonzero(self.column_energies == 0))

    @property
    def median(self) -> float:
        """The median of the positive entries, or of a sample of them."""
        return float(np.median(self.sample))

    @property
    def binary(self) -> bool:
        """Whether the entries are zero and one other value."""
        return self.smallest == self.largest


def close_data(data: Data | None) -> None:
    """Release the workers that hold X, if there are any."""
    if isinstance(data, RowPartitioned):
        data.close()


def row_energies(data: Data) -> Array:
    """‖x_i‖² of every sample."""
    return np.asarray(sums_of_squares(data)[0])[:, 0]


def row_residuals(data: Data, U: Array, V: Array, energies: Array) -> Array:
    """‖x_i - V u_i‖² of every sample, given ‖x_i‖²."""
    U, V = (np.asarray(factor, dtype=float) for factor in (U, V))
    if not data.complete:
        return np.asarray(data.map_blocks(_square_residuals, U, V)[0])[:, 0]
    with one_pool():
        products = np.asarray(data.right(np.asfortranarray(V, dtype=data.dtype)), dtype=float)
        crossed = np.einsum("ij,ij->i", U, products)
        fitted = np.einsum("ij,ij->i", U @ (V.T @ V), U)
    return np.asarray(np.maximum(energies - 2.0 * crossed + fitted, 0.0))


def compute_statistics(data: Data) -> Statistics:
    """Read every entry of X."""
    rows, columns = (np.asarray(squares)[:, 0] for squares in sums_of_squares(data))
    searched = len(rows) <= MAX_HASHED and not _is_transposed(data)
    return Statistics(
        **vars(count_entries(data)),
        shape=data.shape,
        dtype=str(data.dtype),
        row_energies=rows,
        column_energies=columns,
        repeated_rows=_count_repeated(data, rows) if searched else None,
        missing=0 if data.complete else int(data.map_blocks(_count_missing, None)[1]),
    )


def count_entries(data: Data) -> Counts:
    """Counts over all of X."""
    if isinstance(data, Scaled) and _is_transposed(data):  # the same entries, which can be read
        data = data.flip()
    n, m = data.shape
    parts = data.map_blocks(_count_block, None, max(n * m // SAMPLE_SIZE, 1))[1]
    largest = max(part.largest for part in parts)
    return Counts(
        nonzero=sum(part.nonzero for part in parts),
        smallest=min(part.smallest for part in parts),
        largest=largest,
        at_largest=sum(part.at_largest for part in parts if part.largest == largest),
        integers=all(part.integers for part in parts),
        sample=np.concatenate([part.sample for part in parts]),
        sparse=any(part.sparse for part in parts),
    )


def _count_block(block: Block, _: None, every: int) -> tuple[None, list[Counts]]:
    """Counts over one block; every ``every``-th positive entry is sampled."""
    X = block.read()
    is_sparse = bool(sparse.issparse(X))
    entries = X.data if is_sparse else X
    positive = entries[entries > 0]
    largest = float(positive.max(initial=0.0))
    counts = Counts(
        nonzero=positive.size,
        smallest=float(positive.min(initial=np.inf)),
        largest=largest,
        at_largest=int(np.count_nonzero(positive == largest)),
        integers=bool(np.equal(np.floor(positive), positive).all()),
        sample=positive[::every].copy(),
        sparse=is_sparse,
    )
    return None, [counts]


def _is_transposed(data: Data) -> bool:
    """Whether only the columns of X can be read, because that is how a file stores them."""
    return isinstance(data, Scaled) and data.scaling.transposed


def _square_residuals(block: Block, U: Array, V: Array) -> tuple[Array, None]:
    return np.square(block.residual(U, V)).sum(axis=1, keepdims=True), None


def _count_missing(block: Block, _: None) -> tuple[None, int]:
    weights = block.read_weights()
    return None, 0 if weights is None else int(np.count_nonzero(weights == 0))


def _count_repeated(data: Data, squares: Array) -> int:
    """Count rows equal to an earlier one, comparing rows of equal norm only; zero rows do not count."""
    _, group, sizes = np.unique(squares, return_inverse=True, return_counts=True)
    suspects = (sizes[group] > 1) & (squares > 0)
    if not suspects.any():
        return 0
    digests = data.map_blocks(_hash_rows, suspects[:, None])[0][suspects]
    return len(digests) - len(np.unique(digests, axis=0))


def _hash_rows(block: Block, suspects: Array) -> tuple[Array, None]:
    """A digest of each suspected row as two integers, and zeros for the others."""
    digests = np.zeros((len(suspects), 2), dtype=np.uint64)
    where = np.flatnonzero(suspects)
    if where.size:
        for i, row in zip(where, np.ascontiguousarray(block.dense()[where]), strict=True):
            digests[i] = np.frombuffer(blake2b(row.tobytes(), digest_size=16).digest(), dtype=np.uint64)
    return digests, None
