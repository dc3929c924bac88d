"""Properties that hold for every matrix, searched for counterexamples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF, PathPoint, RankPath, rank_path, select_rank
from autonmf.metrics import recovery_error

SOLVERS = ("auto", "pasm", "s-ipalm", "ipalm", "palm")
GRIDS = ("exact", "adaptive")
ROUNDING = 1e-9  # of ½‖X‖²

# The same examples at each run: a failure is a change of the code.
searched = settings(deadline=None, max_examples=40, derandomize=True, database=None)

# Zeros, ties and four orders of magnitude: where columns vanish and breakpoints coincide.
entries = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(1e-2, 1e2))
matrices = array_shapes(min_dims=2, max_dims=2, max_side=7).flatmap(
    lambda shape: arrays(np.float64, shape, elements=entries)
)
positive = arrays(np.float64, (8, 6), elements=st.floats(0.5, 10))
seeds = st.integers(0, 100)


def energy(X: np.ndarray) -> float:
    return 0.5 * float(np.sum(np.square(X)))


def best_of_any_sign(X: np.ndarray, rank: int) -> float:
    """The least loss of any matrix of that rank (Eckart and Young): no nonnegative one is below."""
    return 0.5 * float(np.sum(np.linalg.svd(X, compute_uv=False)[rank:] ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
@searched
@given(X=matrices, seed=seeds)
def test_every_point_of_a_path_is_sound(solver: str, grid: str, X: np.ndarray, seed: int) -> None:
    """Finite, nonnegative, of full rank as a list of columns; the loss is what it says and within its bounds.

    Above, ½‖X‖²: at a stationary point <X - UVᵀ, UVᵀ> = 0, so no loss exceeds that of zero factors, nor does
    it after a component is dropped. On the exact path no loss is above that of a smaller rank.
    """
    assume(X.any())
    path = rank_path(
        X, max_rank=min(X.shape), solver=solver, grid=grid, budget="full", max_iter=100, random_state=seed
    )
    assert path.complete
    assert len(path.points) >= 1
    assert path.ranks[0] >= 1
    assert path.ranks[-1] <= min(X.shape)
    assert (np.diff(path.ranks) > 0).all()
    assert (np.diff([visit.lam for visit in path.visits]) >= 0).all()
    assert {visit.rank for visit in path.visits} == set(path.ranks)
    for point in path.points:
        for factor, side in ((point.U, X.shape[0]), (point.V, X.shape[1])):
            assert factor.shape == (side, point.rank)
            assert np.isfinite(factor).all()
            assert (factor >= 0).all()
            assert factor.any(axis=0).all()
        assert_allclose(point.loss, energy(X - point.U @ point.V.T), atol=ROUNDING * energy(X))
        assert point.loss >= best_of_any_sign(X, point.rank) - ROUNDING * energy(X)
        assert point.loss <= energy(X) * (1 + 1e-3)
    assert grid == "adaptive" or (np.diff(path.losses) <= ROUNDING * energy(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@settings(searched, max_examples=15)
@given(X=positive, seed=seeds)
def test_exact_paths_of_positive_matrices(solver: str, X: np.ndarray, seed: int) -> None:
    """With no zeros in the way the exact path reaches rank one without a gap, and the best loss there."""
    path = rank_path(X, max_rank=4, solver=solver, budget="full", tol=1e-8, max_iter=3000, random_state=seed)
    assert_array_equal(path.ranks, np.arange(1, path.ranks[-1] + 1))
    assert_allclose(path.losses[0], path.rank_one_loss, atol=1e-6 * energy(X))
    assert_allclose(path.rank_one_loss, best_of_any_sign(X, 1), atol=ROUNDING * energy(X))
    assert (path.losses <= path.rank_one_loss + 1e-6 * energy(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
@searched
@given(X=matrices, seed=seeds)
def test_estimator_fits_anything(solver: str, grid: str, X: np.ndarray, seed: int) -> None:
    """W = 0 is allowed, so nonnegative least squares never leaves more than ‖X‖."""
    assume(X.any())
    model = AutoNMF(solver=solver, grid=grid, tol=1e-3, random_state=seed)
    W = model.fit_transform(X)
    H = model.components_
    assert W.shape == (X.shape[0], model.n_components_)
    assert H.shape == (model.n_components_, X.shape[1])
    assert np.isfinite(W).all()
    assert np.isfinite(H).all()
    assert (W >= 0).all()
    assert (H >= 0).all()
    assert_allclose(model.reconstruction_err_, np.linalg.norm(X - W @ H), atol=1e-7 * np.linalg.norm(X))
    least = np.sqrt(2 * best_of_any_sign(X, model.n_components_))
    assert least - 1e-7 * np.linalg.norm(X) <= model.reconstruction_err_ <= np.linalg.norm(X) * (1 + 1e-9)
    assert_allclose(model.transform(3 * X), 3 * W, atol=1e-4 * np.abs(W).max())


@pytest.mark.parametrize("solver", SOLVERS)
@settings(searched, max_examples=15)
@given(seed=seeds)
def test_order_of_rows_and_columns_does_not_matter(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, U, V = rng.random((9, 7)), rng.random((9, 4)), rng.random((7, 4))
    rows, columns = rng.permutation(9), rng.permutation(7)
    one = rank_path(X, solver=solver, init=(U, V))
    other = rank_path(X[rows][:, columns], solver=solver, init=(U[rows], V[columns]))
    assert_array_equal(one.ranks, other.ranks)
    assert_allclose(one.losses, other.losses, rtol=1e-6)
    for p, q in zip(one.points, other.points, strict=True):
        assert_allclose(p.U[rows] @ p.V[columns].T, q.U @ q.V.T, atol=1e-5)


@searched
@given(X=matrices, seed=seeds)
def test_storage_does_not_matter(X: np.ndarray, seed: int) -> None:
    assume(X.any())
    options = {"max_rank": min(X.shape), "engine": "direct", "random_state": seed}
    dense = rank_path(X, **options)
    for convert in (sparse.csr_matrix, sparse.csc_matrix, np.asfortranarray):
        other = rank_path(convert(X), **options)
        assert_array_equal(other.ranks, dense.ranks)
        assert_allclose(other.losses, dense.losses, atol=1e-6 * energy(X))


@st.composite
def paths(draw: st.DrawFn) -> RankPath:
    """Any losses at any ranks, in any order: what a rule may be given."""
    ranks = draw(st.lists(st.integers(1, 12), min_size=1, unique=True).map(sorted))
    fraction = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1), st.floats(0, 1e-14))
    points = tuple(
        PathPoint(np.ones((13, rank)), np.ones((12, rank)), 0.5 * draw(fraction), 0.0, 1) for rank in ranks
    )
    return RankPath(points, (), (13, 12), 1.0, draw(st.floats(0, 0.45)), 0.5, 0.0, 0.0, True, {})


@settings(searched, max_examples=200)
@given(path=paths(), tau=st.floats(0.1, 100))
def test_a_rule_answers_with_a_rank_it_was_shown(path: RankPath, tau: float) -> None:
    estimate = select_rank(path, tau=tau)
    assert estimate.rank in {1, *path.ranks}
    assert estimate.rank in estimate.plausible
    assert estimate.why
    assert len({len(column) for column in estimate.evidence.values()}) == 1
    drops = estimate.evidence["drop"][1:]
    assert (drops >= 0).all()
    assert np.isfinite(drops).all()


@settings(searched, max_examples=100)
@given(seed=seeds, wanted=st.integers(1, 4), found=st.integers(0, 5))
def test_recovery_error_has_its_bounds(seed: int, wanted: int, found: int) -> None:
    """0 for the truth itself; at most √(2 r*) for nonnegative factors, and √ of what is superfluous."""
    rng = np.random.default_rng(seed)
    truth, estimate = rng.random((6, wanted)), rng.random((6, found))
    assert recovery_error(truth, truth) < 1e-7
    error = recovery_error(truth, estimate)
    assert 0 <= error <= np.sqrt(2 * wanted) + np.sqrt(max(found - wanted, 0)) + 1e-12
    more = recovery_error(truth, np.hstack([truth, estimate]))
    assert_allclose(more, np.sqrt(found), atol=1e-6)
