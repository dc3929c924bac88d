"""X in a file gives what X in memory gives, and is never loaded as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import AutoNMF, rank_path
from autonmf.data import Scaled, Scaling, Streamed, as_data, read_all, streamed, sums_of_squares
from autonmf.datasets import make_low_rank


@pytest.fixture
def counts() -> np.ndarray:
    """Counts: every store can hold them without rounding."""
    X, _, _ = make_low_rank(90, 50, rank=3, noise=0.05, random_state=0)
    return np.round(20 * X)


@pytest.fixture(params=["hdf5", "zarr", "integers", "big-endian", "backed", "backed-columns"])
def stored(request: pytest.FixtureRequest, tmp_path: Path, counts: np.ndarray, in_file: Callable) -> Any:
    return in_file(request.param, tmp_path, counts)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the matrix were large: several blocks, and too large to load."""
    monkeypatch.setattr(streamed, "SMALL", 0)
    monkeypatch.setattr(Streamed, "block_entries", 13 * 50)


def test_answers_as_the_matrix_in_memory(stored: Any, counts: np.ndarray) -> None:
    data = as_data(stored)
    by_columns = isinstance(data, Scaled)
    assert by_columns or isinstance(data, Streamed)
    transposed = Scaling(transposed=True).apply(data)
    rng = np.random.default_rng(0)
    for view, X in ((data, counts), (transposed, counts.T)):
        n, m = X.shape
        U, V = np.asfortranarray(rng.random((n, 4))), np.asfortranarray(rng.random((m, 4)))
        assert view.shape == X.shape
        assert_allclose(view.right(V), X @ V)
        assert_allclose(view.left(U), X.T @ U)
        assert view.right(V).flags.f_contiguous
        assert view.left(U).flags.f_contiguous
        assert_allclose(view.squared_norm(), np.sum(X**2))
        of_rows, of_columns = sums_of_squares(view, U[:, :1], V[:, :1])
        assert_allclose(of_rows, X**2 @ V[:, :1])
        assert_allclose(of_columns, (X**2).T @ U[:, :1])
        assert_allclose(view.squared_residual(U, V), np.sum((X - U @ V.T) ** 2))
        assert_allclose(Scaling(4.0).apply(view).right(V), X @ V / 4)
    readable = transposed if by_columns else data
    assert_array_equal(read_all(readable), counts.T if by_columns else counts)


@pytest.mark.slow
def test_the_fit_is_that_of_the_matrix_in_memory(stored: Any, counts: np.ndarray) -> None:
    inside = AutoNMF(max_rank=8, random_state=0).fit(counts)
    model = AutoNMF(max_rank=8, random_state=0)
    W = model.fit_transform(stored)
    assert model.n_components_ == inside.n_components_ == 3
    assert model.n_features_in_ == 50
    assert_allclose(model.path_.losses, inside.path_.losses, rtol=1e-6)
    assert_allclose(W, inside.transform(counts), rtol=1e-4, atol=1e-4)
    assert_allclose(model.transform(stored), W, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_paths_read_files_too(stored: Any, counts: np.ndarray) -> None:
    options: dict[str, Any] = {"max_rank": 6, "random_state": 0}
    for engine in ("direct", "compressed"):
        path = rank_path(stored, engine=engine, **options)
        assert_allclose(path.losses, rank_path(counts, engine=engine, **options).losses, rtol=1e-5)


def test_a_float_map_is_read_where_it_lies(tmp_path: Path, counts: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", counts)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    data: Any = as_data(mapped)
    assert data.X.base is mapped or np.shares_memory(data.X, mapped)
    assert_array_equal(
        AutoNMF(max_rank=5, random_state=0).fit(mapped).components_,
        AutoNMF(max_rank=5, random_state=0).fit(counts).components_,
    )


def test_small_files_are_loaded(
    tmp_path: Path, counts: np.ndarray, in_file: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "SMALL", 1 << 20)
    with in_file("hdf5", tmp_path, counts).file as file:
        assert not isinstance(as_data(file["X"]), Streamed)


@pytest.mark.parametrize(
    ("bad", "message"),
    [(np.nan, "X contains NaN"), (np.inf, "infinity"), (-1.0, "smallest entry of X is -1")],
)
def test_bad_entries_are_named(
    tmp_path: Path, counts: np.ndarray, in_file: Callable, bad: float, message: str
) -> None:
    counts[80, 3] = bad
    with in_file("hdf5", tmp_path, counts).file as file:
        with pytest.raises(ValueError, match=message):
            AutoNMF().fit(file["X"])
        with pytest.raises(ValueError, match=message):
            AutoNMF(max_rank=4, random_state=0).fit(counts[:70]).transform(file["X"])


def test_what_needs_the_matrix_in_memory_says_so(
    tmp_path: Path, counts: np.ndarray, in_file: Callable
) -> None:
    weights = np.random.default_rng(0).random(counts.shape)
    with in_file("hdf5", tmp_path, counts).file as file:
        with pytest.raises(ValueError, match=r"pass X\[:\]"):
            AutoNMF().fit(file["X"], weights=weights)
        model = AutoNMF(max_rank=5, random_state=0).fit(counts)
        with pytest.raises(ValueError, match="features"):
            model.transform(in_file("hdf5", tmp_path / "..", counts[:, :20]))


def test_missing_entries_in_a_file(tmp_path: Path, counts: np.ndarray, in_file: Callable) -> None:
    counts[0, 0] = np.nan
    with in_file("hdf5", tmp_path, counts).file as file, pytest.raises(ValueError, match="need X in memory"):
        AutoNMF(missing="mask").fit(file["X"])


def test_samples_weigh_in_files_too(tmp_path: Path, counts: np.ndarray, in_file: Callable) -> None:
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(counts))
    inside = AutoNMF(3, max_rank=6, random_state=0).fit(counts, sample_weight=weight)
    with in_file("hdf5", tmp_path, counts).file as file:
        model = AutoNMF(3, max_rank=6, random_state=0).fit(file["X"], sample_weight=weight)
    assert_allclose(model.path_.losses, inside.path_.losses, rtol=1e-6)


def test_blocks_are_bounded() -> None:
    assert streamed.BLOCK_ENTRIES * 8 <= 1 << 25
