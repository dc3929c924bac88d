"""`AutoNMF` as an estimator: scikit-learn's contract, and its numbers against scikit-learn and SciPy."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from autonmf import AutoNMF, rank_path
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error

CONFIGURATIONS = [
    AutoNMF(random_state=0),
    AutoNMF(2, random_state=0),
    AutoNMF(solver="s-ipalm", n_starts=2, random_state=0),
    AutoNMF(grid="adaptive", init="nndsvda", random_state=0),
    AutoNMF(max_rank=2, rule="marginal", tau=2.0, random_state=0),
]

# More components than the data have converge slowly; these tests are about something else.
unfinished = pytest.mark.filterwarnings("ignore:the polish at rank:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def model(low_rank: np.ndarray) -> AutoNMF:
    return AutoNMF(max_rank=8, random_state=0).fit(low_rank)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def fitted(X: object, **options: object) -> tuple[np.ndarray, AutoNMF]:
    estimator = AutoNMF(**{"max_rank": 6, "random_state": 0} | options)
    return estimator.fit_transform(X), estimator


@pytest.mark.filterwarnings("ignore:max_rank=.* is more than min:UserWarning")
@unfinished
@parametrize_with_checks(CONFIGURATIONS)
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


def test_explained_variance_is_that_of_the_contributions(low_rank: np.ndarray) -> None:
    """Of W_j H_j with the W that the estimator itself returns."""
    W, estimator = fitted(low_rank)
    contributions = [np.outer(w, h) for w, h in zip(W.T, estimator.components_, strict=True)]
    expected = [contribution.var(axis=0).sum() for contribution in contributions]
    assert_allclose(estimator.explained_variance_, expected, rtol=1e-8)


def test_fit_transform_is_fit_then_transform(low_rank: np.ndarray) -> None:
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
@pytest.mark.filterwarnings("ignore:only .* components are needed to fit X:UserWarning")
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
    assert_allclose(model.at_rank(3, low_rank).components_, model.components_, rtol=1e-12)
    assert pickle.dumps(model) == before, "the estimator itself has changed"


def test_at_rank_errors(low_rank: np.ndarray, model: AutoNMF) -> None:
    with pytest.raises(ValueError, match="rank 9 is not on this path; it visited 1, 2, 3"):
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


# What X may be


def test_inputs_that_hold_the_same_numbers_give_the_same_fit(low_rank: np.ndarray, tmp_path) -> None:
    np.save(tmp_path / "X.npy", low_rank)
    same = {
        "csr": sparse.csr_matrix(low_rank),
        "csc": sparse.csc_matrix(low_rank),
        "csr array": sparse.csr_array(low_rank),
        "coo": sparse.coo_matrix(low_rank),
        "Fortran order": np.asfortranarray(low_rank),
        "strided": np.repeat(low_rank, 3, axis=1)[:, ::3],
        "reversed": np.ascontiguousarray(low_rank[::-1, ::-1])[::-1, ::-1],
        "memory map": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "list": low_rank.tolist(),
        "object": low_rank.astype(object),
        "big endian": low_rank.astype(">f8"),
    }
    W, reference = fitted(low_rank, engine="direct")
    for kind, X in same.items():
        W_other, other = fitted(X, engine="direct")
        assert other.n_components_ == reference.n_components_, kind
        assert_allclose(other.components_, reference.components_, atol=1e-8, err_msg=kind)
        assert_allclose(W_other, W, atol=1e-8, err_msg=kind)
        assert_allclose(other.reconstruction_err_, reference.reconstruction_err_, rtol=1e-9, err_msg=kind)
        assert_allclose(other.path_.losses, reference.path_.losses, rtol=1e-8, err_msg=kind)


def test_engines_agree(low_rank: np.ndarray) -> None:
    """Whichever engine, storage and precision of the path: the same rank, and the same fit once polished."""
    W, reference = fitted(low_rank, engine="direct")
    for engine in ("auto", "compressed"):
        for X in (low_rank, sparse.csr_matrix(low_rank), sparse.csc_matrix(low_rank)):
            W_other, other = fitted(X, engine=engine)
            assert other.n_components_ == reference.n_components_
            assert_allclose(other.reconstruction_err_, reference.reconstruction_err_, rtol=1e-4)
            assert_allclose(W_other @ other.components_, W @ reference.components_, atol=1e-2)


@pytest.mark.parametrize("convert", [np.array, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix])
def test_input_is_not_modified(convert, low_rank: np.ndarray) -> None:
    X = convert(low_rank)
    values = X.data if sparse.issparse(X) else X
    before = values.copy()
    values.setflags(write=False)
    W, estimator = fitted(X, n_starts=2)
    estimator.transform(X)
    estimator.at_rank(2, X)
    assert_array_equal(values, before)
    assert (W >= 0).all()


def test_single_precision_is_kept(low_rank: np.ndarray) -> None:
    W, double = fitted(low_rank)
    for X in (low_rank.astype(np.float32), sparse.csr_matrix(low_rank.astype(np.float32))):
        W_single, single = fitted(X)
        assert W_single.dtype == single.components_.dtype == np.float32
        assert single.path_.at_rank(2).U.dtype == np.float32
        assert single.n_components_ == double.n_components_
        assert_allclose(W_single @ single.components_, W @ double.components_, atol=2e-2)
        assert_allclose(single.reconstruction_err_, double.reconstruction_err_, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.float16, np.longdouble])
def test_other_number_types(dtype: type, low_rank: np.ndarray) -> None:
    X = np.round(10 * low_rank).astype(dtype)
    W, estimator = fitted(X)
    W_double, double = fitted(X.astype(np.float64))
    assert estimator.n_components_ == double.n_components_
    assert_allclose(W @ estimator.components_, W_double @ double.components_, atol=0.1)


def test_booleans(low_rank: np.ndarray) -> None:
    W, estimator = fitted(low_rank > 1)
    assert_allclose(W, fitted((low_rank > 1).astype(float))[0])
    assert np.isfinite(estimator.reconstruction_err_)


# Frames and names


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(library: str, low_rank: np.ndarray) -> None:
    frames = pytest.importorskip(library)
    names = [f"f{i}" for i in range(40)]
    X = frames.DataFrame(dict(zip(names, low_rank.T, strict=True)))
    if library == "pandas":
        X.index = [f"sample {i}" for i in range(60)]
    estimator = AutoNMF(3, max_rank=5, random_state=0).set_output(transform=library)
    results = estimator.fit_transform(X), estimator.transform(X), clone(estimator).fit(X).transform(X)
    for W in results:
        assert isinstance(W, frames.DataFrame)
        assert list(W.columns) == ["autonmf0", "autonmf1", "autonmf2"]
        assert_allclose(W.to_numpy(), fitted(low_rank, n_components=3, max_rank=5)[0])
        if library == "pandas":
            assert list(W.index) == list(X.index)
    assert list(estimator.feature_names_in_) == names
    part = estimator.transform(X[5:9])
    assert_allclose(part.to_numpy(), results[0].to_numpy()[5:9], atol=1e-6)
    if library == "pandas":
        assert list(part.index) == list(X.index[5:9])
        with pytest.raises(ValueError, match="feature names"):
            estimator.transform(X[names[::-1]])


def test_feature_names_out(low_rank: np.ndarray, model: AutoNMF) -> None:
    assert list(model.get_feature_names_out()) == ["autonmf0", "autonmf1", "autonmf2"]
    assert model.n_features_in_ == 40
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(NotFittedError):
        AutoNMF().get_feature_names_out()


def test_pandas_at_rank_keeps_names(low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(low_rank, columns=[f"f{i}" for i in range(40)])
    estimator = AutoNMF(max_rank=5, random_state=0).set_output(transform="pandas").fit(X)
    W = estimator.at_rank(2, X).transform(X)
    assert list(W.columns) == ["autonmf0", "autonmf1"]
    assert list(W.index) == list(X.index)


# Life as a Python object


def copies(model: AutoNMF, folder) -> list[AutoNMF]:
    joblib.dump(model, folder / "model.joblib")
    return [pickle.loads(pickle.dumps(model)), joblib.load(folder / "model.joblib")]


def test_pickle_and_joblib(low_rank: np.ndarray, model: AutoNMF, tmp_path) -> None:
    for copied in copies(model, tmp_path):
        assert_array_equal(copied.transform(low_rank), model.transform(low_rank))
        assert_array_equal(copied.path_.losses, model.path_.losses)
        assert copied.rank_estimate_.why == model.rank_estimate_.why
        assert_array_equal(copied.at_rank(2).components_, model.at_rank(2).components_)


def test_clone_and_parameters(low_rank: np.ndarray) -> None:
    estimator = AutoNMF(2, rule="marginal", tau=3.0, solver="palm", max_rank=5, random_state=0)
    copied = clone(estimator)
    assert copied.get_params() == estimator.get_params()
    assert repr(copied) == repr(estimator)
    copied.set_params(n_components=3, solver="pasm").fit(low_rank)
    assert copied.n_components_ == 3
    assert not hasattr(estimator, "components_")
    with pytest.raises(ValueError, match="Invalid parameter"):
        copied.set_params(rank=3)


def test_fitting_does_not_change_parameters(low_rank: np.ndarray, rng: np.random.Generator) -> None:
    given = {"init": (rng.random((60, 4)), rng.random((40, 4))), "random_state": None}
    estimator = AutoNMF(**given)
    before = estimator.get_params()
    estimator.fit(low_rank)
    assert all(estimator.get_params()[name] is value for name, value in before.items())


def test_fitting_again_forgets_the_first_fit(low_rank: np.ndarray) -> None:
    estimator = AutoNMF(max_rank=5, random_state=0)
    first = estimator.fit(low_rank).components_
    estimator.set_params(n_components=2).fit(low_rank[:, :30])
    assert estimator.rank_estimate_ is None
    assert estimator.n_features_in_ == 30
    assert_array_equal(estimator.set_params(n_components=None).fit(low_rank).components_, first)


def test_in_a_pipeline(low_rank: np.ndarray) -> None:
    pipeline = make_pipeline(MinMaxScaler(), AutoNMF(max_rank=6, random_state=0))
    W = pipeline.fit_transform(low_rank)
    assert W.shape == (60, pipeline[-1].n_components_)
    assert pipeline.inverse_transform(W).shape == (60, 40)
    counts = make_pipeline(FunctionTransformer(sparse.csr_matrix), AutoNMF(3, random_state=0))
    assert counts.fit_transform(low_rank).shape == (60, 3)


def test_in_a_grid_search(low_rank: np.ndarray) -> None:
    def score(estimator: AutoNMF, X: np.ndarray, y: object = None) -> float:
        return -np.linalg.norm(X - estimator.inverse_transform(estimator.transform(X)))

    search = GridSearchCV(
        AutoNMF(max_rank=6, random_state=0), {"n_components": [1, 2, 3]}, scoring=score, cv=3
    ).fit(low_rank)
    assert search.best_params_ == {"n_components": 3}


def test_same_seed_same_bits(low_rank: np.ndarray) -> None:
    W, first = fitted(low_rank, n_starts=3)
    for jobs in (None, 2, 3):
        W_again, again = fitted(low_rank, n_starts=3, n_jobs=jobs)
        assert_array_equal(W_again, W)
        assert_array_equal(again.components_, first.components_)
        assert_array_equal(again.path_.losses, first.path_.losses)
    assert not np.array_equal(fitted(low_rank, random_state=1)[1].path_.losses, first.path_.losses)


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0), np.int64(3), None])
def test_kinds_of_seed(seed: object, low_rank: np.ndarray) -> None:
    assert fitted(low_rank, random_state=seed)[1].n_components_ == 3


def test_estimator_has_the_options_of_rank_path(low_rank: np.ndarray) -> None:
    """The path of the estimator is that of the function."""
    options = {
        "max_rank": 5,
        "solver": "s-ipalm",
        "grid": "adaptive",
        "mu": 1e-6,
        "tol": 1e-5,
        "max_iter": 99,
    }
    _, estimator = fitted(low_rank, n_components=None, rule="marginal", tau=1e-3, **options)
    assert_array_equal(estimator.path_.losses, rank_path(low_rank, random_state=0, **options).losses)


# Messages


def test_verbose_prints_each_rank_with_its_loss(low_rank: np.ndarray, capsys) -> None:
    _, estimator = fitted(low_rank, max_rank=5, rule="marginal", verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    for line, visit in zip(lines, estimator.path_.visits, strict=True):
        assert f"rank {visit.rank:4d}" in line
        relative = 2 * visit.loss / estimator.path_.squared_norm
        assert f"{relative:.6f}" in line, f"the loss of the finished rank is {relative:.6f}: {line}"
    fitted(low_rank, max_rank=5, verbose=0)
    assert capsys.readouterr().out == ""


def test_unfinished_polish_warns(low_rank: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning, match="rank 3 did not converge in max_iter=2 iterations; raise"):
        AutoNMF(3, max_rank=5, tol=0.0, max_iter=2, random_state=0).fit(low_rank)


def test_wrong_rule_is_refused_before_the_path_is_computed(low_rank: np.ndarray) -> None:
    for wrong in ({"rule": "elbow"}, {"tau": -1.0}):
        estimator = AutoNMF(max_rank=5, random_state=0, **wrong)
        with pytest.raises(ValueError, match=r"unknown rule|tau must be positive"):
            estimator.fit(low_rank)
        assert not hasattr(estimator, "path_"), "the whole path was computed first"


@pytest.mark.parametrize("grid", ["exact", "adaptive"])
@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (1, 1)])
def test_one_row_or_column(shape: tuple[int, int], grid: str, rng: np.random.Generator) -> None:
    X = rng.random(shape) + 0.1
    W, estimator = fitted(X, max_rank=None, grid=grid)
    assert estimator.n_components_ == 1
    assert_allclose(W @ estimator.components_, X, rtol=1e-6)


def test_convergence_is_judged_by_the_stop_rule_not_by_a_sum(low_rank: np.ndarray) -> None:
    """A polish in two stages may take max_iter iterations in all and have converged in both."""
    X = np.vstack([low_rank] * 6)
    counted = AutoNMF(3, max_rank=5, engine="compressed", random_state=0).fit(X)
    spent = counted.n_iter_ - sum(visit.n_iter for visit in counted.path_.visits)
    AutoNMF(3, max_rank=5, engine="compressed", max_iter=spent, random_state=0).fit(X)
