"""One object per loss: everything that a search needs to know about it."""

from __future__ import annotations

from typing import Any

from autonmf.losses.frobenius import MU, Frobenius, FrobeniusState, Problem
from autonmf.losses.kullback_leibler import KullbackLeibler
from autonmf.losses.protocol import Loss, Projection, State

__all__ = [
    "FROBENIUS",
    "LOSSES",
    "MU",
    "Frobenius",
    "FrobeniusState",
    "KullbackLeibler",
    "Loss",
    "Problem",
    "Projection",
    "State",
    "find_loss",
]

FROBENIUS = Frobenius()
LOSSES: dict[str, Loss] = {"frobenius": FROBENIUS, "kullback-leibler": KullbackLeibler()}
"""By the names that scikit-learn gives them."""

BETAS = {2: "frobenius", 1: "kullback-leibler"}
"""The same by their β."""


def find_loss(beta_loss: Any) -> Loss:
    """A loss from its name, or from β."""
    number = isinstance(beta_loss, int | float) and not isinstance(beta_loss, bool)
    name = BETAS.get(beta_loss, "") if number else beta_loss
    if not isinstance(name, str) or name not in LOSSES:
        names = ", ".join(map(repr, LOSSES))
        raise ValueError(f"unknown beta_loss {beta_loss!r}; choose one of {names}, or 2 or 1 for them")
    return LOSSES[name]
