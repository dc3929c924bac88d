"""Factors as the checks need them: validated, in one precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array


def as_factors(
    U: Any, V: Any, shape: tuple[int, int] | None = None, dtype: Any = np.float64
) -> tuple[Array, Array]:
    """(U, V) as nonnegative arrays with equally many columns, and the rows of X where its shape is given."""
    U, V = np.asfortranarray(U, dtype=dtype), np.asfortranarray(V, dtype=dtype)
    if U.ndim != 2 or V.ndim != 2 or U.shape[1] != V.shape[1]:
        raise ValueError(f"U and V must be matrices with equally many columns, got {U.shape} and {V.shape}")
    if shape is not None and (U.shape[0], V.shape[0]) != shape:
        raise ValueError(f"U and V have {U.shape[0]} and {V.shape[0]} rows, but X has shape {shape}")
    for name, factor in (("U", U), ("V", V)):
        if not np.isfinite(factor).all() or (factor < 0).any():
            raise ValueError(f"{name} must be finite and nonnegative")
    return U, V


def check_constants(**values: float) -> None:
    """Refuse a constant that is negative, infinite or NaN."""
    for name, value in values.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be a nonnegative number, got {value}")


def verdict(holds: bool) -> str:
    """The last word of a line of a report."""
    return "yes" if holds else "NO"
