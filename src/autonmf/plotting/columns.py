"""How the columns of the evidence for a rank are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autonmf._types import Array


@dataclass(frozen=True)
class Column:
    """One quantity that a rule looked at."""

    label: str
    log: bool = False  # where the values span a decade
    unit: bool = False  # at most 1, and at least 0 where it is of interest
    limits: tuple[str, ...] = ()  # columns to compare with, drawn as lines; the first that is there
    level: tuple[float, str] | None = None  # a value to compare with, and its name
    spread: str = ""  # the column of its standard errors
    said_by: tuple[str, ...] = ()  # columns that say the same and more


KNOWN: dict[str, Column] = {
    "drop": Column("drop of the loss\nper component " + r"$\vartheta$", log=True),
    "ratio": Column("drop / next drop", log=True, limits=("threshold",), said_by=("score", "probability")),
    "remainder": Column("next direction,\nrelative to noise", log=True, level=(1.0, "noise")),
    "score": Column("score", limits=("threshold",), said_by=("probability",)),
    "probability": Column("probability", unit=True),
    "stability": Column("agreement of\nrandom starts", unit=True, limits=("threshold",)),
    "error": Column("relative error on\nhidden entries", limits=("threshold",), spread="standard_error"),
    "bic": Column("BIC"),
    "difference": Column("height above\nthe diagonal"),
    "singular_value": Column(
        "singular value " + r"$\sigma$", log=True, limits=("threshold", "permuted_quantile")
    ),
    "relevance": Column("relevance", log=True),
}
"""In the order in which they are drawn."""

LOSS = Column("loss " + r"$\frac{1}{2}\Vert X-UV^\mathsf{T}\Vert^2$", log=True)
"""`PathDisplay` shows the loss: here it is drawn where there is nothing else, or on demand."""

LIMIT_LABELS = {"threshold": "threshold", "permuted_quantile": "permuted data"}


def column(name: str) -> Column:
    """How to draw a column; one that no rule of ours has is drawn by its own name."""
    return LOSS if name == "loss" else KNOWN.get(name, Column(name.replace("_", " ")))


def default_columns(evidence: Mapping[str, Array]) -> list[str]:
    """What to draw of a table: what is known and not said twice, else the loss, else what is numeric."""
    known = [name for name in KNOWN if name in evidence]
    if known:
        return [name for name in known if not any(other in known for other in KNOWN[name].said_by)]
    if "loss" in evidence:
        return ["loss"]
    return [name for name in evidence if name != "rank" and _is_numeric(evidence[name])]


def checked_columns(evidence: Mapping[str, Array], names: list[str]) -> list[str]:
    """Names that can be drawn; a ValueError lists those that could."""
    drawable = [name for name in evidence if name != "rank" and _is_numeric(evidence[name])]
    if not names or any(name not in drawable for name in names):
        raise ValueError(
            f"columns must be among {', '.join(drawable) or 'none: the evidence is empty'}; got {names}"
        )
    return names


def _is_numeric(values: Array) -> bool:
    return bool(np.issubdtype(np.asarray(values).dtype, np.number))
