"""The Kullback-Leibler loss on a path: descent, optimality, mergers, invariance, scikit-learn beside it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import xlogy
from sklearn.decomposition import NMF, non_negative_factorization

from autonmf import AutoNMF, rank_path
from autonmf._threads import one_pool
from autonmf.data import as_data, as_rows
from autonmf.datasets import make_low_rank
from autonmf.losses import LOSSES
from autonmf.losses.kullback_leibler import CountProblem, CountState
from autonmf.path import find_loss

KL = "kullback-leibler"
LOSS = LOSSES[KL]


def counts(n: int = 60, m: int = 40, rank: int = 3, seed: int = 0, mean: float = 8.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.3, 1.0, (n, rank)) @ rng.gamma(0.3, 1.0, (rank, m))
    return rng.poisson(mean * means / means.mean()).astype(float)


def divergence(X: Any, U: np.ndarray, V: np.ndarray) -> float:
    x = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(float)
    fit = U.astype(float) @ V.T.astype(float)
    return float(np.sum(xlogy(x, x) - xlogy(x, np.maximum(fit, 1e-300)) - x + fit))


def start(X: Any, rank: int, seed: int = 0, dtype: Any = np.float64) -> CountState:
    problem = CountProblem.of(as_data(X), dtype)
    U, V = LOSS.initialize(problem, rank, "random", np.random.default_rng(seed))
    return problem.start(U, V)


def test_losses_have_the_names_of_scikit_learn() -> None:
    assert find_loss(1) is find_loss(1.0) is find_loss(KL) is LOSS
    assert find_loss(2) is find_loss("frobenius")
    for unknown in ("poisson", 0, True, None):
        with pytest.raises(ValueError, match="unknown beta_loss"):
            find_loss(unknown)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 5))
def test_every_iteration_lowers_the_loss(dtype: Any, seed: int, rank: int) -> None:
    X = counts(14, 9, 3, seed)
    X[2] = 0.0
    if not X.any():
        return
    state = start(X, rank, seed, dtype)
    slack = 1e-9 if dtype == np.float64 else 1e-5
    before = divergence(X, state.U, state.V)
    for _ in range(12):
        state = state.sweep(1)
        now = divergence(X, state.U, state.V)
        assert now <= before * (1 + slack) + slack
        assert state.loss == pytest.approx(now, rel=slack, abs=slack * X.sum())
        before = now


@pytest.mark.slow
def test_many_iterations_reach_a_point_where_nothing_is_left_to_gain() -> None:
    """The KKT conditions of both factors."""
    X = counts(20, 15, 2)
    state = start(X, 2)
    for _ in range(3000):
        state = state.sweep(2)
    R = 1.0 - np.divide(X, state.U @ state.V.T)
    for factor, gradient in ((state.U, R @ state.V), (state.V, R.T @ state.U)):
        scale = np.abs(X).sum() ** 0.5
        assert np.abs(factor * gradient).max() < 1e-6 * scale
        assert gradient.min() > -1e-6 * scale


def test_the_multiplicative_step_is_that_of_scikit_learn() -> None:
    X = counts(20, 15) + 0.5  # no zeros: scikit-learn adds a constant to them
    state = start(X, 3)
    W, H = state.U.copy(), np.ascontiguousarray(state.V.T)
    for step in range(1, 4):
        state = state.multiply()
        ours = state.U @ state.V.T
        theirs = non_negative_factorization(
            X,
            W.copy(),
            H.copy(),
            n_components=3,
            init="custom",
            solver="mu",
            beta_loss=KL,
            max_iter=step,
            tol=0.0,
        )
        assert_allclose(ours, theirs[0] @ theirs[1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_merger_keeps_the_sums_and_is_the_cheapest(seed: int) -> None:
    X = counts(30, 25, 3, seed)
    state = start(X, 5, seed)
    for _ in range(30):
        state = state.sweep(1)
    merged = state.merge()
    assert merged.rank == 4
    before, after = state.U @ state.V.T, merged.U @ merged.V.T
    assert_allclose(after.sum(axis=0), before.sum(axis=0), rtol=1e-9)
    assert_allclose(after.sum(axis=1), before.sum(axis=1), rtol=1e-9)
    # By brute force: the loss after each merger, and which pairs cost least.
    losses = {}
    for pair in combinations(range(5), 2):
        keep = [k for k in range(5) if k not in pair]
        P = sum(np.outer(state.U[:, k], state.V[:, k]) for k in pair)
        fit = state.U[:, keep] @ state.V[:, keep].T + np.outer(P.sum(axis=1), P.sum(axis=0)) / P.sum()
        losses[pair] = float(np.sum(xlogy(X, X) - xlogy(X, fit) - X + fit))
    assert divergence(X, merged.U, merged.V) == pytest.approx(
        losses[tuple(sorted(state.cheapest_pair()))], rel=1e-9
    )
    ranked = sorted(losses, key=lambda pair: losses[pair])
    assert tuple(sorted(state.cheapest_pair())) in ranked[:2]


def test_two_equal_components_are_merged_without_cost() -> None:
    state = start(counts(), 3)
    U, V = (np.asfortranarray(f[:, [0, 1, 2, 1]]) for f in (state.U, state.V))
    doubled = state.problem.start(U, V)
    assert sorted(doubled.cheapest_pair()) == [1, 3]
    assert_allclose(doubled.merge().loss, doubled.loss, rtol=1e-9)


def test_one_more_component_lowers_the_loss() -> None:
    X = counts()
    state = start(X, 1)
    for _ in range(20):
        state = state.sweep(1)
    for rank in (2, 3, 4):
        before, state = state.loss, state.grow()
        assert state.rank == rank
        assert state.loss < before


def test_one_more_component_is_found_where_only_one_entry_exceeds_the_fit() -> None:
    """Sums over a row with arbitrary weights are below the fit: they show no direction."""
    X = np.full((30, 80), 0.99)
    X[3] = 0.9
    X[3, 5] = 3.0
    state = CountProblem.of(as_data(X), np.float64).start(*(np.ones((n, 1), order="F") for n in X.shape))
    grown = state.grow()
    assert grown.rank == 2
    assert divergence(X, grown.U, grown.V) < divergence(X, state.U, state.V)


def test_a_component_in_equal_parts_keeps_its_loss() -> None:
    state = start(counts(), 3, dtype=np.float32).sweep(2)
    assert state.split(5).rank == 5
    assert state.split(5).loss == state.loss


def test_losses_of_rounded_products_never_rise() -> None:
    """Hardly any noise, and more components than there are: losses of the largest ranks barely differ."""
    rng = np.random.default_rng(2)
    signatures = rng.dirichlet(np.full(60, 0.1), 8)
    X = np.round(np.exp(rng.normal(5, 1.5, (300, 8))) * (rng.random((300, 8)) < 0.4) @ signatures)
    losses = rank_path(X, beta_loss=KL, random_state=0).losses
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()


def test_rank_one_is_the_product_of_the_sums() -> None:
    X = counts()
    U, V, loss = LOSS.rank_one(as_data(X))
    assert_allclose(U @ V.T, np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum(), rtol=1e-12)
    path = rank_path(X, max_rank=3, beta_loss=KL, random_state=0)
    assert path.rank_one_loss == pytest.approx(loss, rel=1e-12)
    assert path.at_rank(1).loss == pytest.approx(loss, rel=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        fit = U * np.exp(0.1 * rng.standard_normal(U.shape)), V * np.exp(0.1 * rng.standard_normal(V.shape))
        assert divergence(X, *fit) > loss


# Paths and estimators


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_array, np.asfortranarray])
def test_points_are_what_they_say_and_losses_never_rise(kind: Any) -> None:
    X = counts()
    path = rank_path(kind(X), max_rank=12, beta_loss=KL, random_state=0)
    assert_array_equal(path.ranks, np.arange(1, 13))
    assert path.beta_loss == KL
    for point in path.points:
        assert point.loss == pytest.approx(divergence(X, point.U, point.V), rel=1e-4)
        assert min(point.U.min(), point.V.min()) >= 0
    assert np.all(np.diff(path.losses) <= 1e-6 * path.energy)
    assert_array_equal(path.lambdas, 0.0)
    assert path.energy == path.rank_one_loss


def test_dense_and_sparse_give_the_same_path() -> None:
    X = counts()
    dense, stored = (
        rank_path(kind(X), max_rank=8, beta_loss=KL, random_state=0)
        for kind in (np.asarray, sparse.csr_array)
    )
    assert_allclose(stored.losses, dense.losses, rtol=1e-3)


def test_a_matrix_and_its_transpose_have_the_same_path() -> None:
    X = counts()
    path, flipped = (rank_path(Y, max_rank=6, beta_loss=KL, random_state=0) for Y in (X, X.T))
    assert_allclose(flipped.losses, path.losses, rtol=1e-9)
    assert_allclose(flipped.at_rank(3).U, path.at_rank(3).V, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1e9])
def test_losses_are_proportional_to_X(factor: float) -> None:
    X = counts()
    path, scaled = (rank_path(c * X, max_rank=6, beta_loss=KL, random_state=0) for c in (1.0, factor))
    assert_allclose(scaled.losses, factor * path.losses, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [3, 6])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_the_solution_is_as_good_as_the_best_of_ten_fits_elsewhere(rank: int, kind: Any) -> None:
    X = counts(120, 80, 6, mean=20.0)
    settings = {"beta_loss": KL, "solver": "mu", "init": "random", "tol": 1e-7, "max_iter": 3000}
    best = min(
        NMF(rank, **settings, random_state=seed).fit(X).reconstruction_err_ ** 2 / 2 for seed in range(10)
    )
    model = AutoNMF(rank, beta_loss=KL, random_state=0).fit(kind(X))
    assert model.reconstruction_err_**2 / 2 <= 1.001 * best
    assert model.path_.at_rank(rank).loss <= 1.005 * best


def test_the_estimator() -> None:
    X = counts(150, 60, 4, mean=20.0)
    model = AutoNMF(beta_loss=KL, random_state=0).fit(X)
    assert model.n_components_ == 4
    assert model.rank_estimate_.confidence >= 0.9
    W = model.transform(X)
    loss = divergence(X, W, model.components_.T)
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * loss), rel=1e-9)
    other = model.at_rank(3, X)
    assert other.reconstruction_err_ > model.reconstruction_err_
    assert_allclose(AutoNMF(beta_loss=1, random_state=0).fit(X).components_, model.components_)
    assert_allclose(AutoNMF(beta_loss=KL, random_state=0).fit_transform(X), W, rtol=1e-9)


def test_new_rows_get_the_best_weights() -> None:
    X = counts(80, 30, 3, mean=20.0)
    model = AutoNMF(3, beta_loss=KL, random_state=0).fit(X[:60])
    H = model.components_
    W = model.transform(X[60:])
    assert_allclose(model.transform(X[65:66])[0], W[5], rtol=1e-9)
    for x, w in zip(X[60:66], W, strict=False):

        def loss(v: np.ndarray, x: np.ndarray = x) -> float:
            return divergence(x[None], v[None], H.T)

        ends = [
            minimize(loss, c * w + 1e-3, bounds=[(0, None)] * 3, options={"maxiter": 2000, "ftol": 1e-15})
            for c in (1.0, 0.5)
        ]
        assert loss(w) <= min(end.fun for end in ends) + 1e-8 * max(1.0, loss(w))


def test_new_rows_get_the_best_weights_where_components_are_nearly_equal() -> None:
    """Compared with SciPy's solver for bounds, which knows gradient and curvature."""
    rng = np.random.default_rng(1)
    V = rng.gamma(2.0, 1.0, (40, 1)) * (1.0 + 0.01 * rng.standard_normal((40, 4)))
    X = rng.poisson(rng.gamma(1.0, 5.0, (6, 4)) @ V.T).astype(float)
    W, loss = find_loss(KL).project(as_rows(X), V)
    assert loss == pytest.approx(divergence(X, W, V), rel=1e-12)
    for x, w in zip(X, W, strict=True):
        best = minimize(
            lambda v, x=x: divergence(x[None], v[None], V),
            np.full(4, x.sum() / V.sum()),
            jac=lambda v, x=x: V.sum(axis=0) - (x / (V @ v)) @ V,
            hess=lambda v, x=x: (V.T * (x / (V @ v) ** 2)) @ V,
            bounds=[(0.0, None)] * 4,
            method="trust-constr",
            options={"gtol": 1e-12, "xtol": 1e-14, "barrier_tol": 1e-14, "maxiter": 3000},
        )
        here = divergence(x[None], w[None], V)
        assert here <= best.fun + 1e-8 * here
        assert here == pytest.approx(best.fun, rel=1e-6)


