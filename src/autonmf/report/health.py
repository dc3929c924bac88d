"""A check of the data: facts about X, and findings with advice.

X is read in a few passes. Sparse matrices stay sparse, and what is in a file or on a cluster is read in
blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data import Block, Data, Scaled, sums_of_squares
from autonmf.report.wording import count, percent, plain

MOSTLY_ZERO, FEW_ZEROS = 0.9, 0.5
"""Fractions of zeros above which sparse storage saves memory, and below which it wastes it."""

DOMINANT = 0.3
"""Fraction of the energy above which a single row or column dominates the fit."""

WIDE = 4.0
"""Decades between the energies of columns above which small columns hardly affect the fit."""

CLIPPED = 0.01
"""Fraction of entries equal to the maximum that suggests saturation."""

MIN_CLIPPED = 3
"""Number of such entries up to which that may be chance."""

FEW = 10
"""Number of rows or columns below which the choice of the rank is weak."""

MAX_HASHED = 2_000_000
"""Repeated rows are not searched for if there are more rows than this."""

SAMPLE_SIZE = 1_000_000
"""About the number of entries from which the median is computed."""


@dataclass(frozen=True)
class Finding:
    """A finding about the data, and advice."""

    level: Literal["good", "note", "warning"]
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Health:
    """Facts about X and findings."""

    facts: dict[str, str]
    findings: tuple[Finding, ...]


def check_health(data: Data, beta_loss: str = "frobenius") -> Health:
    """Compute the facts about X and look for problems of a fit with this loss."""
    found = compute_statistics(data)
    findings = tuple(_find_problems(found, beta_loss))
    if not any(finding.level == "warning" for finding in findings):
        findings = (Finding("good", "No problems found in the data."), *findings)
    return Health(dict(_list_facts(found)), findings)


def unknown_health(shape: tuple[int, int], squared_norm: float) -> Health:
    """What is known without X."""
    root_mean_square = plain(np.sqrt(squared_norm / (shape[0] * shape[1])))
    facts = {"Shape": describe_shape(shape), "Root mean square": root_mean_square}
    without = "The report was written without the data."
    return Health(facts, (Finding("note", without, "Pass X to include a check of the data."),))


def _list_facts(s: Statistics) -> Iterator[tuple[str, str]]:
    yield "Shape", describe_shape(s.shape)
    yield "Storage", f"{'sparse' if s.sparse else 'dense'}, {s.dtype}"
    if s.missing:
        yield "Missing entries", f"{percent(s.missing / s.size)} of {s.size:,} entries"
    yield "Zeros", f"{percent(s.zero_fraction)} of {s.size:,} entries"
    kind = "integers" if s.integers else "real numbers"
    span = f"{kind}; positive entries from {plain(s.smallest)} to {plain(s.largest)}"
    yield "Values", f"0 and {plain(s.largest)} only" if s.binary else span
    yield "Median of positive entries", plain(s.median)
    yield "Root mean square", plain(np.sqrt(s.row_energies.sum() / s.size))
    yield "Dynamic range", f"{plain(np.log10(s.largest / s.smallest), 2)} decades"
    yield "Zero rows, zero columns", f"{s.zero_rows:,}, {s.zero_columns:,}"
    yield "Repeated rows", "not searched for" if s.repeated_rows is None else f"{s.repeated_rows:,}"


def _find_problems(s: Statistics, beta_loss: str) -> Iterator[Finding]:
    for number, noun, factor in ((s.zero_rows, "row", "W"), (s.zero_columns, "column", "H")):
        if number:
            yield Finding(
                "note",
                f"{count(number, noun)} {'is' if number == 1 else 'are'} zero, and so is {factor} there.",
                "This is harmless.",
            )
    if beta_loss == "frobenius":
        yield from _check_scale(s)
    yield from _check_clipping(s)
    if not s.sparse and s.zero_fraction > MOSTLY_ZERO:
        yield Finding(
            "note",
            f"{percent(s.zero_fraction)} of the entries are zero, but X is stored as a dense array.",
            "Pass scipy.sparse.csr_matrix(X) to save memory and time.",
        )
    if s.sparse and s.zero_fraction < FEW_ZEROS:
        yield Finding(
            "note",
            f"X is stored as a sparse matrix, but only {percent(s.zero_fraction)} of its entries are zero.",
            "Pass X.toarray(), which is smaller and faster.",
        )
    if s.repeated_rows:
        repeat = "repeats" if s.repeated_rows == 1 else "repeat"
        yield Finding(
            "note",
            f"{count(s.repeated_rows, 'row')} {repeat} an earlier row.",
            "If that is a mistake, remove them with np.unique(X, axis=0).",
        )
    if min(s.shape) < FEW:
        yield Finding(
            "warning",
            f"There {'is' if min(s.shape) == 1 else 'are'} only "
            f"{count(min(s.shape), 'row' if s.shape[0] <= s.shape[1] else 'column')}.",
            "Treat the estimated rank with caution.",
        )


def _check_scale(s: Statistics) -> Iterator[Finding]:
    for energies, noun in ((s.row_energies, "row"), (s.column_energies, "column")):
        fraction = float(energies.max() / energies.sum())
        if fraction > max(DOMINANT, 3.0 / len(energies)):
            yield Finding(
                "warning",
                f"{noun.capitalize()} {int(np.argmax(energies)) + 1} has {percent(fraction)} of the energy "
                "and dominates the fit.",
                f"Check it, or divide each {noun} by its norm so that all have the same weight.",
            )
    low, high = np.quantile(s.column_energies[s.column_energies > 0], (0.1, 0.99))
    decades = float(np.log10(high / low))
    if decades > WIDE:
        yield Finding(
            "warning",
            f"The energies of the columns differ by {plain(decades, 2)} decades, so small ones hardly "
            "affect the squared error.",
            "Scale the columns, or take log(1 + x).",
        )
    if s.integers and not s.binary and s.largest > 2:
        yield Finding(
            "note",
            "The entries are counts. Their noise grows with their size, but least squares weights all "
            "entries equally.",
            'Use beta_loss="kullback-leibler", or normalise: log(1 + x) for cells, tf-idf for words.',
        )


def _check_clipping(s: Statistics) -> Iterator[Finding]:
    few = max(MIN_CLIPPED, CLIPPED * (s.size - s.zeros))
    if not s.integers and not s.binary and s.at_largest > few:
        yield Finding(
            "warning",
            f"{count(s.at_largest, 'entry', 'entries')} have the largest value, {plain(s.largest)}, so the "
            "data may be clipped.",
            "Check the instrument and the export for saturation.",
        )


def describe_shape(shape: tuple[int, int]) -> str:
    """``1,200 samples × 40 features``."""
    return f"{count(shape[0], 'sample')} × {count(shape[1], 'feature')}"


@dataclass(frozen=True)
class Statistics:
    """Statistics of a nonnegative n x m matrix; entries that are not stored are zero."""

    nonzero: int
    smallest: float  # positive entry
    largest: float
    at_largest: int  # number of entries equal to the largest
    integers: bool
    sample: Array  # evenly spaced positive entries
    sparse: bool  # stored as a sparse matrix
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
        return self.smallest == self.largest and self.zeros > 0


def compute_statistics(data: Data) -> Statistics:
    """Read every entry of X."""
    rows, columns = (np.asarray(squares)[:, 0] for squares in sums_of_squares(data))
    searched = len(rows) <= MAX_HASHED and not _is_transposed(data)
    return Statistics(
        **count_entries(data),
        shape=data.shape,
        dtype=str(data.dtype),
        row_energies=rows,
        column_energies=columns,
        repeated_rows=_count_repeated(data, rows) if searched else None,
        missing=0 if data.complete else int(data.map_blocks(_count_missing, None)[1]),
    )


def count_entries(data: Data) -> dict[str, Any]:
    """What `Statistics` says about the entries of X, by name."""
    if isinstance(data, Scaled) and _is_transposed(data):  # the same entries, which can be read
        data = data.flip()
    n, m = data.shape
    blocks = data.map_blocks(_count_block, None, max(n * m // SAMPLE_SIZE, 1))[1]
    columns = {name: [block[name] for block in blocks] for name in blocks[0]}
    largest = max(columns["largest"])
    return {
        "nonzero": sum(columns["nonzero"]),
        "smallest": min(columns["smallest"]),
        "largest": largest,
        "at_largest": sum(block["at_largest"] for block in blocks if block["largest"] == largest),
        "integers": all(columns["integers"]),
        "sample": np.concatenate(columns["sample"]),
        "sparse": any(columns["sparse"]),
    }


def _count_block(block: Block, _: None, every: int) -> tuple[None, list[dict[str, Any]]]:
    """The same for one block; every ``every``-th positive entry is sampled."""
    X = block.read()
    is_sparse = bool(sparse.issparse(X))
    entries = X.data if is_sparse else X
    positive = entries[entries > 0]
    largest = float(positive.max(initial=0.0))
    counts = {
        "nonzero": positive.size,
        "smallest": float(positive.min(initial=np.inf)),
        "largest": largest,
        "at_largest": int(np.count_nonzero(positive == largest)),
        "integers": bool(np.equal(np.floor(positive), positive).all()),
        "sample": positive[::every].copy(),
        "sparse": is_sparse,
    }
    return None, [counts]


def _is_transposed(data: Data) -> bool:
    """Whether only the columns of X can be read, because that is how a file stores them."""
    return isinstance(data, Scaled) and data.scaling.transposed


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
