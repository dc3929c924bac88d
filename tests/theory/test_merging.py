"""Merging two components: the best approximation of their sum by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf.data import Dense
from autonmf.data.masked import Masked
from autonmf.losses import FrobeniusState, Problem
from autonmf.model.components import find_cheapest_merger, merging_costs


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
    state = FrobeniusState.at(Problem(Dense(X)), U, V)
    _ = state.XV  # known, so it must be carried over
    merger = find_cheapest_merger(state.gram_U, state.gram_V)
    one = state.apply_merger(merger)
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
    merger = find_cheapest_merger(U.T @ U, V.T @ V)
    assert {merger.kept, merger.gone} == {1, 5}
    assert_allclose(merging_costs(U.T @ U, V.T @ V)[1, 5], 0, atol=1e-12)


def test_rounding_does_not_decide_which_of_two_is_kept():
    """Gram matrices are not symmetric to the last bit, and sweeps depend on the order of components."""
    U, V = factors(0)
    gram_U, gram_V = U.T @ U, V.T @ V
    expected = find_cheapest_merger(gram_U, gram_V)
    assert expected.kept < expected.gone
    for sign in (-1, 1):
        other = gram_U.copy()
        other[np.tril_indices(5, -1)] *= 1 + sign * 1e-15
        assert find_cheapest_merger(other, gram_V)[:2] == expected[:2]


@pytest.mark.parametrize("complete", [True, False])
def test_a_component_is_added(complete):
    """The grown state has the products of its own factors, and its loss is smaller by ½‖q‖²/‖p‖²."""
    U, V = factors(0, rank=2)
    X = np.random.default_rng(0).random((12, 9)) + U @ V.T
    known = np.random.default_rng(1).random((12, 9)) < 0.8
    data = Dense(X) if complete else Masked(np.where(known, X, 0.0), known)
    state = FrobeniusState.at(Problem(data), U, V)
    grown = state.grow()
    assert grown.rank == 3
    assert_allclose(np.linalg.norm(grown.U, axis=0), np.linalg.norm(grown.V, axis=0))
    completed = data.completed_at(grown.U, grown.V)
    assert_allclose(grown.XtU, completed.left(grown.U), rtol=1e-10)
    assert_allclose(grown.XV, completed.right(grown.V), rtol=1e-10)
    assert_allclose(grown.gram_U, grown.U.T @ grown.U, atol=1e-10)
    assert_allclose(grown.gram_V, grown.V.T @ grown.V, atol=1e-10)
    assert_allclose(grown.loss, 0.5 * data.squared_residual(grown.U, grown.V), rtol=1e-9)
    fall = 0.5 * np.linalg.norm(grown.U[:, -1]) ** 2 * np.linalg.norm(grown.V[:, -1]) ** 2
    assert grown.loss <= state.loss - fall * (1 - 1e-9)
    if complete:
        assert_allclose(grown.loss, state.loss - fall)


def test_nothing_is_added_to_a_perfect_fit():
    U, V = np.eye(4)[:, :2], np.eye(3)[:, :2]
    state = FrobeniusState.at(Problem(Dense(U @ V.T)), np.asfortranarray(U), np.asfortranarray(V))
    assert state.grow() is state
    halves = state.split(4)
    assert halves.rank == 4
    assert_allclose(halves.U @ halves.V.T, U @ V.T)
