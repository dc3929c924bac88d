"""Every entry point on any matrix: no crash, no NaN, nonnegative factors, losses that fall with the rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF, RankPath, compare_ranks, rank_path, select_rank
from autonmf.baselines import METHODS, discrete_path

SOLVERS = ("auto", "pasm", "s-ipalm", "ipalm", "palm")
GRIDS = ("exact", "adaptive")
ENGINES = ("auto", "direct", "compressed")
HOLDING_BACK = ("cv-wold", "cv-bicv")
ROUNDING = 1e-6  # of ‖X‖²: how far losses in single precision may be off
STOPPED = 1e-5  # the same of a run that ends by a stopping criterion

# The same examples at each run: a failure is a change of the code.
searched = settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

entries = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(1e-3, 1e3))
blocks = array_shapes(min_dims=2, max_dims=2, max_side=6).flatmap(
    lambda shape: arrays(np.float64, shape, elements=entries)
)
FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as it is": lambda X: X,
    "repeated": lambda X: np.tile(X, (2, 2)),
    "nearly repeated": lambda X: np.hstack([X, X * (1 + 1e-9)]),
    "rank one": lambda X: np.outer(X[:, 0], X[0]),
    "constant": lambda X: np.full_like(X, X.flat[0]),
    "blocks": lambda X: np.kron(np.eye(2), X),
    "zeros around": lambda X: np.pad(X, 2),
    "decades": lambda X: X * 10.0 ** -(np.arange(X.size).reshape(X.shape) % 7),
    "one huge entry": lambda X: X + np.pad([[1e100]], ((0, len(X) - 1), (0, X.shape[1] - 1))),
}
STORAGES: dict[str, Callable[[np.ndarray], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strides": lambda X: np.repeat(X, 3, axis=1)[:, ::3],
    "backwards": lambda X: X[::-1],
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
}
DTYPES = (np.float64, np.float32, ">f8", np.longdouble, np.int32, np.uint8, np.bool_, np.float16)
LARGEST = {np.int32: 1e9, np.uint8: 255.0, np.float16: 6e4, np.float32: 1e30}
SPARSE_DTYPES = (np.float64, np.float32, np.int32, np.bool_)


@st.composite
def matrices(draw: st.DrawFn) -> Any:
    """A nonzero matrix of any form, size, type and storage."""
    X = FORMS[draw(st.sampled_from(list(FORMS)))](draw(blocks))
    storage = draw(st.sampled_from(list(STORAGES)))
    dtype = np.dtype(draw(st.sampled_from(SPARSE_DTYPES if storage in ("csr", "csc", "coo") else DTYPES)))
    if dtype == np.float64 and X.max() < 1e99:
        X = X * draw(st.sampled_from([1.0, 1e8, 1e-8, 1e100, 1e-100]))
    X = np.minimum(X, LARGEST.get(dtype.type, np.inf)).astype(dtype)
    assume(X.any())
    return STORAGES[storage](X)


@pytest.fixture(autouse=True)
def documented_warnings() -> Any:
    """A fit that has not converged, or needs fewer components than asked for, says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* components vanished on the path", UserWarning)
        yield


def check_factors(*factors: np.ndarray) -> None:
    for factor in factors:
        assert np.isfinite(factor).all()
        assert (factor >= 0).all()


def check_loss(loss: float, path: RankPath, tolerance: float = ROUNDING) -> None:
    """No more than the best matrix of rank one leaves."""
    assert loss <= path.rank_one_loss + 0.5 * tolerance * path.squared_norm


def check_points(path: RankPath, tolerance: float = ROUNDING, *, falling: bool = True) -> None:
    check_loss(path.losses.max(), path, tolerance)
    if falling:
        assert (np.diff(path.losses) <= 0.5 * tolerance * path.squared_norm).all()
    for point in path.points:
        check_factors(point.U, point.V)
        assert point.U.shape == (path.shape[0], point.rank)
        assert point.V.shape == (path.shape[1], point.rank)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
@searched
@given(X=matrices(), engine=st.sampled_from(ENGINES), init=st.sampled_from(["random", "nndsvd", "nndsvda"]))
def test_a_path(solver: str, grid: str, X: Any, engine: str, init: str) -> None:
    path = rank_path(X, solver=solver, grid=grid, engine=engine, init=init, n_points=10, random_state=0)
    check_points(path, falling=grid == "exact")


@settings(searched, max_examples=20)
@given(X=matrices(), engine=st.sampled_from(ENGINES), seed=st.integers(0, 50))
def test_a_path_of_the_equilibrated_matrix(X: Any, engine: str, seed: int) -> None:
    check_points(rank_path(X, equilibrate=True, engine=engine, random_state=seed))


