"""Known components: rows of H that a caller gives and that do not change.

Internally they are the first ``n_fixed`` columns of V. Sweeps over V leave them out, and mergers do not
change them. U is free, so that it carries their scales.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.factors import take_columns

SAME = 1e-9
"""Known components are equal up to a scale if their cosine differs from one by less than this."""

LARGEST = 1e30
"""Products of entries above this, or below its inverse, overflow or underflow single precision."""

FEW_NAMES = 5
"""Names of features that a message lists."""


def find_names(table: Any) -> list[str] | None:
    """The names of the columns of a data frame; None for anything else."""
    columns = getattr(table, "columns", None)
    names = [] if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def find_row_names(table: Any) -> list[str] | None:
    """The names of the rows of a data frame; None for anything else."""
    names = list(getattr(table, "index", ())) if hasattr(table, "columns") else []
    return names if names and all(isinstance(name, str) for name in names) else None


def check_known(given: Any, n_features: int, names: Any = None, own: list[str] | None = None) -> Array:
    """Known components as an array with a row for each (k x m), in the order of the features of X.

    Columns are matched by name where both X (``names``) and the known components (``own``, by default those
    of a data frame) have names, otherwise by position.
    """
    shape = np.shape(given)
    if len(shape) != 2 or shape[0] == 0:
        raise ValueError(
            f"fixed_components must be a matrix with a row for each known component, got shape {shape}"
        )
    if shape[0] == n_features != shape[1]:
        raise ValueError(
            f"fixed_components is {shape[0]} x {shape[1]}, but X has {n_features} features: exchange its "
            "rows and columns, so that each row is a known component"
        )
    own = find_names(given) if own is None else own
    try:
        rows = np.array(given.toarray() if hasattr(given, "toarray") else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("fixed_components must hold numbers only") from None
    if own is not None and names is not None:
        rows = rows[:, _match_names(own, list(names))]
    if rows.shape[1] != n_features:
        raise ValueError(
            f"fixed_components has {rows.shape[1]} columns, but X has {n_features} features: "
            "each row must have an entry for each feature of X"
        )
    _check_rows(rows)
    return rows


def replace_known(U: Any, V: Array, known: Array | None) -> tuple[Any, Array]:
    """Replace the first columns of V by exactly ``known``, and scale those of U accordingly.

    The first columns of V are multiples of the known ones up to rounding, so that U Vᵀ does not change.
    """
    if known is None or not known.shape[1]:
        return U, V
    count = known.shape[1]
    first = V[:, :count].astype(np.float64)
    peaks = known.max(axis=0)  # squares may overflow
    unit = known / peaks
    scales = np.ones(V.shape[1])
    scales[:count] = np.sum(first * unit, axis=0) / np.square(unit).sum(axis=0) / peaks
    V = np.array(V, order="F")
    V[:, :count] = known
    return take_columns(U, np.arange(len(scales)), scales), V


def _match_names(own: list[str], names: list[str]) -> list[int]:
    """The column of the known components for each feature of X."""
    if len(set(own)) < len(own):
        raise ValueError("fixed_components has two columns of the same name")
    missing = [name for name in names if name not in set(own)]
    extra = [name for name in own if name not in set(names)]
    if missing or extra:
        said = [f"no column for {_list(missing)}"] * bool(missing)
        said += [f"columns that X does not have: {_list(extra)}"] * bool(extra)
        raise ValueError(
            f"the columns of fixed_components do not match the features of X: it has {' and '.join(said)}"
        )
    places = {name: place for place, name in enumerate(own)}
    return [places[name] for name in names]


def _list(names: list[str]) -> str:
    more = len(names) - FEW_NAMES
    return ", ".join(map(repr, names[:FEW_NAMES])) + (f" and {more} more" if more > 0 else "")


def _check_rows(rows: Array) -> None:
    """Refuse rows that are not valid components, or that are equal up to a scale."""
    for wrong, what in (
        (
            ~np.isfinite(rows).all(axis=1),
            "has entries that are not finite: fill them, or leave it out",
        ),
        ((rows < 0).any(axis=1), "has negative entries: known components must be nonnegative"),
        (~rows.any(axis=1), "is zero: leave it out"),
    ):
        if wrong.any():
            raise ValueError(f"row {int(np.argmax(wrong)) + 1} of fixed_components {what}")
    peaks = rows.max(axis=1, keepdims=True)
    if peaks.max() > LARGEST or peaks.min() < 1 / LARGEST:
        raise ValueError("fixed_components has too large or too small entries: divide rows by their sums")
    unit = rows / peaks
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    same = np.argwhere(np.triu(unit @ unit.T > 1.0 - SAME, 1))
    if len(same):
        i, j = same[0] + 1
        raise ValueError(f"rows {i} and {j} of fixed_components are the same up to a scale: keep one of them")
