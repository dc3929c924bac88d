"""Coordinate descent: HALS, and PASM, the proximal active-set method (Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf import kernels
from autonmf._types import Array
from autonmf.data.factors import gram
from autonmf.losses import FrobeniusState, Problem
from autonmf.losses.protocol import Posed
from autonmf.solvers.driver import Budget

HIGH_RANK = 25
"""Above this rank the exact path makes few iterations, and rules use the spectrum instead of losses."""


@dataclass(frozen=True)
class Hals:
    """Alternating sweeps over the columns of both blocks, for λ = 0.

    With λ = 0 the proximal step of Algorithm 3 drops no column and balancing does not change the product, so
    that only the sweeps remain. Products with X cost more than sweeps, so several sweeps are made for each.
    """

    sweeps: int = 3  # per product with X
    sweeps_above: int = 2  # the same above `HIGH_RANK`, where sweeps cost as much as products

    def init(self, problem: Posed, U: Array, V: Array) -> Any:
        return problem.start(U, V)

    def step(self, state: Any) -> Any:
        return state.sweep(self.sweeps if state.V.shape[1] <= HIGH_RANK else self.sweeps_above)

    def budget(self, rank: int) -> Budget:
        """Few iterations at high ranks, more where losses decide (measured in docs/performance.md)."""
        if rank > 30:
            return Budget(1, 1)
        if rank > HIGH_RANK:
            return Budget(2, 2)
        return Budget(4, 16) if rank > 12 else Budget(8, 30)


@dataclass(frozen=True)
class LongHals(Hals):
    """HALS with inertia, for hundreds of iterations at one rank: half as many, or fewer, reach the same loss.

    Ranks of the path get too few iterations for that, and rounding, which may decide where inertia begins
    anew, must not change them.
    """

    sweeps: int = 5

    def step(self, state: Any) -> Any:
        return state.sweep_ahead(self.sweeps)


@dataclass(frozen=True)
class CountDescent(Hals):
    """The same with the Kullback-Leibler loss, whose sweeps read every entry of X."""

    sweeps: int = 2

    def budget(self, rank: int) -> Budget:
        """Fewer iterations than with least squares (measured in docs/counts.md)."""
        if rank > HIGH_RANK:
            return super().budget(rank)
        return Budget(2, 6) if rank > 12 else Budget(4, 16)


@dataclass(frozen=True)
class ActiveSet:
    """Proximal step to find the active columns, HALS sweeps on them, balancing."""

    sweeps: int = 1  # HALS sweeps per block
    compact: bool = True  # drop components that are zero in both factors

    def init(self, problem: Problem, U: Array, V: Array) -> FrobeniusState:
        state = FrobeniusState.at(problem, U, V).balance()
        return state.compact() if self.compact else state

    def budget(self, rank: int) -> Budget:
        """As many sweeps as HALS makes."""
        hals = Hals()
        return Budget(*(max(hals.sweeps // self.sweeps, 1) * steps for steps in hals.budget(rank)))

    def step(self, state: FrobeniusState) -> FrobeniusState:
        problem = state.problem
        U = active_set_update(problem, state.U, state.XV, state.gram_V, self.sweeps)
        XtU, gram_U = problem.data.completed_at(U, state.V).left(U), gram(U)
        V = active_set_update(problem, state.V, XtU, gram_U, self.sweeps)
        new = FrobeniusState.at(problem, U, V, XtU=XtU, gram_U=gram_U).balance()
        return new.compact() if self.compact else new


def proximal_update(problem: Problem, block: Array, product: Array, gram: Array) -> Array:
    """The prox of g at the forward step from ``block`` (Remark 2)."""
    gamma = problem.step_size(gram)
    forward, norms = kernels.forward_step(block, product, gram, problem.mu, gamma)
    forward[:, ~problem.penalty.keeps(norms, gamma)] = 0.0
    return forward


def active_set_update(problem: Problem, block: Array, product: Array, gram: Array, sweeps: int) -> Array:
    """Identify the active columns by a proximal step, then HALS sweeps on these only (Algorithm 3)."""
    update = proximal_update(problem, block, product, gram)
    active = update.any(axis=0)
    if active.all():
        kernels.hals_sweeps(update, product, gram, problem.mu, sweeps)
    elif active.any():
        inner = np.asfortranarray(update[:, active])
        kernels.hals_sweeps(inner, product[:, active], gram[np.ix_(active, active)], problem.mu, sweeps)
        update[:, active] = inner
    return update