@settings(searched, max_examples=20)
@given(
    X=matrices(),
    solver=st.sampled_from(SOLVERS),
    engine=st.sampled_from(ENGINES),
    rule=st.sampled_from(["auto", "marginal"]),
)
def test_a_model(X: Any, solver: str, engine: str, rule: str) -> None:
    model = AutoNMF(solver=solver, engine=engine, rule=rule, random_state=0)
    W = model.fit_transform(X)
    check_factors(W, model.components_, model.transform(X))
    for rank in (int(rank) for rank in model.path_.ranks):
        for other in (model, model.at_rank(rank), model.at_rank(rank, X)):
            check_factors(other.components_)
            check_loss(0.5 * other.reconstruction_err_**2, model.path_)


@settings(searched, max_examples=15)
@given(X=matrices(), rank=st.integers(1, 6))
def test_a_given_rank(X: Any, rank: int) -> None:
    rank = min(rank, *X.shape)
    model = AutoNMF(rank, random_state=0)
    W = model.fit_transform(X)
    check_factors(W, model.components_)
    check_loss(0.5 * model.reconstruction_err_**2, model.path_)
    assert W.shape == (X.shape[0], rank)


@settings(searched, max_examples=20)
@given(X=matrices(), holes=st.integers(0, 2**32 - 1), equilibrate=st.booleans(), weighted=st.booleans())
def test_missing_and_weighted_entries(X: Any, holes: int, equilibrate: bool, weighted: bool) -> None:
    rng = np.random.default_rng(holes)
    X = np.asarray(X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    X[rng.random(X.shape) < 0.15] = np.nan
    assume(np.nansum(X) > 0)
    weights = rng.uniform(0.1, 10.0, X.shape) if weighted else None
    check_points(rank_path(X, missing="mask", weights=weights, equilibrate=equilibrate, random_state=0))


@settings(searched, max_examples=20)
@given(X=matrices(), equilibrate=st.booleans())
def test_a_path_is_read_as_it_was_saved(tmp_path: Path, X: Any, equilibrate: bool) -> None:
    path = rank_path(X, equilibrate=equilibrate, random_state=0)
    path.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    assert [point.loss for point in loaded.points] == [point.loss for point in path.points]
    assert all(np.array_equal(p.U, q.U) for p, q in zip(path.points, loaded.points, strict=True))
    rule = "auto" if equilibrate else "marginal"
    estimate = select_rank(loaded, rule)
    assert estimate.rank == select_rank(path, rule).rank
    assert estimate.rank in estimate.plausible


@pytest.mark.parametrize("name", METHODS)
@settings(searched, max_examples=6)
@given(X=matrices())
def test_a_baseline(name: str, X: Any) -> None:
    try:
        estimate = METHODS[name](X, random_state=0)
    except ValueError as error:
        if name not in HOLDING_BACK:
            raise
        message = str(error)
    else:
        assert 0 <= estimate.rank <= min(X.shape)
        message = estimate.why
    assert message


@settings(searched, max_examples=10)
@given(X=matrices(), direction=st.sampled_from(["increasing", "decreasing"]))
def test_a_discrete_path(X: Any, direction: str) -> None:
    check_points(
        discrete_path(X, range(1, min(X.shape) + 1), direction, random_state=0), STOPPED, falling=False
    )


@settings(searched, max_examples=3)
@given(X=matrices())
def test_a_comparison(X: Any) -> None:
    comparison = compare_ranks(X, random_state=0)
    assert {answer.method for answer in comparison.answers if answer.failed} <= set(HOLDING_BACK)


REFUSING: dict[str, Callable[[Any], object]] = {
    "rank_path": rank_path,
    "equilibrated": lambda X: rank_path(X, equilibrate=True),
    "fit": lambda X: AutoNMF().fit(X),
    "fit_transform": lambda X: AutoNMF().fit_transform(X),
    "compare_ranks": compare_ranks,
    "discrete_path": lambda X: discrete_path(X, [1]),
    **METHODS,
}


@pytest.mark.parametrize("name", REFUSING)
@searched
@given(X=matrices(), value=st.sampled_from([np.nan, np.inf, -np.inf, -1.0]), place=st.floats(0, 1))
def test_one_bad_entry_is_refused_wherever_it_is(name: str, X: Any, value: float, place: float) -> None:
    dense = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    dense.flat[int(place * (dense.size - 1))] = value
    with pytest.raises(ValueError, match=r"NaN|infinity|Negative"):
        REFUSING[name](sparse.csr_matrix(dense) if sparse.issparse(X) else dense)
