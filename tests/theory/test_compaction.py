"""Dropping components that are zero in both factors changes no iterate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf.data import as_data
from autonmf.losses import Problem
from autonmf.solvers import ActiveSet, Inertial, NesterovInertia, NoInertia

SOLVERS = {
    "palm": lambda compact: Inertial(NoInertia(), compact=compact),
    "ipalm": lambda compact: Inertial(NesterovInertia(), compact=compact),
    "s-ipalm": lambda compact: Inertial(NesterovInertia(), balanced=True, compact=compact),
    "pasm": lambda compact: ActiveSet(compact=compact),
}


def pairs(make, problem, U, V, steps):
    """States of the fixed-size and of the compact solver, side by side."""
    solvers = make(False), make(True)
    states = [solver.init(problem, U, V) for solver in solvers]
    for _ in range(steps):
        states = [solver.step(state) for solver, state in zip(solvers, states, strict=True)]
        yield states


def check_same(fixed, compact, columns):
    kept = fixed.U.any(axis=0) | fixed.V.any(axis=0)
    assert fixed.U.shape[1] == columns
    assert compact.U.shape[1] == np.count_nonzero(kept)
    assert_allclose(compact.U, fixed.U[:, kept], atol=1e-10)
    assert_allclose(compact.V, fixed.V[:, kept], atol=1e-10)
    assert_allclose(compact.objective, fixed.objective)
    assert compact.rank == fixed.rank


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_same_iterates(name, seed, paper):
    X, U, V = paper.start(seed)
    problem = Problem(as_data(X), mu=0.5, lam=8.0, delta=1.0)
    for fixed, compact in pairs(SOLVERS[name], problem, U, V, 40):
        check_same(fixed, compact, U.shape[1])


@pytest.mark.parametrize("name", SOLVERS)
def test_columns_do_vanish(name, paper):
    """The comparison above is not of five columns with five columns."""
    left = []
    for seed in range(4):
        X, U, V = paper.start(seed)
        problem = Problem(as_data(X), mu=0.5, lam=8.0, delta=1.0)
        *_, (_, compact) = pairs(SOLVERS[name], problem, U, V, 40)
        left.append(compact.U.shape[1])
    assert min(left) < 5


@pytest.mark.parametrize("name", ["palm", "ipalm"])
def test_component_that_is_zero_in_one_factor_comes_back(name):
    """Unbalanced, a component zero in U only is not lost.

    The first component starts so large that it overfits the last entry, and the second, which belongs
    there, has nothing left to explain; one step later it has.
    """
    ones, last = np.ones(3), np.eye(3)[2]
    X = np.ones((3, 3)) + 4 * np.outer(last, last)
    U = np.column_stack([6 * ones, 0.1 * last, [0.05, 0.0, 0.0]])
    V = np.column_stack([ones, 2 * last, [0.05, 0.0, 0.0]])
    problem = Problem(as_data(X), mu=0.1, lam=0.05, delta=1.0)
    zero_in_U_only, vanished = [], False
    for fixed, compact in pairs(SOLVERS[name], problem, U, V, 60):
        check_same(fixed, compact, 3)
        in_U, in_V = fixed.U.any(axis=0), fixed.V.any(axis=0)
        zero_in_U_only.append(bool(~in_U[1] & in_V[1]))
        vanished |= not (in_U[2] | in_V[2])
    assert zero_in_U_only[0]  # gone from U, alive in V
    assert fixed.U[:, 1].any()  # and back
    assert vanished  # while another component was removed meanwhile
    assert compact.U.shape[1] == 2
