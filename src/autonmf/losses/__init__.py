"""One object per loss: everything that a search needs to know about it."""

from __future__ import annotations

from autonmf.losses.frobenius import MU, Frobenius, FrobeniusState, Problem
from autonmf.losses.protocol import Loss, Projection, State

__all__ = ["FROBENIUS", "MU", "Frobenius", "FrobeniusState", "Loss", "Problem", "Projection", "State"]

FROBENIUS = Frobenius()
