"""HALS: what PASM is where no column is at risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autonmf import kernels
from autonmf._types import Array
from autonmf.data.spread import kept, rowwise
from autonmf.model.objective import Problem, gram
from autonmf.solvers.budget import Budget
from autonmf.solvers.state import State


@dataclass(frozen=True)
class Hals:
    """Alternating HALS sweeps on both blocks, for λ = 0.

    With λ = 0 the proximal step of Algorithm 3 has no column to drop and balancing changes no product, which
    leaves the sweeps. Products with X cost more than sweeps, so several sweeps are made for each.
    """

    sweeps: int = 3  # for each product with X
    sweeps_above: int = 2  # the same at ranks above ``few``, where sweeps cost as much as products
    few: int = 25

    def init(self, problem: Problem, U: Array, V: Array) -> State:
        return State.start(problem, U, V).compact()

    def step(self, state: State) -> State:
        problem = state.problem
        sweeps = self.sweeps if state.U.shape[1] <= self.few else self.sweeps_above
        U = kept(rowwise(_swept, state.U, state.XV, state.gram_V, problem.mu, sweeps))
        XtU, gram_U = problem.data.seen_from(U, state.V).left(U), gram(U)
        V = _swept(state.V, XtU, gram_U, problem.mu, sweeps)
        return State(problem, U, V, XtU, gram_U, gram(V)).compact()

    def budget(self, rank: int) -> Budget:
        """Few where the path only leads down, more where losses decide (docs/performance.md measures it)."""
        if rank > 30:
            return Budget(1, 1)
        if rank > self.few:
            return Budget(2, 2)
        return Budget(4, 16) if rank > 12 else Budget(8, 30)

    def plateau(self) -> Hals:
        return self


def _swept(block: Array, product: Array, gram: Array, mu: float, sweeps: int) -> Array:
    block = np.array(block, order="F")
    kernels.hals_sweeps(block, product, gram, mu, sweeps)
    return block
