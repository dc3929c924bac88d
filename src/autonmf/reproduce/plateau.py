"""The stretch of a path at the true rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autonmf.reproduce.form import middle


@dataclass(frozen=True)
class Plateau:
    """Where a path on the paper's grid is at the true rank."""

    points: int  # of the grid
    low: float  # the first λ there
    high: float  # the first λ beyond, or the one that would drop a component
    error: float | None  # ‖X - UVᵀ‖/‖X‖, median over its points
    recovery_error: float | None

    @property
    def width(self) -> float:
        """high/low: λ is a scale."""
        return self.high / self.low if self.low > 0 else float("inf")


def plateau_of(curve: dict[str, Any]) -> Plateau | None:
    """The plateau at ``order``; None where the path jumped over it."""
    at = [i for i, rank in enumerate(curve["rank"]) if rank == curve["order"]]
    if not at:
        return None
    first, last = at[0], at[-1]
    beyond = curve["lam"][last + 1] if last + 1 < len(curve["lam"]) else curve["next_lam"][last]
    return Plateau(
        points=len(at),
        low=curve["lam"][first],
        high=max(beyond, curve["lam"][first]),
        error=middle(curve["error"][i] for i in at),
        recovery_error=middle(curve["recovery_error"][i] for i in at),
    )


def over_ranked(curve: dict[str, Any]) -> float:
    """The share of the points of a path with more components than the true rank."""
    ranks: list[int] = curve["rank"]
    order: int = curve["order"]
    return sum(rank > order for rank in ranks) / len(ranks)


def width_of(curve: dict[str, Any]) -> float:
    """high/low of the plateau; one where the path jumped over the true rank."""
    plateau = plateau_of(curve)
    return plateau.width if plateau else 1.0


def reached(curve: dict[str, Any]) -> tuple[float, float] | None:
    """λ and error at the first point with no more components than the true rank."""
    points = zip(curve["rank"], curve["lam"], curve["error"], strict=True)
    return next(((lam, error) for rank, lam, error in points if rank <= curve["order"]), None)
