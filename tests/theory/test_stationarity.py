"""P-stationarity: the theorem in both directions, the reported residuals, and every point of a path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import nnls

from autonmf import rank_path
from autonmf.datasets import make_low_rank
from autonmf.model.penalty import ColumnPenalty
from experiments.paper.statements import stationarity

SEEDS = range(5)
MU = 0.3


def solved_block(paper, seed: int):
    """X, a V, and the U that SciPy's NNLS finds on a random support of three of four columns."""
    X, _, V = paper.start(seed, columns=4)
    support = np.random.default_rng(seed).permutation(4)[:3]
    design = np.vstack([V[:, support], np.sqrt(MU) * np.eye(3)])
    U = np.zeros((len(X), 4))
    U[:, support] = [nnls(design, np.append(row, np.zeros(3)))[0] for row in X]
    return X, U, V


def conditions(U: np.ndarray, G: np.ndarray, lam: float, gamma: float) -> bool:
    """The two cases of the theorem, as printed."""
    for u, g in zip(U.T, G.T, strict=True):
        if u.any():
            kkt = (u >= 0).all() and (g >= -1e-8).all() and np.abs(u * g).max() <= 1e-8
            if not kkt or np.linalg.norm(u) < np.sqrt(2 * lam / gamma):
                return False
        elif np.linalg.norm(np.maximum(-g, 0)) > np.sqrt(2 * lam * gamma):
            return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_in_both_directions(seed, paper):
    """A fixed point of the prox, by enumeration of supports, is what the conditions say it is."""
    X, U, V = solved_block(paper, seed)
    outcomes = set()
    gamma = np.linalg.norm(V, 2) ** 2 + MU + 1.0
    for lam in np.geomspace(1e-3, 100, 25):
        for point in (U, 1.1 * U, U + 0.01):
            model = paper.Model(X, mu=MU, lam=lam, delta=1.0)
            G = model.gradients(point, V)[0]
            forward = point - G / gamma
            gap = model.prox_value(point, forward, gamma) - model.brute_prox(forward, gamma)
            expected = conditions(point, G, lam, gamma)
            assert (gap <= 1e-9) == expected
            residual = ColumnPenalty(lam).stationarity(point, G, gamma)
            assert (residual <= 1e-7) == expected
            found = stationarity(X, point, V, lam=lam, mu=MU, gamma=gamma).U
            assert_allclose(found.p_stationarity, residual, atol=1e-12)
            if point is U:
                low, high = found.lam_interval
                assert expected == (low <= lam <= high)
            outcomes.add(expected)
    assert outcomes == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_interval_of_a_block_ends_where_a_column_appears_or_vanishes(seed, paper):
    """Just inside [low, high] the proximal step does not move; just outside it changes the support."""
    X, U, V = solved_block(paper, seed)
    gamma = np.linalg.norm(V, 2) ** 2 + MU + 1.0
    low, high = stationarity(X, U, V, lam=0.0, mu=MU, gamma=gamma).U.lam_interval
    assert 0 < low < high < np.inf
    for lam, same in ((0.999 * low, False), (1.001 * low, True), (0.999 * high, True), (1.001 * high, False)):
        model = paper.Model(X, mu=MU, lam=lam, delta=1.0)
        step = model.prox(U - model.gradients(U, V)[0] / gamma, gamma)
        assert np.allclose(step, U, atol=1e-8) == same
        assert np.array_equal(step.any(axis=0), U.any(axis=0)) == same


@pytest.mark.parametrize("solver", ["pasm", "s-ipalm"])
def test_every_point_of_an_exact_path_is_stationary_below_its_breakpoint(solver):
    """A point of the exact path is solved with no column at risk: stationary from 0 to its own breakpoint."""
    X = 50 * make_low_rank(30, 20, rank=3, noise=0.3, random_state=1)[0]  # units that matter
    path = rank_path(
        X, max_rank=5, solver=solver, budget="full", tol=1e-10, max_iter=20000, delta=1e-3, random_state=0
    )
    assert path.ranks.tolist() == [1, 2, 3, 4, 5]
    next_lam = {visit.rank: visit.next_lam for visit in path.visits}
    reached = 0
    for point in path.points:

        def residuals(lam, point=point):
            return stationarity(X, point.U, point.V, lam=lam, mu=path.mu, delta=path.delta)

        low, high = residuals(0.0).lam_interval
        assert low == 0.0
        assert_allclose(high, next_lam[point.rank], rtol=1e-3)
        crossed = max((lam for rank, lam in next_lam.items() if rank > point.rank), default=0.0)
        assert_allclose(point.lam, crossed, rtol=1e-6)  # where the path came from
        assert residuals(0.0).kkt <= 1e-3 * np.linalg.norm(X @ point.V)
        for lam in (0.0, 0.5 * high, 0.999 * high):
            assert residuals(lam).holds(1e-4)
        assert not residuals(1.1 * high).holds(1e-4)
        assert residuals(point.lam).holds(1e-4) == (point.lam <= high)
        reached += point.lam <= high
    assert reached >= 3  # most plateaus have a length, and there the path's own λ is one of these


