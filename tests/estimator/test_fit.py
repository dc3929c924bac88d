"""`AutoNMF` as an estimator: scikit-learn's contract, and its numbers against scikit-learn and SciPy."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from autonmf import AutoNMF
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error

CONFIGURATIONS = [
    AutoNMF(random_state=0),
    AutoNMF(2, random_state=0),
    AutoNMF(solver="s-ipalm", n_starts=2, random_state=0),
    AutoNMF(grid="adaptive", init="nndsvda", random_state=0),
    AutoNMF(max_rank=2, rule="marginal", tau=2.0, random_state=0),
]

# A random start depends on the number of rows: a sample of weight two leads elsewhere than the sample twice.
# tests/weights compares the problems that are solved.
UNLIKE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the start differs with the number of rows"
    for kind in ("dense", "sparse")
}

# More components than the data have converge slowly; these tests are about something else.
unfinished = pytest.mark.filterwarnings("ignore:the polish at rank:sklearn.exceptions.ConvergenceWarning")


@pytest.mark.filterwarnings("ignore:max_rank=.* is more than min:UserWarning")
@unfinished
@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=lambda _: UNLIKE)
def test_scikit_learn_contract(estimator: AutoNMF, check) -> None:
    check(estimator)


# What a fit finds


def test_rank_and_factors(low_rank: np.ndarray, model: AutoNMF) -> None:
    truth = make_low_rank(60, 40, rank=3, random_state=0)
    assert model.n_components_ == model.rank_estimate_.rank == 3
    assert model.components_.shape == (3, 40)
    assert model.polished_
    assert recovery_error(truth[2], model.components_.T) < 0.2
    assert recovery_error(truth[1], model.transform(low_rank)) < 0.2


def test_as_good_as_scikit_learn(low_rank: np.ndarray, model: AutoNMF) -> None:
    """At the true rank, and with a recovery error that does not differ either."""
    reference = NMF(3, solver="cd", tol=1e-8, max_iter=5000, random_state=0).fit(low_rank)
    assert model.reconstruction_err_ <= 1.02 * reference.reconstruction_err_
    true_V = make_low_rank(60, 40, rank=3, random_state=0)[2]
    errors = [recovery_error(true_V, fit.components_.T) for fit in (model, reference)]
    assert_allclose(*errors, rtol=0.05)


@pytest.mark.parametrize("solver", ["pasm", "s-ipalm", "ipalm", "palm"])
def test_every_solver_is_as_good_as_scikit_learn(solver: str, low_rank: np.ndarray) -> None:
    reference = NMF(3, solver="cd", tol=1e-8, max_iter=5000, random_state=0).fit(low_rank)
    ours = AutoNMF(3, solver=solver, max_rank=8, tol=1e-5, random_state=0).fit(low_rank)
    assert ours.reconstruction_err_ <= 1.02 * reference.reconstruction_err_


def test_components_are_sorted_and_balanced_on_the_path(model: AutoNMF) -> None:
    for point in model.path_.points:
        norms = np.linalg.norm(point.U, axis=0)
        assert_allclose(norms, np.linalg.norm(point.V, axis=0), rtol=1e-10)
        assert (np.diff(norms) <= 1e-12 * norms[0]).all()
    norms = np.linalg.norm(model.components_, axis=1)
    assert (np.diff(norms) <= 1e-12 * norms[0]).all()


def test_reconstruction_error(low_rank: np.ndarray, model: AutoNMF) -> None:
    W = model.transform(low_rank)
    assert_allclose(model.reconstruction_err_, np.linalg.norm(low_rank - W @ model.components_), rtol=1e-12)


def test_explained_variance_is_that_of_the_contributions(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray
) -> None:
    """Of W_j H_j with the W that the estimator itself returns."""
    W, estimator = fitted(low_rank)
    contributions = [np.outer(w, h) for w, h in zip(W.T, estimator.components_, strict=True)]
    expected = [contribution.var(axis=0).sum() for contribution in contributions]
    assert_allclose(estimator.explained_variance_, expected, rtol=1e-8)


def test_fit_transform_is_fit_then_transform(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray
) -> None:
    W, estimator = fitted(low_rank)
    assert_array_equal(W, estimator.transform(low_rank))
    assert_array_equal(W, AutoNMF(max_rank=6, random_state=0).fit(low_rank).transform(low_rank))


def test_n_iter_counts_path_and_polish(low_rank: np.ndarray, model: AutoNMF) -> None:
    along_path = sum(visit.n_iter for visit in model.path_.visits)
    assert model.n_iter_ > along_path


# A rank that the caller chooses


@unfinished
def test_given_rank_ends_the_path(low_rank: np.ndarray) -> None:
    estimator = AutoNMF(4, max_rank=7, random_state=0).fit(low_rank)
    assert estimator.n_components_ == 4
    assert estimator.components_.shape == (4, 40)
    assert_array_equal(estimator.path_.ranks, [4, 5, 6, 7])
    assert estimator.rank_estimate_ is None


@unfinished
@pytest.mark.filterwarnings("ignore:.* components vanished on the path:UserWarning")
@pytest.mark.parametrize("rank", [1, 20, 21, 40, np.int64(3)])
def test_any_rank_up_to_the_smaller_side(rank: int, low_rank: np.ndarray) -> None:
    """Components that vanish on the way are given as zeros, with a warning."""
    estimator = AutoNMF(rank, random_state=0).fit(low_rank)
    assert estimator.n_components_ == rank
    assert estimator.transform(low_rank).shape == (60, rank)


@unfinished
@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_given_rank_on_the_adaptive_grid(rank: int, low_rank: np.ndarray) -> None:
    """The paper's grid may jump over a rank. Whoever asks for it gets it, or is told of the exact path."""
    for seed in range(2):
        estimator = AutoNMF(rank, grid="adaptive", max_rank=8, random_state=seed)
        try:
            estimator.fit(low_rank)
        except ValueError as error:
            if "exact" not in str(error):
                pytest.fail(f"no way out of: {error}")
        else:
            assert estimator.n_components_ == rank


