"""The health of the data: facts about X, and sentences that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.report.survey import Survey, survey
from autonmf.report.wording import count, percent, plain

MOSTLY_ZERO, HARDLY_ZERO = 0.9, 0.5
"""Shares of zeros from which on sparse storage pays, and below which it costs."""

DOMINANT = 0.3
"""A share of the energy from which on one row or column rules the fit; the even share counts, too."""

WIDE = 4.0
"""Decades between typical and largest energies of columns from which on small columns do not count."""

CLIPPED = 0.01
"""A share of entries at the maximum that hints at saturation."""

FEW = 10
"""Rows or columns below which there is little to choose from."""


@dataclass(frozen=True)
class Fact:
    """A name and a value."""

    name: str
    value: str


@dataclass(frozen=True)
class Finding:
    """A sentence about the data, and what to do."""

    level: Literal["good", "note", "warning"]
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Health:
    """What a reader should know of X before its components."""

    facts: tuple[Fact, ...]
    findings: tuple[Finding, ...]


def health_of(data: Data) -> Health:
    """The health of X."""
    found = survey(data)
    findings = tuple(_findings(found))
    if not any(finding.level == "warning" for finding in findings):
        findings = (Finding("good", "Nothing in the data speaks against a factorisation."), *findings)
    return Health(tuple(_facts(found)), findings)


def health_unseen(shape: tuple[int, int], squared_norm: float) -> Health:
    """What is known where X is not at hand."""
    size = shape[0] * shape[1]
    return Health(
        (Fact("Shape", _shape(shape)), Fact("Root mean square", plain(np.sqrt(squared_norm / size)))),
        (Finding("note", "The data were not at hand when this page was written.", "Pass X to see more."),),
    )


def _facts(s: Survey) -> Iterator[Fact]:
    yield Fact("Shape", _shape(s.shape))
    yield Fact("Stored", f"{'sparse' if s.sparse else 'dense'}, {s.dtype}")
    if s.missing:
        yield Fact("Missing", f"{percent(s.missing / s.size)} of {s.size:,} entries")
    yield Fact("Zeros", f"{percent(s.zero_share)} of {s.size:,} entries")
    kind = "whole" if s.whole else "real"
    spread = f"{kind} numbers, from {plain(s.smallest)} to {plain(s.largest)} where positive"
    yield Fact("Values", f"0 and {plain(s.largest)} only" if s.binary else spread)
    yield Fact("Median of the positive", plain(s.median))
    yield Fact("Root mean square", plain(np.sqrt(s.row_energies.sum() / s.size)))
    yield Fact("Dynamic range", f"{plain(np.log10(s.largest / s.smallest), 2)} decades")
    yield Fact("Rows, columns of zeros", f"{s.zero_rows:,}, {s.zero_columns:,}")
    yield Fact("Repeated rows", "not looked for" if s.repeated_rows is None else f"{s.repeated_rows:,}")


def _findings(s: Survey) -> Iterator[Finding]:
    yield from _emptiness(s)
    yield from _scale(s)
    yield from _storage(s)
    if s.repeated_rows:
        yield Finding(
            "note",
            f"{count(s.repeated_rows, 'row')} repeat an earlier one, and count each time.",
            "If that is an accident, remove them: np.unique(X, axis=0).",
        )
    if min(s.shape) < FEW:
        yield Finding(
            "warning",
            f"With {min(s.shape)} {'rows' if s.shape[0] <= s.shape[1] else 'columns'} there are few ranks to "
            "choose from.",
            "Treat the choice as a hint.",
        )


def _emptiness(s: Survey) -> Iterator[Finding]:
    for number, noun, factor in ((s.zero_rows, "row", "W"), (s.zero_columns, "column", "H")):
        if number:
            yield Finding(
                "note",
                f"{count(number, noun)} {'is' if number == 1 else 'are'} all zero and carry nothing.",
                f"They do no harm ({factor} is zero there) and may be left out.",
            )


def _scale(s: Survey) -> Iterator[Finding]:
    for energies, noun in ((s.row_energies, "row"), (s.column_energies, "column")):
        share = float(energies.max() / energies.sum())
        if share > max(DOMINANT, 3.0 / len(energies)):
            yield Finding(
                "warning",
                f"One {noun} ({noun} {int(np.argmax(energies)) + 1}) holds {percent(share)} of the energy: "
                "the fit is largely about it.",
                f"Check it; divide each {noun} by its norm if all should count alike.",
            )
    spread = _decades(s.column_energies)
    if spread > WIDE:
        yield Finding(
            "warning",
            f"Columns differ in energy by {plain(spread, 2)} decades: a squared error hardly sees the small "
            "ones.",
            "Scale the columns, or take log(1 + x).",
        )
    if s.whole and not s.binary and s.largest > 2:
        yield Finding(
            "note",
            "The entries are counts, whose noise grows with them, while a squared error weighs all alike.",
            "Scale the rows to one sum and take log(1 + x), or use tf-idf for words.",
        )
    if not s.whole and not s.binary and s.at_largest > CLIPPED * (s.size - s.zeros):
        yield Finding(
            "warning",
            f"{count(s.at_largest, 'entry', 'entries')} share the largest value, {plain(s.largest)}: "
            "the data may be clipped.",
            "Look for saturation in the instrument or the export.",
        )


def _storage(s: Survey) -> Iterator[Finding]:
    if not s.sparse and s.zero_share > MOSTLY_ZERO:
        yield Finding(
            "note",
            f"{percent(s.zero_share)} of the entries are zero, and all are stored.",
            "Pass scipy.sparse.csr_matrix(X) to save memory and time.",
        )
    if s.sparse and s.zero_share < HARDLY_ZERO:
        yield Finding(
            "note",
            f"The matrix is stored sparse, but only {percent(s.zero_share)} of it is zero.",
            "Pass X.toarray(): it is smaller and faster.",
        )


def _decades(energies: Array) -> float:
    """Decades from the tenth to the ninety-ninth percentile of the positive energies."""
    positive = energies[energies > 0]
    low, high = np.quantile(positive, (0.1, 0.99))
    return float(np.log10(high / low)) if low > 0 else 0.0


def _shape(shape: tuple[int, int]) -> str:
    return f"{count(shape[0], 'sample')} × {count(shape[1], 'feature')}"