def test_every_point_of_the_papers_grid_is_stationary_at_its_lambda():
    X = 50 * make_low_rank(30, 20, rank=3, noise=0.3, random_state=1)[0]  # units that matter
    path = rank_path(
        X, max_rank=5, grid="adaptive", n_points=10, tol=1e-10, max_iter=20000, delta=1e-3, random_state=0
    )
    assert len(path.points) >= 3
    for point in path.points:
        found = stationarity(X, point.U, point.V, lam=point.lam, mu=path.mu, delta=path.delta)
        assert found.holds(1e-4), str(found)


def test_units(low_rank):
    """The same point of 100·X has the same relative residuals: λ, μ, δ scale as a path scales them."""
    path = rank_path(low_rank, max_rank=4, random_state=0)
    point = path.at_rank(3)
    s = 100.0
    one = stationarity(low_rank, point.U, point.V, lam=point.lam, mu=path.mu, delta=path.delta)
    other = stationarity(
        s * low_rank, 10 * point.U, 10 * point.V, lam=s**2 * point.lam, mu=s * path.mu, delta=s * path.delta
    )
    for block in ("U", "V"):
        a, b = getattr(one, block), getattr(other, block)
        assert_allclose(a.relative_p_stationarity, b.relative_p_stationarity, rtol=1e-6)
        assert_allclose(a.relative_kkt, b.relative_kkt, rtol=1e-6)
    assert_allclose(np.multiply(one.lam_interval, s**2), other.lam_interval)


def test_storage_and_report(low_rank):
    """Sparse X gives the same numbers; the report names both blocks and unequal supports."""
    path = rank_path(low_rank, max_rank=4, random_state=0)
    point = path.at_rank(3)
    arguments = {"lam": point.lam, "mu": path.mu, "delta": path.delta}
    dense = stationarity(low_rank, point.U, point.V, **arguments)
    assert_allclose(
        stationarity(sparse.csr_array(low_rank), point.U, point.V, **arguments).p_stationarity,
        dense.p_stationarity,
        rtol=1e-6,
    )
    assert str(dense).count("P-stationarity") == 2
    V = point.V.copy()
    V[:, 0] = 0.0
    assert "supports of U and V differ" in str(stationarity(low_rank, point.U, V, **arguments))


def test_zero_factors(low_rank):
    """(0, 0) is stationary at every λ."""
    found = stationarity(low_rank, np.zeros((60, 2)), np.zeros((40, 2)), lam=1.0, mu=0.0)
    assert found.p_stationarity == found.kkt == found.U.relative_kkt == 0.0
    assert found.lam_interval == (0.0, np.inf)
    found = stationarity(low_rank, np.zeros((60, 1)), np.ones((40, 1)), lam=0.0, mu=0.0)
    assert found.U.relative_p_stationarity == np.inf


def test_two_step_sizes(low_rank):
    U, V = np.ones((60, 1)), np.ones((40, 1))
    found = stationarity(low_rank, U, V, lam=1.0, mu=0.0, gamma=(3.0, 5.0))
    assert (found.U.gamma, found.V.gamma) == (3.0, 5.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"U": -np.ones((60, 1))}, "U must be finite and nonnegative"),
        ({"V": np.ones((40, 2))}, "equally many columns"),
        ({"V": np.ones((41, 1))}, "X has shape"),
        ({"lam": -1.0}, "lam must be a nonnegative number"),
        ({"mu": np.nan}, "mu must be a nonnegative number"),
        ({"gamma": 0.0}, "gamma must be positive"),
    ],
)
def test_errors(low_rank, change, message):
    arguments = {"U": np.ones((60, 1)), "V": np.ones((40, 1)), "lam": 1.0, "mu": 1.0} | change
    with pytest.raises(ValueError, match=message):
        stationarity(low_rank, **arguments)
