"""PASM, the proximal active-set method (Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass

from autonmf._types import Array
from autonmf.model.objective import Problem, gram
from autonmf.solvers.blocks import active_set_update
from autonmf.solvers.budget import Budget
from autonmf.solvers.hals import Hals
from autonmf.solvers.state import State


@dataclass(frozen=True)
class ActiveSet:
    """Proximal step to find the active columns, HALS sweeps on them, balancing."""

    sweeps: int = 1  # HALS sweeps a block
    compact: bool = True  # drop components that are zero in both factors

    def init(self, problem: Problem, U: Array, V: Array) -> State:
        state = State.start(problem, U, V).balanced()
        return state.compact() if self.compact else state

    def budget(self, rank: int) -> Budget:
        return self.plateau().budget(rank)

    def plateau(self) -> Hals:
        return Hals()

    def step(self, state: State) -> State:
        problem = state.problem
        U = active_set_update(problem, state.U, state.XV, state.gram_V, self.sweeps)
        XtU, gram_U = problem.data.seen_from(U, state.V).left(U), gram(U)
        V = active_set_update(problem, state.V, XtU, gram_U, self.sweeps)
        new = State(problem, U, V, XtU, gram_U, gram(V)).balanced()
        return new.compact() if self.compact else new
