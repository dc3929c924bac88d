"""From the cells of a text file to numbers."""

from __future__ import annotations

import math

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "?"}
"""Cells that stand for a missing number, in lower case."""

DECIMAL_COMMA = ";"
"""The separator beside which a comma is a decimal comma."""


def number(cell: str, separator: str) -> float | None:
    """The cell's number, NaN for a missing one, None for anything else."""
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if "_" in text:  # Python reads 1_000 as a number; in a file it is a name
        return None
    if separator == DECIMAL_COMMA:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def is_name(cell: str, separator: str) -> bool:
    """Whether a cell holds text that is neither a number nor a missing one."""
    return number(cell, separator) is None


def is_empty(cell: str) -> bool:
    """Whether there is nothing in a cell but spaces."""
    return not cell.strip()
