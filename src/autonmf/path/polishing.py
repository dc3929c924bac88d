"""Iterate one solution until the stop rule holds: first on the compression, then on X itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data
from autonmf.model.objective import Problem
from autonmf.path.result import PathPoint
from autonmf.path.workspace import Workspace
from autonmf.solvers import Run, Solver, Stopping, make_solver, run

WINDOW = 5
"""Iterations over which the objective must have settled. No component is at risk: the rank needs no watch."""


def polish(
    workspace: Workspace,
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
    stopping = Stopping(tol, 10 * tol, WINDOW, WINDOW, WINDOW, max_iter)
    chosen = make_solver(solver).plateau()

    def settled(matrix: Data, U: Array, V: Array) -> Run:
        U, V = (np.asfortranarray(factor, dtype=matrix.dtype) for factor in (U, V))
        return run(chosen, chosen.init(Problem(matrix, mu=mu, delta=delta), U, V), stopping)

    with one_pool():
        U, V = workspace.inward(U, V)
        spent = 0
        if workspace.compressed is not None:
            first = settled(workspace.compressed, U, V)
            U, V, spent = first.state.U, first.state.V, first.n_iter
        last = settled(workspace.scaled, U, V)
        point = workspace.direct().point(0.0, last)
        return replace(point, n_iter=spent + last.n_iter)
