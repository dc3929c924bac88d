"""The algorithms of the paper: one step each, and one driver loop for all."""

from __future__ import annotations

from autonmf.solvers.active_set import ActiveSet
from autonmf.solvers.budget import Budget
from autonmf.solvers.driver import Run, Solver, run
from autonmf.solvers.hals import Hals
from autonmf.solvers.history import History
from autonmf.solvers.inertial import Inertial, NesterovInertia, NoInertia, ProvableInertia
from autonmf.solvers.state import State
from autonmf.solvers.stopping import Stopping

__all__ = [
    "SOLVERS",
    "ActiveSet",
    "Budget",
    "Hals",
    "History",
    "Inertial",
    "NesterovInertia",
    "NoInertia",
    "ProvableInertia",
    "Run",
    "Solver",
    "State",
    "Stopping",
    "make_solver",
    "run",
]

SOLVERS: dict[str, Solver] = {
    "palm": Inertial(NoInertia()),
    "ipalm": Inertial(NesterovInertia()),
    "s-ipalm": Inertial(NesterovInertia(), balanced=True),
    "pasm": ActiveSet(),
}
"""The paper's algorithms by name."""


def make_solver(solver: str | Solver) -> Solver:
    """A solver from its name, or the solver itself."""
    if not isinstance(solver, str) and all(hasattr(solver, name) for name in ("init", "step")):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}; choose one of {', '.join(SOLVERS)}")
    return SOLVERS[str(solver)]
