"""PALM, iPALM (Algorithm 1) and S-iPALM (Algorithm 2): one inertial step with two switches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from autonmf._types import Array
from autonmf.data.factors import gram
from autonmf.losses import FrobeniusState, Problem
from autonmf.losses.frobenius import lipschitz
from autonmf.solvers.coordinate import HIGH_RANK, proximal_update
from autonmf.solvers.driver import Budget


class Inertia(Protocol):
    """How far a step extrapolates: β_k."""

    def beta(self, t: tuple[float, float], problem: Problem, tau: float) -> float:
        """β_k from Nesterov's (t_{k-1}, t_k), the problem and a Lipschitz constant τ of the blocks."""


@dataclass(frozen=True)
class NoInertia:
    """β = 0: the step is PALM's."""

    def beta(self, t: tuple[float, float], problem: Problem, tau: float) -> float:
        return 0.0


@dataclass(frozen=True)
class NesterovInertia:
    """β_k = (t_{k-1} - 1)/t_k, as in Section VI-A."""

    def beta(self, t: tuple[float, float], problem: Problem, tau: float) -> float:
        return (t[0] - 1.0) / t[1]


@dataclass(frozen=True)
class Inertial:
    """The inertial proximal step on U, then on V; balanced afterwards if asked (S-iPALM)."""

    inertia: Inertia
    balanced: bool = False
    compact: bool = True  # drop components that are zero in both factors

    def init(self, problem: Problem, U: Array, V: Array) -> FrobeniusState:
        state = FrobeniusState.at(problem, U, V)
        if self.balanced:
            state = state.balance()
        return state.compact() if self.compact else state

    def budget(self, rank: int) -> Budget:
        """More than HALS: first-order steps are cheap and make less progress."""
        if rank > HIGH_RANK:
            return Budget(15, 15)
        return Budget(40, 40) if rank > 12 else Budget(60, 60)

    def step(self, state: FrobeniusState) -> FrobeniusState:
        problem = state.problem
        U_old, V_old = state.previous or (state.U, state.V)
        beta = self.inertia.beta(state.t, problem, lipschitz(state.gram_V, problem.mu))
        U = proximal_update(problem, _extrapolate(state.U, U_old, beta), state.XV, state.gram_V)
        XtU, gram_U = problem.data.completed_at(U, state.V).left(U), gram(U)
        beta = self.inertia.beta(state.t, problem, lipschitz(gram_U, problem.mu))
        V = proximal_update(problem, _extrapolate(state.V, V_old, beta), XtU, gram_U)
        t = (state.t[1], 0.5 * (1.0 + math.sqrt(4.0 * state.t[1] ** 2 + 1.0)))
        new = FrobeniusState.at(problem, U, V, XtU=XtU, gram_U=gram_U, previous=(state.U, state.V), t=t)
        if self.balanced:
            new = new.balance()
        return new.compact() if self.compact else new


def _extrapolate(block: Array, old: Array, beta: float) -> Array:
    """The extrapolated point B + β(B - B_old)."""
    if beta == 0.0:
        return block
    return np.asfortranarray(block + beta * (block - old))
