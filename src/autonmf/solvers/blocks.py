"""The update of one block, given the other. U and V are updated by these same functions."""

from __future__ import annotations

import numpy as np

from autonmf import kernels
from autonmf._types import Array
from autonmf.model.objective import Problem


def breakpoints(problem: Problem, block: Array, product: Array, gram: Array) -> Array:
    """The λ at which each column of the block would be dropped: ½γ‖column of the forward step‖²."""
    gamma = problem.step_size(gram)
    _, norms = kernels.forward_step(block, product, gram, problem.mu, gamma)
    return problem.penalty.breakpoints(norms, gamma)


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
