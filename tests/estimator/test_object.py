"""What X may be, and `AutoNMF` as a Python object among others."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from autonmf import AutoNMF, rank_path

# More components than the data have converge slowly; these tests are about something else.
unfinished = pytest.mark.filterwarnings("ignore:the polish at rank:sklearn.exceptions.ConvergenceWarning")


# What X may be


def test_inputs_that_hold_the_same_numbers_give_the_same_fit(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray, tmp_path
) -> None:
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


def test_engines_agree(fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray) -> None:
    """Whichever engine, storage and precision of the path: the same rank, and the same fit once polished."""
    W, reference = fitted(low_rank, engine="direct")
    for engine in ("auto", "compressed"):
        for X in (low_rank, sparse.csr_matrix(low_rank), sparse.csc_matrix(low_rank)):
            W_other, other = fitted(X, engine=engine)
            assert other.n_components_ == reference.n_components_
            assert_allclose(other.reconstruction_err_, reference.reconstruction_err_, rtol=1e-4)
            assert_allclose(W_other @ other.components_, W @ reference.components_, atol=1e-2)


@pytest.mark.parametrize("convert", [np.array, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix])
def test_input_is_not_modified(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], convert, low_rank: np.ndarray
) -> None:
    X = convert(low_rank)
    values = X.data if sparse.issparse(X) else X
    before = values.copy()
    values.setflags(write=False)
    W, estimator = fitted(X, n_starts=2)
    estimator.transform(X)
    estimator.at_rank(2, X)
    assert_array_equal(values, before)
    assert (W >= 0).all()


def test_single_precision_is_kept(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray
) -> None:
    W, double = fitted(low_rank)
    for X in (low_rank.astype(np.float32), sparse.csr_matrix(low_rank.astype(np.float32))):
        W_single, single = fitted(X)
        assert W_single.dtype == single.components_.dtype == np.float32
        assert single.path_.at_rank(2).U.dtype == np.float32
        assert single.n_components_ == double.n_components_
        assert_allclose(W_single @ single.components_, W @ double.components_, atol=2e-2)
        assert_allclose(single.reconstruction_err_, double.reconstruction_err_, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.float16, np.longdouble])
def test_other_number_types(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], dtype: type, low_rank: np.ndarray
) -> None:
    X = np.round(10 * low_rank).astype(dtype)
    W, estimator = fitted(X)
    W_double, double = fitted(X.astype(np.float64))
    assert estimator.n_components_ == double.n_components_
    assert_allclose(W @ estimator.components_, W_double @ double.components_, atol=0.1)


def test_booleans(fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray) -> None:
    W, estimator = fitted(low_rank > 1)
    assert_allclose(W, fitted((low_rank > 1).astype(float))[0])
    assert np.isfinite(estimator.reconstruction_err_)


# Frames and names


def test_a_table_that_is_not_computed_yet(low_rank: np.ndarray) -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"Pass X\.collect\(\)"):
        AutoNMF().fit(polars.DataFrame(low_rank).lazy())


def test_a_file_of_several_matrices(low_rank: np.ndarray, tmp_path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["spectra"] = low_rank
        with pytest.raises(TypeError, match=r"X\[name\].*spectra"):
            AutoNMF().fit(file)
        assert AutoNMF(3, max_rank=4, random_state=0).fit(file["spectra"]).n_components_ == 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], library: str, low_rank: np.ndarray
) -> None:
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


def test_same_seed_same_bits(fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray) -> None:
    W, first = fitted(low_rank, n_starts=3)
    for jobs in (None, 2, 3):
        W_again, again = fitted(low_rank, n_starts=3, n_jobs=jobs)
        assert_array_equal(W_again, W)
        assert_array_equal(again.components_, first.components_)
        assert_array_equal(again.path_.losses, first.path_.losses)
    assert not np.array_equal(fitted(low_rank, random_state=1)[1].path_.losses, first.path_.losses)


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0), np.int64(3), None])
def test_kinds_of_seed(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], seed: object, low_rank: np.ndarray
) -> None:
    assert fitted(low_rank, random_state=seed)[1].n_components_ == 3


def test_estimator_has_the_options_of_rank_path(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray
) -> None:
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


def test_verbose_prints_each_rank_with_its_loss(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]], low_rank: np.ndarray, capsys
) -> None:
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
def test_one_row_or_column(
    fitted: Callable[..., tuple[np.ndarray, AutoNMF]],
    shape: tuple[int, int],
    grid: str,
    rng: np.random.Generator,
) -> None:
    X = rng.random(shape) + 0.1
    W, estimator = fitted(X, max_rank=None, grid=grid)
    assert estimator.n_components_ == 1
    assert_allclose(W @ estimator.components_, X, rtol=1e-6)


def test_convergence_is_judged_by_the_stopping_criteria_not_by_a_sum(low_rank: np.ndarray) -> None:
    """A polish in two stages may take max_iter iterations in all and have converged in both."""
    X = np.vstack([low_rank] * 6)
    counted = AutoNMF(3, max_rank=5, engine="compressed", random_state=0).fit(X)
    spent = counted.n_iter_ - sum(visit.n_iter for visit in counted.path_.visits)
    AutoNMF(3, max_rank=5, engine="compressed", max_iter=spent, random_state=0).fit(X)
