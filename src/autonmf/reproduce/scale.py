"""How much is run."""

from __future__ import annotations

from enum import StrEnum


class Scale(StrEnum):
    """From a look at everything to what the page in the docs is made from."""

    quick = "quick"  # about three minutes on two cores
    standard = "standard"  # about twenty
    full = "full"  # every line of the paper's tables
