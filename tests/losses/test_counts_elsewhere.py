"""Counts in files, on clusters and in checkpoints: the same loss, and the same answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF, RankPath, rank_path
from autonmf.data import streamed

KL = "kullback-leibler"


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.poisson(5 * rng.gamma(0.5, 1.0, (150, 4)) @ rng.gamma(0.5, 1.0, (4, 60))).astype(float)


@pytest.mark.parametrize("kind", ["hdf5", "zarr", "integers", "backed"])
@pytest.mark.parametrize("transposed", [False, True])
def test_files(
    kind: str, transposed: bool, X: np.ndarray, tmp_path: Path, in_file: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Where only rows can be read, V takes other steps: slower, but to nearly the same losses."""
    monkeypatch.setattr(streamed, "SMALL", 0)
    X = np.ascontiguousarray(X.T) if transposed else X
    stored = in_file(kind, tmp_path, X)
    there = AutoNMF(beta_loss=KL, max_rank=10, random_state=0).fit(stored)
    here = AutoNMF(beta_loss=KL, max_rank=10, random_state=0).fit(X)
    assert there.n_components_ == here.n_components_ == 4
    assert there.reconstruction_err_**2 == pytest.approx(here.reconstruction_err_**2, rel=1e-3)
    assert (there.path_.losses[:4] <= 1.005 * here.path_.losses[:4]).all()
    assert (there.path_.losses <= 1.01 * here.path_.losses).all()  # above the true rank noise is fitted
    assert_allclose(there.transform(X[:5]), there.transform(stored)[:5], rtol=1e-9)


def test_a_file_that_is_read_by_columns_is_refused_where_rows_are_needed(
    X: np.ndarray, tmp_path: Path, in_file: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "SMALL", 0)
    stored = in_file("backed-columns", tmp_path, X)
    with pytest.raises(ValueError, match="by rows"):
        AutoNMF(beta_loss=KL, max_rank=5, random_state=0).fit(stored)


@pytest.mark.slow
def test_dask(X: np.ndarray) -> None:
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    import dask.array as da

    here = rank_path(X, 6, beta_loss=KL, random_state=0)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as workers,
        workers.get_client(),
    ):
        paths = [
            rank_path(da.from_array(X, chunks=(rows, 60)), 6, beta_loss=KL, random_state=0)
            for rows in (40, 150)
        ]
        for path in paths:
            assert_allclose(path.losses[:4], here.losses[:4], rtol=5e-3)
            for point in path.points:
                assert np.asarray(point.U).shape == (150, point.rank)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_an_interrupted_path_goes_on_with_the_same_bits(kind: Any, X: np.ndarray, tmp_path: Path) -> None:
    whole = rank_path(kind(X), 8, beta_loss=KL, random_state=0)

    def stop(progress: Any) -> bool:
        return progress.rank == 5

    rank_path(kind(X), 8, beta_loss=KL, random_state=0, checkpoint=tmp_path / "c", callback=stop)
    resumed = rank_path(kind(X), 8, beta_loss=KL, random_state=0, checkpoint=tmp_path / "c")
    assert_array_equal(resumed.losses, whole.losses)
    for one, other in zip(resumed.points, whole.points, strict=True):
        assert_array_equal(one.U, other.U)
    with pytest.raises(ValueError, match="beta_loss was kullback-leibler, is frobenius"):
        rank_path(kind(X), 8, random_state=0, checkpoint=tmp_path / "c")


def test_files_of_paths_and_models_remember_the_loss(X: np.ndarray, tmp_path: Path) -> None:
    model = AutoNMF(beta_loss=KL, max_rank=6, random_state=0).fit(X)
    model.save(tmp_path / "model")
    again = AutoNMF.load(tmp_path / "model")
    assert again.beta_loss == KL
    assert again.path_.beta_loss == KL
    assert again.rank_estimate_.confidence == model.rank_estimate_.confidence
    assert_array_equal(again.transform(X), model.transform(X))
    model.path_.save(tmp_path / "path")
    path = RankPath.load(tmp_path / "path")
    assert (path.beta_loss, path.energy, path.rank_one_loss) == (
        KL,
        model.path_.energy,
        model.path_.rank_one_loss,
    )


def test_time_budget_callback_and_starts(X: np.ndarray) -> None:
    seen = []
    path = rank_path(X, 6, beta_loss=KL, time_budget=30, n_starts=2, random_state=0, callback=seen.append)
    assert {progress.start for progress in seen} == {0, 1}
    assert all(0 <= progress.relative_loss < 10 for progress in seen)
    single = rank_path(X, 6, beta_loss=KL, random_state=0)
    assert np.all(path.losses <= single.losses * (1 + 1e-6))
    threads = rank_path(X, 6, beta_loss=KL, n_starts=2, n_jobs=2, random_state=0)
    assert_array_equal(threads.losses, path.losses)


def test_given_factors(X: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    U, V = rng.random((150, 5)) + 0.1, rng.random((60, 5)) + 0.1
    path = rank_path(X, init=(U, V), beta_loss=KL)
    assert_array_equal(path.ranks, np.arange(1, 6))
    for init in ("nndsvd", "nndsvda"):
        other = rank_path(X, 5, init=init, beta_loss=KL, random_state=0)
        assert_allclose(other.at_rank(4).loss, path.at_rank(4).loss, rtol=0.02)
