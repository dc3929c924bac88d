"""Merging two components: the best approximation of their sum by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf.data import Dense
from autonmf.model.merging import cheapest_merger, merging_costs
from autonmf.model.objective import Problem
from autonmf.solvers import State


def factors(seed, n=12, m=9, rank=5):
    rng = np.random.default_rng(seed)
    U, V = (rng.random((size, rank)) * (rng.random((size, rank)) > 0.4) for size in (n, m))
    return np.asfortranarray(U), np.asfortranarray(V)


@pytest.mark.parametrize("seed", range(5))
def test_costs_are_half_the_second_singular_values_squared(seed):
    U, V = factors(seed)
    costs = merging_costs(U.T @ U, V.T @ V)
    for i in range(5):
        assert np.isinf(costs[i, i])
        for j in range(i):
            sigma = np.linalg.svd(U[:, [i, j]] @ V[:, [i, j]].T, compute_uv=False)
            assert_allclose(costs[i, j], 0.5 * sigma[1] ** 2, rtol=1e-8, atol=1e-12)
            assert_allclose(costs[i, j], costs[j, i])


@pytest.mark.parametrize("seed", range(5))
def test_a_merger_never_costs_more_than_dropping_the_weaker(seed):
    U, V = factors(seed)
    energy = np.sum(U**2, axis=0) * np.sum(V**2, axis=0)
    costs = merging_costs(U.T @ U, V.T @ V)
    assert (
        costs[~np.eye(5, dtype=bool)]
        <= 0.5 * np.minimum.outer(energy, energy)[~np.eye(5, dtype=bool)] + 1e-12
    ).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_merged_state_is_the_truncated_svd_of_the_pair(seed):
    U, V = factors(seed)
    X = np.random.default_rng(seed).random((12, 9))
    state = State.start(Problem(Dense(X)), U, V)
    _ = state.XV  # known, so it must be carried over
    merger = cheapest_merger(state.gram_U, state.gram_V)
    one = state.merged(merger)
    pair = [merger.kept, merger.gone]
    left, sigma, right = np.linalg.svd(U[:, pair] @ V[:, pair].T)
    others = [k for k in range(5) if k not in pair]
    expected = U[:, others] @ V[:, others].T + sigma[0] * np.outer(left[:, 0], right[0])
    assert_allclose(one.U @ one.V.T, expected, atol=1e-10)
    assert (one.U >= 0).all()
    assert (one.V >= 0).all()
    assert_allclose(one.XtU, X.T @ one.U, atol=1e-10)
    assert_allclose(one.XV, X @ one.V, atol=1e-10)
    assert_allclose(one.gram_U, one.U.T @ one.U, atol=1e-10)
    assert_allclose(one.gram_V, one.V.T @ one.V, atol=1e-10)


def test_a_duplicated_component_is_merged_at_no_cost():
    U, V = factors(0)
    U, V = np.column_stack([U, 2 * U[:, 1]]), np.column_stack([V, V[:, 1]])
    merger = cheapest_merger(U.T @ U, V.T @ V)
    assert {merger.kept, merger.gone} == {1, 5}
    assert_allclose(merging_costs(U.T @ U, V.T @ V)[1, 5], 0, atol=1e-12)
