"""Every strange input has an outcome: an error that says what to do, or a finite result without warnings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from autonmf import AutoNMF, rank_path, select_rank
from autonmf.datasets import make_low_rank

X = make_low_rank(12, 9, rank=2, random_state=0)[0]
X.setflags(write=False)


def by_path(data: object, **options: object):
    return rank_path(data, **{"random_state": 0} | options)


def by_estimator(data: object, **options: object) -> AutoNMF:
    return AutoNMF(**{"random_state": 0} | options).fit(data)


RUNNERS = {"rank_path": by_path, "AutoNMF": by_estimator}
both = pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)


def with_entry(value: object) -> np.ndarray:
    changed = X.astype(object if isinstance(value, str) or value is None else np.float64)
    changed[1, 2] = value
    return changed


# What X may not be: the words that the message has to have, whoever says it.
REFUSED = {
    "negative entry": (with_entry(-1.0), "Negative values"),
    "negative sparse entry": (sparse.csr_matrix(with_entry(-1.0)), "Negative values"),
    "NaN": (with_entry(np.nan), "NaN"),
    "NaN in sparse": (sparse.csc_matrix(with_entry(np.nan)), "NaN"),
    "infinity": (with_entry(np.inf), "infinity"),
    "negative infinity": (with_entry(-np.inf), "infinity|Negative"),
    "NaN and negative": (np.where(X > 1, np.nan, -1.0), "NaN"),
    "NaN beside zeros": (np.array([[0.0, np.nan]]), "NaN"),
    "no rows": (np.zeros((0, 3)), r"empty|0 sample\(s\)"),
    "no columns": (np.zeros((3, 0)), r"empty|0 feature\(s\)"),
    "empty sparse": (sparse.csr_matrix((0, 3)), r"empty|0 sample\(s\)"),
    "scalar": (3.0, "[Rr]eshape"),
    "one dimension": (X[0], "[Rr]eshape"),
    "three dimensions": (X[None], "3 dimension|dim 3"),
    "complex": (X + 1j, "[Cc]omplex"),
    "complex sparse": (sparse.csr_matrix(X + 0j), "[Cc]omplex"),
    "words": (np.array([["a", "b"], ["c", "d"]]), "number|numeric|convert string"),
    "a word among numbers": (with_entry("high"), "number|numeric|convert string"),
    "None among numbers": (with_entry(None), "NaN"),
    "numbers as text": (X.astype(str), "numbers"),
    "the name of a file": ("x.csv", "autonmf fit 'x.csv'"),
    "the path of a file": (Path("x.csv"), "autonmf fit 'x.csv'"),
    "several matrices": ({"counts": X, "tpm": X}, r"X\[name\].*counts, tpm"),
    "no matrix at all": ({}, "names are: none"),
    "dates": (np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"), "numbers"),
    "ragged list": ([[1.0, 2.0], [3.0]], "rows|same length|inhomogeneous"),
    "None": (None, "None|[Rr]eshape"),
    "masked array": (np.ma.array(X, mask=X > 1), "masked"),
    "all zeros": (np.zeros((4, 5)), "all zeros"),
    "sparse without entries": (sparse.csr_matrix((4, 5)), "all zeros"),
    "sparse zeros": (sparse.csr_matrix((np.zeros(1), ([0], [0])), shape=(4, 5)), "all zeros"),
    "entries 1e300": (1e300 * X, "Divide X"),
    "entries 1e-300": (1e-300 * X, "Divide X"),
    "denormal entries": (1e-310 * X, "Divide X"),
    "one entry 1e300": (with_entry(1e300), "Divide X"),
    "sparse entries 1e300": (sparse.csr_matrix(1e300 * X), "Divide X"),
}


@both
@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str, runner: Callable) -> None:
    data, words = REFUSED[kind]
    with pytest.raises((ValueError, TypeError), match=words):
        runner(data)


ACCEPTED = {
    "zero rows": np.where(np.arange(12)[:, None] % 3, X, 0.0),
    "zero columns": np.where(np.arange(9) % 3, X, 0.0),
    "zero rows and columns, sparse": sparse.csr_matrix(np.pad(X, 3)),
    "one row": X[:1],
    "one column": X[:, :1],
    "1 x 1": np.array([[2.0]]),
    "2 x 2": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "2 x 2 identity": np.eye(2),
    "identity": np.eye(8),
    "constant": np.full((7, 6), 3.0),
    "one nonzero entry": np.pad([[5.0]], 4),
    "one nonzero entry, sparse": sparse.csc_matrix(np.pad([[5.0]], 4)),
    "tall": np.vstack([X] * 20),
    "wide": np.hstack([X] * 20),
    "one huge entry": with_entry(1e100),
    "one tiny row": X * np.where(np.arange(12) == 3, 1e-150, 1.0)[:, None],
    "entries 1e130": 1e130 * X,
    "entries 1e-130": 1e-130 * X,
    "float32 1e30": (1e30 * X).astype(np.float32),
    "float32 1e-30": (1e-30 * X).astype(np.float32),
    "float32 1e30, sparse": sparse.csr_matrix((1e30 * X).astype(np.float32)),
    "float32 near the largest": (X / X.max() * 3e38).astype(np.float32),
    "booleans": X > 1,
    "integers": np.arange(30).reshape(6, 5),
    "largest integers": np.full((3, 4), np.iinfo(np.uint64).max),
}


def check_finite(*arrays: object) -> None:
    for array in arrays:
        assert np.isfinite(array).all()
        assert (np.asarray(array) >= 0).all()


@pytest.mark.parametrize("grid", ["exact", "adaptive"])
@pytest.mark.parametrize("kind", ACCEPTED)
def test_accepted_by_rank_path(kind: str, grid: str) -> None:
    path = by_path(ACCEPTED[kind], grid=grid)
    assert len(path.points) > 0
    check_finite(path.losses, path.lambdas, path.energy, path.rank_one_loss)
    assert (path.relative_losses <= 1 + 1e-6).all()
    for point in path.points:
        check_finite(point.U, point.V)
        assert point.rank >= 1


@pytest.mark.parametrize("grid", ["exact", "adaptive"])
@pytest.mark.parametrize("kind", ACCEPTED)
def test_accepted_by_the_estimator(kind: str, grid: str) -> None:
    data = ACCEPTED[kind]
    model = by_estimator(data, grid=grid)
    W = model.transform(data)
    check_finite(model.components_, W, model.reconstruction_err_)
    dense = (data.toarray() if sparse.issparse(data) else data).astype(np.float64)
    top = dense.max()  # norms of 1e130 would overflow
    error = np.linalg.norm((dense - W.astype(np.float64) @ model.components_) / top)
    assert_allclose(model.reconstruction_err_ / top, error, rtol=1e-3, atol=1e-5)
    assert model.explained_variance_.shape == (model.n_components_,)
    assert not np.isnan(model.explained_variance_).any()


def test_zero_rows_and_columns_stay_zero() -> None:
    padded = np.pad(X, ((0, 2), (0, 3)))
    model = by_estimator(padded)
    assert not model.components_[:, -3:].any()
    assert not model.transform(padded)[-2:].any()
    assert model.n_components_ == by_estimator(X, max_rank=6).n_components_


# Parameters: the message names the culprit, and the choice where there is one.
WRONG = [
    *({"n_components": value} for value in (0, -1, 2.5, True, "many", 10)),
    *({"max_rank": value} for value in (0, -1, 2.5, True, "3")),
    *({"min_rank": value} for value in (0, 2.5, None)),
    *({"max_iter": value} for value in (0, -1, 1.5, None, "many")),
    *({"n_starts": value} for value in (0, 1.5, None)),
    *({"n_points": value} for value in (0, 2.5)),
    *({"tol": value} for value in (-1, np.nan, "small", None)),
    *({"mu": value} for value in (-1, np.nan, np.inf, "small", None)),
    *({"delta": value} for value in (-1, np.nan, None)),
    *({"tau": value} for value in (-1, 0, np.nan, "large")),
    *({"time_budget": value} for value in (0, -1, np.nan, "1 hour")),
    *({"random_state": value} for value in (-1, 1.5, "seed")),
    {"n_jobs": 0, "n_starts": 2},
    {"n_jobs": "all", "n_starts": 2},
    {"callback": 3},
]
CHOICES = [
    ({"solver": "admm"}, "auto, hals, pasm, s-ipalm, ipalm, palm"),
    ({"solver": None}, "solver"),
    ({"solver": 3}, "solver"),
    ({"grid": "coarse"}, "exact, adaptive"),
    ({"grid": None}, "exact, adaptive"),
    ({"rule": "elbow"}, "marginal"),
    ({"rule": None}, "marginal"),
    ({"init": "zeros"}, "random, nndsvd, nndsvda"),
    ({"budget": "small"}, "'auto', 'full'"),
    ({"budget": None}, "'auto', 'full'"),
]


def accepts(runner: Callable, options: dict[str, object]) -> bool:
    target = rank_path if runner is by_path else AutoNMF
    return set(options) <= set(inspect.signature(target).parameters)


@pytest.mark.parametrize(
    ("runner", "options", "words"),
    [
        pytest.param(
            runner, options, words, id=f"{name}-{'-'.join(f'{k}={v!r}' for k, v in options.items())}"
        )
        for options, words in [*((wrong, next(iter(wrong))) for wrong in WRONG), *CHOICES]
        for name, runner in RUNNERS.items()
        if accepts(runner, options)
    ],
)
def test_wrong_parameter(runner: Callable, options: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        runner(X, **options)


def test_no_number_and_auto_both_leave_the_rank_to_the_data() -> None:
    auto, none = (by_estimator(X, n_components=value) for value in ("auto", None))
    assert auto.n_components_ == none.n_components_
    assert auto.rank_estimate_ is not None
    np.testing.assert_array_equal(auto.components_, none.components_)


def test_contradicting_ranks() -> None:
    three = np.ones((12, 3)), np.ones((9, 3))
    for options in ({"max_rank": 3}, {"init": three}):
        with pytest.raises(ValueError, match=r"min_rank=4.* 3"):
            by_path(X, min_rank=4, **options)
    with pytest.raises(ValueError, match=r"n_components.*(init|3)"):
        by_estimator(X, n_components=4, init=three)
    with pytest.raises(ValueError, match=r"n_components.*max_rank"):
        by_estimator(X, n_components=4, max_rank=3)
    with pytest.raises(ValueError, match=r"n_components=10 .*=9"):
        by_estimator(X, n_components=10)


@both
def test_max_rank_above_the_smaller_side(runner: Callable) -> None:
    with pytest.warns(UserWarning, match="max_rank=10 is more than .*=9"):
        result = runner(X, max_rank=10)
    path = getattr(result, "path_", result)
    assert path.ranks[-1] <= 9
    check_finite(path.losses)


@pytest.mark.parametrize("mu", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("grid", ["exact", "adaptive"])
def test_any_ridge_has_an_outcome(mu: float, grid: str) -> None:
    """A ridge heavy enough shrinks every component to zero; whoever asks for it is told so."""
    try:
        model = by_estimator(X, mu=mu, grid=grid)
    except ValueError as error:
        message = str(error)
        if "mu" not in message:
            pytest.fail(f"mu={mu} is not named: {message}")
    else:
        check_finite(model.components_, model.reconstruction_err_)


@pytest.mark.parametrize("iterations", [0, -1, 2.5, None])
def test_budget_that_is_no_number_of_iterations(iterations: object) -> None:
    with pytest.raises((ValueError, TypeError), match="budget"):
        by_path(X, budget=lambda rank: iterations)


def test_fewer_components_than_asked_for_from_the_start() -> None:
    """NNDSVD of a matrix of rank three has three components, whatever was asked for."""
    X = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.warns(UserWarning, match="1 of the 4 components vanished"):
        model = AutoNMF(n_components=4, max_rank=4, init="nndsvd", random_state=0).fit(X)
    assert model.components_.shape == (4, 6)
    assert model.reconstruction_err_ < 1e-6


def test_what_holds_no_matrix_or_several() -> None:
    anndata = pytest.importorskip("anndata")
    with pytest.raises(TypeError, match=r"adata\.X, or use autonmf\.anndata\.nmf"):
        AutoNMF().fit(anndata.AnnData(X))
    with pytest.raises(TypeError, match="X is None"):
        AutoNMF().fit(None)


def test_a_model_is_no_path() -> None:
    model = AutoNMF(2, random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"got AutoNMF: pass rank_path\(X\), or model\.path_"):
        select_rank(model)
    with pytest.raises(ValueError, match="rank '2' is not on this path"):
        model.at_rank("2")
    with pytest.raises(FileNotFoundError, match="there is no such folder to write to: 'no such folder'"):
        model.save("no such folder/model.npz")


def test_a_rule_is_checked_where_it_is_not_needed() -> None:
    with pytest.raises(ValueError, match="unknown rule"):
        AutoNMF(2, rule="bogus").fit(X)


def test_text_and_complex_data_get_advice() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).add_prefix("x").assign(species="setosa")
    with pytest.raises(ValueError, match=r"to float: 'setosa': X must hold numbers only; .*select_dtypes"):
        AutoNMF().fit(frame)
    with pytest.raises(
        ValueError, match=r"^Complex data not supported: take magnitudes, for example with np.abs"
    ):
        AutoNMF().fit(X + 1j)
