"""One object per loss: everything that a search needs to know about it."""

from __future__ import annotations

from autonmf.losses.frobenius import MU, Frobenius, FrobeniusState, Problem
from autonmf.losses.kullback_leibler import KullbackLeibler
from autonmf.losses.protocol import Loss, Projection, State

__all__ = [
    "BETAS",
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
]

FROBENIUS = Frobenius()
LOSSES: dict[str, Loss] = {"frobenius": FROBENIUS, "kullback-leibler": KullbackLeibler()}
"""By the names that scikit-learn gives them."""

BETAS = {2: "frobenius", 1: "kullback-leibler"}
"""The same by their β."""
