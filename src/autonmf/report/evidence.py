"""What the rule looked at, as panels to draw, a table to read, and a sentence a rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autonmf._types import Array
from autonmf.plotting.columns import column, default_columns
from autonmf.plotting.series import spans_decades
from autonmf.report.subject import Subject
from autonmf.report.wording import percent, plain
from autonmf.selection import RankEstimate
from autonmf.selection.features import LIKE_NOISE

EXPLAINED = {
    "probability": ("probability", "How likely each rank is, all evidence together."),
    "loss": ("loss", "What this many components leave of the data, on even rows and columns."),
    "drop": ("drop of the loss", "What the last component adds to the fit."),
    "ratio": ("drop ÷ next drop", "How many times more the last component adds than the next one would."),
    "bend": ("bend", "How well two straight lines that part here describe the drops."),
    "remainder": ("left over ÷ noise", "The next direction of the data, against what pure noise would have."),
    "score": ("score", "The evidence in one number; the probability follows from it."),
}
"""Names of columns for readers, and what they mean."""


@dataclass(frozen=True)
class Column:
    """One quantity, with one value for each rank of the table."""

    name: str
    label: str
    meaning: str
    values: tuple[float | None, ...]  # None: not a finite number
    words: tuple[str, ...]  # the same to read
    log: bool = False
    level: tuple[float, str] | None = None  # a value to compare with, and its name


@dataclass(frozen=True)
class Evidence:
    """A table by columns."""

    ranks: tuple[int, ...]
    columns: tuple[Column, ...]
    panels: tuple[str, ...]  # names of the columns that are drawn, from the top

    def column(self, name: str) -> Column | None:
        """A column by its name."""
        return next((column for column in self.columns if column.name == name), None)


def evidence_of(subject: Subject) -> Evidence:
    """The evidence for the choice; the losses alone where the rank was given."""
    if subject.estimate is None:
        losses = subject.path.relative_losses
        table = {"rank": subject.path.ranks, "loss": losses}
    else:
        table = _modest(subject.estimate)
    names = [name for name in table if name != "rank" and np.asarray(table[name]).dtype.kind in "biuf"]
    drawn = default_columns({name: table[name] for name in names})
    order = ("probability", "drop", "ratio", "remainder")
    panels = sorted(drawn, key=lambda name: order.index(name) if name in order else len(order))
    return Evidence(
        ranks=tuple(int(rank) for rank in table["rank"]),
        columns=tuple(_column(name, np.asarray(table[name], dtype=float)) for name in names),
        panels=tuple(panels),
    )


def sentence(evidence: Evidence, rank: int) -> str:
    """What the evidence says about one rank, in plain words."""
    if rank not in evidence.ranks:
        return "The rule did not look at this rank."
    at = evidence.ranks.index(rank)
    values = {column.name: column.values[at] for column in evidence.columns}
    parts = []
    probability, ratio, remainder = (values.get(name) for name in ("probability", "ratio", "remainder"))
    if probability is not None:
        parts.append(f"The probability of rank {rank} is {percent(probability)}.")
    if "ratio" in values and 1 < rank == evidence.ranks[-1]:
        parts.append(
            f"Rank {rank} is the highest that was tried: there is no next component to compare with."
        )
    elif rank > 1 and ratio is not None and ratio > 0:
        parts.append(
            f"Component {rank} lowers the loss {_times(ratio)} the next one would, on even rows and columns."
        )
    if remainder is not None:
        parts.append(
            f"Beyond {rank} directions the data look like noise."
            if remainder < LIKE_NOISE
            else f"The next direction of the data is {plain(remainder)} times what noise would have."
        )
    return " ".join(parts) or "There is no evidence but the loss."


def _modest(estimate: RankEstimate) -> dict[str, Array]:
    """The table of the rule, with no probability above the confidence that it answers for."""
    if estimate.confidence is None or "probability" not in estimate.evidence:
        return estimate.evidence
    return estimate.evidence | {
        "probability": np.minimum(estimate.evidence["probability"], estimate.confidence)
    }


def _times(ratio: float) -> str:
    if 0.95 < ratio < 1.05:
        return "as much as"
    return "far more than" if ratio >= 1e4 else f"{plain(ratio)} times as much as"


def _column(name: str, values: Array) -> Column:
    known = column(name)
    label, meaning = EXPLAINED.get(name, (name.replace("_", " "), ""))
    written = percent if name == "probability" else plain
    return Column(
        name=name,
        label=label,
        meaning=meaning,
        values=tuple(float(value) if np.isfinite(value) else None for value in values),
        words=tuple(written(float(value)) for value in values),
        log=known.log and spans_decades(values),
        level=known.level,
    )
