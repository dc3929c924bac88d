"""The paper's method on one matrix: its grid of λ, its rule, and what both saw."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from autonmf._types import Array
from autonmf.path import RankPath, default_max_rank, rank_path
from autonmf.reproduce.work.starts import init_of
from autonmf.selection import RankEstimate, select_rank
from autonmf.solvers import ActiveSet, Solver


@dataclass(frozen=True)
class GridRun:
    """A path on the paper's grid, the choice of the paper's rule, and the time of both."""

    path: RankPath
    estimate: RankEstimate
    seconds: float

    @property
    def U(self) -> Array | None:
        """The factor at the chosen rank; None for rank one where the path did not visit it."""
        rank = self.estimate.rank
        return self.path.at_rank(rank).U if rank in self.path.ranks else None

    @property
    def iterations(self) -> int:
        return sum(visit.n_iter for visit in self.path.visits)

    @property
    def row(self) -> dict[str, Any]:
        """What a table shows."""
        return {
            "found": self.estimate.rank,
            "seconds": self.seconds,
            "iterations": self.iterations,
            "points": len(self.path.visits),
        }

    @property
    def curve(self) -> dict[str, Any]:
        """Every λ in order, and what the rule read."""
        visits, evidence = self.path.visits, self.estimate.evidence
        return {
            "lam": [visit.lam for visit in visits],
            "rank": [visit.rank for visit in visits],
            "loss": [visit.loss for visit in visits],
            "n_iter": [visit.n_iter for visit in visits],
            "rank_one_loss": self.path.rank_one_loss,
            "squared_norm": self.path.squared_norm,
            "rule_rank": evidence["rank"],
            "rule_drop": evidence["drop"],
            "rule_ratio": evidence["ratio"],
        }


def paper_grid(
    X: Any,
    solver: str,
    *,
    tau: float,
    seed: int,
    n_points: int = 30,
    start: str = "least squares",
    engine: str = "direct",
    sweeps: int = 1,
) -> GridRun:
    """Follow the grid and apply the rule, X as it lies (``scale=False``)."""
    chosen: str | Solver = ActiveSet(sweeps=sweeps) if solver == "pasm" and sweeps > 1 else solver
    init = init_of(start, X.shape, default_max_rank(X.shape), seed)
    began = time.perf_counter()
    path = rank_path(
        X, solver=chosen, grid="adaptive", n_points=n_points, init=init, engine=engine, scale=False,
        random_state=seed,
    )  # fmt: skip
    estimate = select_rank(path, "marginal", tau=tau)
    return GridRun(path, estimate, time.perf_counter() - began)
