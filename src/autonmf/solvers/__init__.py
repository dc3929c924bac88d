"""The algorithms, each with one step, and the loop that runs them."""

from __future__ import annotations

from autonmf.solvers.coordinate import HIGH_RANK, ActiveSet, CountDescent, Hals, LongHals
from autonmf.solvers.driver import Budget, Run, Solver, Stopping, run
from autonmf.solvers.inertial import Inertial, NesterovInertia, NoInertia

__all__ = [
    "HIGH_RANK",
    "SOLVERS",
    "ActiveSet",
    "Budget",
    "CountDescent",
    "Hals",
    "Inertial",
    "LongHals",
    "NesterovInertia",
    "NoInertia",
    "Run",
    "Solver",
    "Stopping",
    "make_solver",
    "run",
]

SOLVERS: dict[str, Solver] = {
    "hals": Hals(),
    "pasm": ActiveSet(),
    "s-ipalm": Inertial(NesterovInertia(), balanced=True),
    "ipalm": Inertial(NesterovInertia()),
    "palm": Inertial(NoInertia()),
}
"""The algorithms by name: HALS, and those of the paper."""


def make_solver(solver: str | Solver) -> Solver:
    """A solver from its name, or the solver itself."""
    if not isinstance(solver, str) and all(hasattr(solver, name) for name in ("init", "step")):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}; choose one of auto, {', '.join(SOLVERS)}")
    return SOLVERS[str(solver)]
