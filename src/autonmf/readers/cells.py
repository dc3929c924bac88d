"""From the cells of a text file to numbers."""

from __future__ import annotations

import math
import re

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "?"}
"""Cells that stand for a missing number, in lower case."""

DECIMAL_COMMA = ";"
"""The separator beside which a comma is a decimal comma."""

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


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


def has_thousands(cell: str) -> bool:
    """Whether a cell is a number with commas between thousands, such as 1,234.5: not read, and no name."""
    return _THOUSANDS.fullmatch(cell.strip()) is not None


def is_name(cell: str, separator: str) -> bool:
    """Whether a cell holds text that is neither a number nor a missing one."""
    return number(cell, separator) is None and not has_thousands(cell)


def is_empty(cell: str) -> bool:
    """Whether there is nothing in a cell but spaces."""
    return not cell.strip()
