"""`AutoNMF(missing="mask")`, ``sample_weight`` and ``weights``: what goes in and comes out."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import autonmf
from autonmf import AutoNMF, RankPath, rank_path

MASKED = {"missing": "mask", "max_rank": 6, "random_state": 0}


@pytest.fixture
def X(low_rank: np.ndarray, holed: Callable[..., np.ndarray]) -> np.ndarray:
    return holed(low_rank, 0.2)


def masked(**options: Any) -> AutoNMF:
    return AutoNMF(**MASKED | options)


def known_loss(X: np.ndarray, fit: np.ndarray) -> float:
    return float(0.5 * np.nansum((X - fit) ** 2))


# What stays as it was


@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
def test_nothing_missing_gives_the_same_bits(storage, low_rank: np.ndarray) -> None:
    one, other = (AutoNMF(missing=m, random_state=0).fit(storage(low_rank)) for m in ("error", "mask"))
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.path_.losses, other.path_.losses)
    assert_array_equal(one.transform(low_rank), other.transform(low_rank))


def test_equal_weights_change_nothing(low_rank: np.ndarray) -> None:
    plain = AutoNMF(random_state=0).fit(low_rank)
    for given in ({"weights": np.ones(low_rank.shape)}, {"sample_weight": np.ones(60)}, {"sample_weight": 1}):
        weighted = AutoNMF(random_state=0).fit(low_rank, **given)
        assert weighted.n_components_ == plain.n_components_
        assert_allclose(weighted.path_.losses, plain.path_.losses, rtol=1e-6)
        assert_allclose(weighted.components_, plain.components_, rtol=1e-5, atol=1e-6)


# What means the same


def test_zero_weight_is_missing(X: np.ndarray, low_rank: np.ndarray) -> None:
    missing = rank_path(X, max_rank=5, random_state=0, missing="mask")
    weighted = rank_path(low_rank, max_rank=5, random_state=0, weights=~np.isnan(X))
    assert_allclose(weighted.losses, missing.losses, rtol=1e-6)
    assert_allclose(weighted.squared_norm, missing.squared_norm, rtol=1e-12)


def test_lists_have_weights_too(low_rank: np.ndarray) -> None:
    weights = np.random.default_rng(0).random(low_rank.shape)
    one, other = (rank_path(X, 4, random_state=0, weights=weights) for X in (low_rank, low_rank.tolist()))
    assert_array_equal(one.losses, other.losses)


def test_lines_without_weight_are_lines_of_which_nothing_is_known(low_rank: np.ndarray) -> None:
    weights = np.random.default_rng(0).random(low_rank.shape)
    weights[7], weights[:, 11] = 0.0, 0.0
    for given in (low_rank, np.asfortranarray(low_rank), sparse.csr_matrix(low_rank)):
        model = masked(n_components=3)
        W = model.fit_transform(given, weights=weights)
        assert not W[7].any()
        assert_allclose(model.components_[:, 11], 0.0, atol=1e-9)


def test_sparse_with_stored_nan_is_the_same_matrix(X: np.ndarray) -> None:
    dense = masked().fit(X)
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.coo_matrix):
        model = masked().fit(kind(X))
        assert model.n_components_ == dense.n_components_
        assert_allclose(model.reconstruction_err_, dense.reconstruction_err_, rtol=1e-4)
        assert_allclose(model.transform(kind(X)), model.transform(X), rtol=1e-4, atol=1e-5)


def test_masked_arrays_and_frames(X: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas")
    plain = masked().fit(X)
    frame = pandas.DataFrame(X, columns=[f"f{j}" for j in range(40)])
    for given in (np.ma.masked_invalid(X), frame, frame.astype("Float64"), X.astype(object)):
        model = masked().fit(given)
        assert_allclose(model.components_, plain.components_, rtol=1e-9, atol=1e-12)
        assert_allclose(model.transform(given), plain.transform(X), rtol=1e-9, atol=1e-12)
    assert list(masked().fit(frame).feature_names_in_) == list(frame.columns)


def test_hidden_values_do_not_matter(X: np.ndarray, low_rank: np.ndarray) -> None:
    """A masked array may hide negative and infinite numbers; integers can be masked too."""
    hidden = np.where(np.isnan(X), -np.inf, low_rank)
    model = masked().fit(np.ma.array(hidden, mask=np.isnan(X)))
    assert_array_equal(model.components_, masked().fit(X).components_)
    counts = np.ma.array(np.arange(1, 49).reshape(8, 6), mask=np.eye(8, 6, dtype=bool))
    assert masked(n_components=2).fit(counts).components_.shape == (2, 6)


def test_integer_sample_weight_is_repetition(low_rank: np.ndarray) -> None:
    """The same losses of the same factors: each model is a solution of the other's problem."""
    times = np.random.default_rng(0).integers(1, 4, 60)
    repeated = np.repeat(low_rank, times, axis=0)
    options = {"n_components": 3, "tol": 1e-7, "max_iter": 20000, "random_state": 0}
    one = AutoNMF(**options).fit(low_rank, sample_weight=times)
    other = AutoNMF(**options).fit(repeated)
    assert_allclose(one.reconstruction_err_, other.reconstruction_err_, rtol=1e-5)
    again = repeated - one.transform(repeated) @ one.components_
    assert_allclose(np.linalg.norm(again), one.reconstruction_err_, rtol=1e-5)


