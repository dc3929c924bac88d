"""Iterate one solution on X itself until the stop rule holds."""

from __future__ import annotations

from typing import Any

from autonmf._types import Array
from autonmf.data import as_data
from autonmf.model.objective import Problem
from autonmf.path.frame import Frame
from autonmf.path.result import PathPoint
from autonmf.solvers import Solver, Stopping, make_solver, run


def polish(
    X: Any,
    U: Array,
    V: Array,
    *,
    solver: str | Solver = "pasm",
    mu: float = 1e-8,
    delta: float = 1e-6,
    tol: float = 1e-4,
    max_iter: int = 2000,
) -> PathPoint:
    """The solution that ``solver`` reaches from (U, V) at that rank, with no component at risk (λ = 0)."""
    frame = Frame.of(as_data(X), scale=True, tall=True)
    problem = Problem(frame.data, mu=mu, delta=delta)
    stopping = Stopping(tol=tol, tol_gradient=10 * tol, max_iter=max_iter)
    chosen = make_solver(solver)
    result = run(chosen, chosen.init(problem, *frame.inward(U, V)), stopping)
    return frame.point(problem, 0.0, result)
