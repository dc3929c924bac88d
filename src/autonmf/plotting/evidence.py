"""The columns of the evidence for a rank: their names, their meaning, and how they are drawn.

The evidence of a `RankEstimate` is a table by columns. Plots and the report look columns up here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autonmf._types import Array
from autonmf.plotting.style import spans_decades


@dataclass(frozen=True)
class Column:
    """One quantity with a value for each rank."""

    label: str  # of the axis of a plot
    meaning: str = ""  # a sentence for the report
    title: str = ""  # in the report, where it differs from the label
    log: bool = False  # on a log scale, if the values span a decade or have a level
    unit: bool = False  # at most 1, and mostly at least 0
    thresholds: tuple[str, ...] = ()  # columns drawn as a line to compare with; the first that exists
    level: tuple[float, str] | None = None  # a constant to compare with, and its name
    standard_error: str = ""  # the column with its standard errors
    replaced_by: tuple[str, ...] = ()  # columns that are drawn instead if they exist
    drawn: bool = True  # by default

    def needs_log_scale(self, values: Array) -> bool:
        """Whether these values are drawn on a log scale."""
        return self.log and (self.level is not None or spans_decades(values))


COLUMNS: dict[str, Column] = {
    "drop": Column(
        "drop in loss\nper component " + r"$\vartheta$",
        "How much this component lowers the loss.",
        title="drop in loss",
        log=True,
    ),
    "drop_ratio": Column(
        "drop ratio",
        "How many times more this component lowers the loss than the next.",
        log=True,
        thresholds=("threshold",),
        replaced_by=("score", "probability"),
    ),
    "elbow": Column(
        "elbow fit",
        "How well two straight lines that meet at this rank describe the drops in loss.",
        drawn=False,
    ),
    "noise_ratio": Column(
        "noise ratio",
        "The strongest pattern in what is left of X, divided by the strongest that noise alone would show: "
        "1 or less if only noise is left.",
        log=True,
        level=(1.0, "noise"),
    ),
    "score": Column(
        "score",
        "All the evidence combined; the probability follows from it.",
        thresholds=("threshold",),
        replaced_by=("probability",),
    ),
    "probability": Column("probability", "How likely each rank is, given all the evidence.", unit=True),
    "stability": Column(
        "agreement of random\ninitialisations", title="stability", unit=True, thresholds=("threshold",)
    ),
    "error": Column(
        "relative error on\nheld-out entries",
        title="held-out error",
        thresholds=("threshold",),
        standard_error="standard_error",
    ),
    "bic": Column("BIC"),
    "difference": Column("height above\nthe diagonal", title="height above the diagonal"),
    "singular_value": Column(
        "singular value " + r"$\sigma$",
        title="singular value",
        log=True,
        thresholds=("threshold", "permuted_quantile"),
    ),
    "relevance": Column("relevance", log=True),
    # Drawn only if there is nothing else, or on request: `PathDisplay` shows the loss.
    "loss": Column(
        "loss " + r"$\frac{1}{2}\Vert X-UV^\mathsf{T}\Vert^2$",
        "Squared error of the fit with this many components. The rule “auto” first scales rows and columns "
        "to comparable norm.",
        title="loss",
        log=True,
        drawn=False,
    ),
}
"""In the order in which they are drawn."""

THRESHOLD_LABELS = {"threshold": "threshold", "permuted_quantile": "permuted data"}


def column(name: str) -> Column:
    """The description of a column; unknown columns are labelled with their names."""
    return COLUMNS.get(name, Column(name.replace("_", " ")))


def default_columns(evidence: Mapping[str, Array]) -> list[str]:
    """The columns to draw: the known ones that are not replaced by others, the loss, or all numeric ones."""
    known = [name for name, each in COLUMNS.items() if name in evidence and each.drawn]
    if known:
        return [name for name in known if not any(other in known for other in COLUMNS[name].replaced_by)]
    if "loss" in evidence:
        return ["loss"]
    return numeric_columns(evidence)


def check_columns(evidence: Mapping[str, Array], names: str | Sequence[str]) -> list[str]:
    """The requested columns; a ValueError lists those that can be drawn."""
    wanted = [names] if isinstance(names, str) else list(names)
    drawable = numeric_columns(evidence)
    if not wanted or any(name not in drawable for name in wanted):
        raise ValueError(f"columns must be among {', '.join(drawable) or 'none'}; got {wanted}")
    return wanted


def numeric_columns(evidence: Mapping[str, Array]) -> list[str]:
    """All columns of numbers except the rank."""
    return [
        name
        for name, values in evidence.items()
        if name != "rank" and np.asarray(values).dtype.kind in "biuf"
    ]