def test_sample_weight_zero_is_left_out(low_rank: np.ndarray) -> None:
    weights = np.ones(60)
    weights[::4] = 0.0
    bad = np.array(low_rank)
    bad[::4] *= 100.0
    model = AutoNMF(max_rank=6, random_state=0)
    W = model.fit_transform(bad, sample_weight=weights)
    fewer = AutoNMF(max_rank=6, random_state=0).fit(low_rank[weights > 0])
    assert W.shape == (60, model.n_components_)
    assert model.path_.shape == (45, 40)
    assert model.n_components_ == fewer.n_components_
    assert_allclose(model.components_, fewer.components_, rtol=1e-5, atol=1e-6)


def test_weights_reach_the_solution(low_rank: np.ndarray) -> None:
    """Entries with tenfold noise and weights 1/100 disturb less than with equal weights."""
    rng = np.random.default_rng(0)
    noisy = rng.random(low_rank.shape) < 0.3
    X = np.abs(low_rank + np.where(noisy, 2.0, 0.0) * rng.standard_normal(low_rank.shape))
    weights = np.where(noisy, 0.01, 1.0)
    equal = AutoNMF(3, random_state=0).fit_transform(X)
    known = AutoNMF(3, random_state=0)
    W = known.fit_transform(X, weights=weights)
    weighted_error = np.linalg.norm(low_rank - W @ known.components_)
    plain = AutoNMF(3, random_state=0).fit(X)
    assert weighted_error < 0.5 * np.linalg.norm(low_rank - equal @ plain.components_)
    loss = 0.5 * np.sum(weights * (X - W @ known.components_) ** 2)
    assert_allclose(0.5 * known.reconstruction_err_**2, loss, rtol=1e-6)


def test_weights_and_missing_and_samples_together(X: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    weights, samples = rng.random(X.shape) + 0.1, rng.random(60) + 0.5
    model = masked(n_components=3)
    W = model.fit_transform(X, sample_weight=samples, weights=weights)
    loss = 0.5 * np.nansum(samples[:, None] * weights * (X - W @ model.components_) ** 2)
    assert_allclose(0.5 * model.reconstruction_err_**2, loss, rtol=1e-6)
    point = model.path_.at_rank(4)
    on_path = 0.5 * np.nansum(samples[:, None] * weights * (X - point.U @ point.V.T) ** 2)
    assert_allclose(point.loss, on_path, rtol=1e-6)


# Everything around a fit


def test_fit_transform_reports_the_loss_of_known_entries(X: np.ndarray) -> None:
    model = masked()
    W = model.fit_transform(X)
    assert_allclose(W, model.transform(X), rtol=1e-6, atol=1e-9)
    loss = known_loss(X, W @ model.components_)
    assert_allclose(0.5 * model.reconstruction_err_**2, loss, rtol=1e-8)
    for point in model.path_.points:
        assert_allclose(point.loss, known_loss(X, point.U @ point.V.T), rtol=1e-7)


def test_transform_is_nnls_on_known_entries(X: np.ndarray) -> None:
    model = masked().fit(X)
    given = np.array(X[:10])
    given[4] = np.nan
    W = model.transform(given)
    assert not W[4].any()
    for i in set(range(10)) - {4}:
        known = ~np.isnan(given[i])
        expected = nnls(model.components_.T[known], given[i][known])[0]
        assert_allclose(W[i], expected, atol=1e-5 * expected.max())
    assert not model.transform(np.full((2, 40), np.nan)).any()


def test_rows_and_columns_of_which_nothing_is_known(X: np.ndarray) -> None:
    X[7], X[:, 11] = np.nan, np.nan
    for given in (X, np.asfortranarray(X), sparse.csr_matrix(X)):
        model = masked()
        W = model.fit_transform(given)
        assert model.n_components_ == 3
        assert not W[7].any()
        assert_allclose(model.components_[:, 11], 0.0, atol=1e-9)


def test_at_rank(X: np.ndarray) -> None:
    model = masked().fit(X)
    for rank in (2, 4):
        other = model.at_rank(rank, X)
        loss = known_loss(X, other.transform(X) @ other.components_)
        assert_allclose(0.5 * other.reconstruction_err_**2, loss, rtol=1e-6)
        assert loss <= model.path_.at_rank(rank).loss * (1 + 1e-6)
    assert not model.at_rank(2).polished_


@pytest.mark.parametrize("solver", ["auto", "pasm", "s-ipalm", "ipalm", "palm"])
@pytest.mark.parametrize("options", [{"grid": "adaptive"}, {"rule": "marginal"}, {"init": "nndsvda"}])
def test_other_options(solver: str, options: dict[str, Any], X: np.ndarray) -> None:
    model = masked(solver=solver, tol=1e-3, max_iter=300, n_components=3, **options).fit(X)
    relative = model.reconstruction_err_**2 / np.nansum(X**2)
    assert relative < 0.05


def test_given_initial_factors(X: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    init = rng.random((60, 5)), rng.random((40, 5))
    path = rank_path(X, init=init, missing="mask", weights=rng.random(X.shape) + 0.5)
    assert path.ranks.tolist() == [1, 2, 3, 4, 5]
    assert np.all(np.diff(path.losses) < 0)


def test_single_precision(X: np.ndarray) -> None:
    model = masked().fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.n_components_ == 3


def test_pickle_clone_and_search(X: np.ndarray) -> None:
    model = masked().fit(X)
    assert clone(model).missing == "mask"
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))
    assert_array_equal(again.path_.losses, model.path_.losses)

    def score(estimator: AutoNMF, X: np.ndarray, y: Any = None) -> float:
        return -known_loss(X, estimator.transform(X) @ estimator.components_)

    search = GridSearchCV(masked(), {"n_components": [1, 3]}, scoring=score, cv=KFold(3))
    assert search.fit(X).best_params_ == {"n_components": 3}
    assert make_pipeline(masked()).fit_transform(X).shape == (60, 3)