def test_at_rank_without_data(low_rank: np.ndarray, model: AutoNMF) -> None:
    before = pickle.dumps(model)
    other = model.at_rank(5)
    point = model.path_.at_rank(5)
    assert (other.n_components_, other.polished_) == (5, False)
    assert_array_equal(other.components_, point.V.T)
    assert_allclose(other.reconstruction_err_, np.linalg.norm(low_rank - point.U @ point.V.T), rtol=1e-9)
    assert_allclose(
        other.explained_variance_,
        [np.outer(u, v).var(axis=0).sum() for u, v in zip(point.U.T, point.V.T, strict=True)],
        rtol=1e-9,
    )
    assert other.transform(low_rank).shape == (60, 5)
    assert list(other.get_feature_names_out()) == [f"autonmf{i}" for i in range(5)]
    assert pickle.dumps(model) == before, "the estimator itself has changed"


def test_at_rank_with_data(low_rank: np.ndarray, model: AutoNMF) -> None:
    before = pickle.dumps(model)
    rough, polished = model.at_rank(2), model.at_rank(2, low_rank)
    assert polished.polished_
    assert polished.reconstruction_err_ <= rough.reconstruction_err_ * (1 + 1e-9)
    W = polished.transform(low_rank)
    assert_allclose(
        polished.reconstruction_err_, np.linalg.norm(low_rank - W @ polished.components_), rtol=1e-12
    )
    again = model.at_rank(3, low_rank)  # from a point that has had more iterations
    assert_allclose(again.components_, model.components_, rtol=0, atol=1e-4 * model.components_.max())
    assert_allclose(again.reconstruction_err_, model.reconstruction_err_, rtol=1e-6)
    assert pickle.dumps(model) == before, "the estimator itself has changed"


def test_at_rank_errors(low_rank: np.ndarray, model: AutoNMF) -> None:
    with pytest.raises(ValueError, match="rank 9 is not on this path; it visited 1 to 8"):
        model.at_rank(9)
    with pytest.raises(ValueError, match="39 features"):
        model.at_rank(2, low_rank[:, 1:])
    with pytest.raises(ValueError, match="samples"):
        model.at_rank(2, low_rank[1:])
    with pytest.raises(NotFittedError):
        AutoNMF().at_rank(2)


# transform


def by_scipy(X: np.ndarray, H: np.ndarray) -> np.ndarray:
    return np.array([nnls(H.T, row)[0] for row in X])


def test_transform_is_nonnegative_least_squares(model: AutoNMF, rng: np.random.Generator) -> None:
    X = rng.random((30, 40)) * 5
    X[3] = 0.0
    W = model.transform(X)
    assert_array_equal(W[3], 0.0)
    assert_allclose(W, by_scipy(X, model.components_), atol=1e-5)


@pytest.mark.parametrize("angle", [1e-1, 1e-2, 1e-3, 1e-4, 1e-6])
def test_transform_with_nearly_collinear_components(
    angle: float, model: AutoNMF, rng: np.random.Generator
) -> None:
    """The weights of collinear components are not determined; the distance that they leave is."""
    twin = pickle.loads(pickle.dumps(model))
    H = np.vstack([model.components_, model.components_[0] + angle * rng.random(40)])
    twin.components_, twin.n_components_ = H, 4
    X = np.vstack([rng.random((10, 40)), rng.random((10, 4)) @ H, np.zeros((1, 40)), H[0], H[3]])
    W = twin.transform(X)
    assert (W >= 0).all()
    left, least = (np.linalg.norm(X - V @ H, axis=1) for V in (W, by_scipy(X, H)))
    assert (left <= least + 1e-5 * np.linalg.norm(X, axis=1)).all()


def test_transform_in_single_precision(low_rank: np.ndarray, model: AutoNMF) -> None:
    W = model.transform(low_rank.astype(np.float32))
    assert W.dtype == np.float32
    assert_allclose(W, model.transform(low_rank), atol=1e-3)


def test_transform_refuses_what_fit_did_not_see(low_rank: np.ndarray, model: AutoNMF) -> None:
    with pytest.raises(ValueError, match="features"):
        model.transform(low_rank[:, :-1])
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(-low_rank)
    with pytest.raises(NotFittedError):
        AutoNMF().transform(low_rank)


def test_all_zero_rows_can_be_transformed(model: AutoNMF) -> None:
    """Nothing to factorise is an error of `fit`, not of `transform`."""
    assert_array_equal(model.transform(np.zeros((2, 40))), np.zeros((2, 3)))


def test_inverse_transform(low_rank: np.ndarray, model: AutoNMF) -> None:
    W = model.transform(low_rank)
    assert_allclose(model.inverse_transform(W), W @ model.components_)
    assert_allclose(model.inverse_transform(W.tolist()), W @ model.components_)
    restored = model.inverse_transform(sparse.csr_matrix(W))
    restored = restored.toarray() if sparse.issparse(restored) else restored
    assert_allclose(restored, W @ model.components_)
    for wrong in (W[:, :2], W[0], W[None]):
        with pytest.raises(ValueError, match="3 columns"):
            model.inverse_transform(wrong)
    with pytest.raises(NotFittedError):
        AutoNMF().inverse_transform(W)