def test_a_row_with_counts_where_no_component_has_mass() -> None:
    """Its loss is infinite; its weights are those for the features that components have."""
    X = counts(60, 20, 2, mean=20.0)
    X[:, 7] = 0.0
    model = AutoNMF(2, beta_loss=KL, random_state=0).fit(X)
    assert model.components_[:, 7].max() < 1e-9
    row = X[:1].copy()
    row[0, 7] = 100.0
    assert_allclose(model.transform(row), model.transform(X[:1]), rtol=1e-6)


def test_paths_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    X = counts(300, 200, 4)
    with one_pool():
        pass
    paths = []
    for threads in (1, 2):
        monkeypatch.setattr("autonmf._threads._cores", lambda threads=threads: threads)
        paths.append(rank_path(X, max_rank=8, beta_loss=KL, random_state=0))
    assert_array_equal(paths[0].losses, paths[1].losses)


def test_tiny_losses_are_computed_in_double_precision() -> None:
    """Without noise the loss at the true rank is zero, which single precision does not tell."""
    X, _, _ = make_low_rank(80, 50, rank=3, noise=0.0, random_state=0)
    model = AutoNMF(3, beta_loss=KL, tol=1e-6, max_iter=5000, random_state=0).fit(X)
    assert model.reconstruction_err_**2 / 2 < 1e-4 * model.path_.energy