def test_saved_path(X: np.ndarray, tmp_path) -> None:
    path = masked().fit(X).path_
    path.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    assert_array_equal(loaded.losses, path.losses)
    assert autonmf.select_rank(loaded, rule="marginal").rank >= 2


def test_pictures(X: np.ndarray) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    model = masked().fit(X)
    for owner in (model.path_, model.rank_estimate_):
        assert all(ax.has_data() for ax in owner.plot().axes_.values())
    pyplot.close("all")


@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
def test_report(storage, X: np.ndarray, tmp_path) -> None:
    """The page counts missing entries apart from zeros, and fits samples by what is known of them."""
    pytest.importorskip("plotly")
    from autonmf.report.contents import row_energies, row_residuals
    from autonmf.report.health import compute_statistics
    from autonmf.report.result import Result

    model = masked().fit(storage(X))
    result = Result.from_model(model, storage(X))
    assert result.data is not None
    found = compute_statistics(result.data)
    assert (found.missing, found.zeros) == (np.isnan(X).sum(), (X == 0).sum())
    assert (found.largest, found.sparse) == (np.nanmax(X), sparse.issparse(storage(X)))
    fit = result.factors(model.n_components_)
    left = row_residuals(result.data, fit.U, fit.V, row_energies(result.data))
    assert_allclose(left, np.nansum((X - fit.U @ fit.V.T) ** 2, axis=1), rtol=1e-6, atol=1e-9)
    page = model.report(tmp_path / "report.html", X=storage(X)).read_text(encoding="utf-8")
    assert "Missing" in page


def test_at_rank_takes_the_weights_of_the_fit(low_rank: np.ndarray) -> None:
    """Polished on the weighted loss; without the weights X is not what was fitted."""
    rng = np.random.default_rng(0)
    weights, sample_weight = rng.uniform(0.2, 1.0, low_rank.shape), rng.integers(0, 3, len(low_rank))
    model = AutoNMF(3, max_rank=6, random_state=0).fit(low_rank, sample_weight=sample_weight, weights=weights)
    other = model.at_rank(4, low_rank, sample_weight=sample_weight, weights=weights)
    kept = sample_weight > 0
    w = (weights * sample_weight[:, None])[kept]
    assert 0.5 * other.reconstruction_err_**2 <= model.path_.at_rank(4).loss * (1 + 1e-9)
    point = model.path_.at_rank(4)
    assert_allclose(point.loss, 0.5 * np.sum(w * (low_rank[kept] - point.U @ point.V.T) ** 2), rtol=1e-5)
    with pytest.raises(ValueError, match="weights differ from those of the fit"):
        model.at_rank(4, low_rank, sample_weight=kept.astype(float))
