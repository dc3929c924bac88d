"""Iterate one solution until the stop rule holds: first on the compression, then on X itself."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.spread import by_columns
from autonmf.model.objective import Problem
from autonmf.path.result import PathPoint
from autonmf.path.workspace import Workspace
from autonmf.solvers import Run, Solver, Stopping, make_solver, run

WINDOW = 3
"""Iterations over which the objective, or the factors, must have settled."""

NOW_AND_THEN = 10
"""The objective mostly settles first: factors, which cost a pass over them, are looked at this seldom."""

TIGHTER = 0.01
"""The path's tolerance is for solutions that lead on; the one that is kept is worth more iterations."""

CHEAP_ITERATIONS = 100
"""On the compression at most; the stop rule on X itself has the last word."""


class Polished(NamedTuple):
    """A solution, and whether the stop rule held in the end."""

    point: PathPoint
    converged: bool


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
) -> Polished:
    """The solution that ``solver`` reaches from (U, V) at that rank, with no component at risk (λ = 0)."""
    chosen = make_solver(solver).plateau()

    def settled(matrix: Data, U: Array, V: Array, tol: float, max_iter: int) -> Run:
        U, V = (by_columns(factor, matrix.dtype) for factor in (U, V))
        stopping = Stopping(tol, 0.0, WINDOW, WINDOW, WINDOW, change_every=NOW_AND_THEN, max_iter=max_iter)
        return run(chosen, chosen.init(Problem(matrix, mu=mu, delta=delta), U, V), stopping)

    with one_pool():
        U, V = workspace.inward(U, V)
        if workspace.compressed is None:
            last = settled(workspace.scaled, U, V, TIGHTER * tol, max_iter)
            spent = last.n_iter
        else:
            first = settled(workspace.compressed, U, V, TIGHTER * tol, min(max_iter, CHEAP_ITERATIONS))
            last = settled(workspace.scaled, first.state.U, first.state.V, tol, max_iter)
            spent = first.n_iter + last.n_iter
        last = replace(last, state=last.state.balanced().compact(), n_iter=spent)
        return Polished(workspace.direct().point(0.0, last), last.converged)