@pytest.mark.slow
@pytest.mark.parametrize("rank", [5, 10])
def test_table_1_of_the_paper(rank: int) -> None:
    X, _, _ = make_low_rank(500, 400, rank=rank, noise=0.1, random_state=0)
    assert AutoNMF(beta_loss=KL, random_state=0).fit(X).n_components_ == rank


# What cannot be


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"solver": "pasm"}, "coordinate descent"),
        ({"solver": "hals"}, "coordinate descent"),
        ({"grid": "adaptive"}, "no λ"),
        ({"engine": "compressed"}, "every entry"),
        ({"mu": 1e-3}, "no penalty"),
    ],
)
def test_what_only_least_squares_has_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        rank_path(counts(), beta_loss=KL, **options)
    with pytest.raises(ValueError, match=match):
        AutoNMF(beta_loss=KL, **options).fit(counts())


@pytest.mark.parametrize(
    "X",
    [
        np.array([[3.0, 0.0, 2.0]]),
        np.array([[3.0], [0.0], [2.0]]),
        np.diag([1.0, 2.0, 3.0, 4.0]),
        np.ones((5, 4)),
        1e12 * counts(10, 8),
        np.eye(6)[[0, 0, 1, 1, 2, 3, 4, 5]],
    ],
    ids=["row", "column", "diagonal", "ones", "huge", "blocks"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_edges(X: np.ndarray) -> None:
    for kind in (np.asarray, sparse.csr_matrix):
        model = AutoNMF(beta_loss=KL, random_state=0).fit(kind(X))
        assert np.isfinite(model.reconstruction_err_)
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.path_.losses).all()
        assert np.all(np.diff(model.path_.losses) <= 1e-6 * X.sum())


def test_explicit_zeros_and_empty_lines_change_nothing() -> None:
    X = counts(40, 30)
    X[5], X[:, 7] = 0.0, 0.0
    stored = sparse.csr_matrix(X)
    explicit = stored.copy()
    explicit.data[:3] = 0.0
    plain = explicit.copy()
    plain.eliminate_zeros()
    paths = [rank_path(Y, max_rank=5, beta_loss=KL, random_state=0) for Y in (explicit, plain)]
    assert_allclose(paths[0].losses, paths[1].losses, rtol=1e-9)
    point = rank_path(stored, max_rank=5, beta_loss=KL, random_state=0).at_rank(3)
    assert point.U[5].max() < 1e-9
    assert point.V[7].max() < 1e-9


# Missing entries and weights


def test_missing_entries_are_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(3.0, 1.0, (80, 3)) @ rng.gamma(3.0, 1.0, (3, 50))).astype(float)
    known = rng.random(X.shape) < 0.8
    model = AutoNMF(3, beta_loss=KL, missing="mask", random_state=0).fit(np.where(known, X, np.nan))
    W = model.transform(np.where(known, X, np.nan))
    fit = W @ model.components_
    loss = np.sum((xlogy(X, X) - xlogy(X, fit) - X + fit)[known])
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * loss), rel=1e-6)
    hidden = ~known
    ours = np.sum((xlogy(X, X) - xlogy(X, fit) - X + fit)[hidden])
    constant = np.sum((xlogy(X, X) - xlogy(X, X.mean()) - X + X.mean())[hidden])
    assert ours < 0.5 * constant


@pytest.mark.parametrize("by_sample", [True, False])
def test_weights_count_like_repeated_samples(by_sample: bool) -> None:
    X = counts(40, 30, 3, mean=20.0)
    w = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    given = {"sample_weight": w} if by_sample else {"weights": np.tile(w[:, None], (1, 30))}
    model = AutoNMF(3, beta_loss=KL, random_state=0).fit(X, **given)
    repeated = AutoNMF(3, beta_loss=KL, random_state=0).fit(np.repeat(X, w.astype(int), axis=0))
    assert model.reconstruction_err_ == pytest.approx(repeated.reconstruction_err_, rel=1e-3)


def test_weights_of_entries() -> None:
    rng = np.random.default_rng(1)
    X, weights = counts(40, 30, 3, mean=20.0), rng.random((40, 30))
    weights[3, 4] = 0.0
    model = AutoNMF(3, beta_loss=KL, random_state=0)
    W = model.fit_transform(X, weights=weights)
    fit = W @ model.components_
    loss = np.sum(weights * (xlogy(X, X) - xlogy(X, fit) - X + fit))
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * loss), rel=1e-6)
    plain = AutoNMF(3, beta_loss=KL, random_state=0).fit_transform(X)
    assert loss < np.sum(
        weights * (xlogy(X, X) - xlogy(X, plain @ model.components_) - X + plain @ model.components_)
    )


def draw_overdispersed(phi: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts with the variance μ + φμ² in rows of very different size, and their means of rank three."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(1, 4, (300, 1))
    mu = (sizes * rng.dirichlet(np.ones(3), 300)) @ rng.dirichlet(np.full(40, 0.3), 3)
    return rng.poisson(mu if phi == 0 else rng.gamma(1 / phi, mu * phi)).astype(float), mu


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_overdispersed_counts_get_weights_of_rows_and_columns(kind: Any) -> None:
    mu = draw_overdispersed(0.0)[1]
    left, values, right = np.linalg.svd(mu, full_matrices=False)
    U, V = left[:, :3] * values[:3], right[:3].T
    assert LOSSES[KL].reweigh(as_data(kind(draw_overdispersed(0.0)[0])), U, V) is None
    X, mu = draw_overdispersed(0.2)
    found = LOSSES[KL].reweigh(as_data(kind(X)), U, V)
    assert found is not None
    assert found.dispersion == pytest.approx(0.2, rel=0.1)
    scaling = found.weights
    for scales, axis in ((scaling.a, 1), (scaling.b, 0)):
        expected = np.sqrt(1 + 0.2 * np.square(mu).sum(axis=axis) / mu.sum(axis=axis))
        assert_allclose(np.ravel(scales), expected, rtol=0.1)


def test_losses_of_overdispersed_counts_are_those_of_X() -> None:
    X, _ = draw_overdispersed(0.2)
    model = AutoNMF(3, beta_loss=KL, random_state=0)
    W = model.fit_transform(X)
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * divergence(X, W, model.components_.T)))
    assert_allclose(model.transform(X), W, rtol=1e-9)
    for point in model.path_.points:
        assert point.loss == pytest.approx(divergence(X, point.U, point.V), rel=1e-4)
    assert np.all(np.diff(model.path_.losses) <= 0)
    assert model.at_rank(5, X).reconstruction_err_ < model.reconstruction_err_


def test_given_weights_are_left_as_they_are() -> None:
    """Samples of weight two look overdispersed, and are not."""
    X, _ = draw_overdispersed(0.0)
    doubled = AutoNMF(3, beta_loss=KL, random_state=0).fit(X, sample_weight=np.full(300, 2.0))
    plain = AutoNMF(3, beta_loss=KL, random_state=0).fit(X)
    assert doubled.reconstruction_err_**2 == pytest.approx(2 * plain.reconstruction_err_**2, rel=1e-3)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e100, 1e-100, 1e8])
@pytest.mark.parametrize("n_components", [None, 2])
def test_counts_in_any_unit(unit: float, n_components: int | None) -> None:
    """Where single precision, in which the fit iterates, has no such numbers."""
    X = counts(30, 20, 3)
    model = AutoNMF(n_components, max_rank=5, beta_loss=KL, random_state=0)
    W = model.fit_transform(unit * X)
    assert np.isfinite(W).all()
    assert 0 < model.reconstruction_err_ < np.inf
    if n_components is None:  # the path is in single precision, and may weigh rows and columns
        return
    loss = divergence(X, W / np.sqrt(unit), model.components_.T / np.sqrt(unit))
    assert_allclose(0.5 * model.reconstruction_err_**2 / unit, loss, rtol=1e-6)


def test_no_loss_is_negative(tmp_path) -> None:
    """Of matrices of rank one rounding would leave one, and the saved path could not be loaded."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.outer(rng.random(9), rng.random(7))
        path = rank_path(X, beta_loss=KL, random_state=seed)
        assert path.losses.min() >= 0
        assert min(visit.loss for visit in path.visits) >= 0
        path.save(tmp_path / "path.npz")
        type(path).load(tmp_path / "path.npz")
