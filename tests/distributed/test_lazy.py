"""What a model that was fitted to a Dask array hands out is computed when it is asked for."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF, RankPath


@pytest.fixture(scope="module")
def fitted(client: Any, tall: np.ndarray) -> AutoNMF:
    return AutoNMF(max_rank=4, random_state=0, tol=1e-2).fit(da.from_array(tall, chunks=(60, 30)))


def never(block: np.ndarray) -> np.ndarray:
    raise AssertionError("this was to stay lazy")


@pytest.mark.slow
def test_transform(fitted: AutoNMF, tall: np.ndarray) -> None:
    X = da.from_array(tall, chunks=((100, 140), 30))
    W = fitted.transform(X)
    assert isinstance(W, da.Array)
    assert W.chunks == ((100, 140), (3,))
    assert W.dtype == W._meta.dtype == np.float64
    np.testing.assert_allclose(W.compute(), fitted.transform(tall), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        fitted.inverse_transform(W).compute(), fitted.inverse_transform(fitted.transform(tall)), rtol=1e-5
    )


def test_nothing_is_computed_before(fitted: AutoNMF) -> None:
    X = da.ones((40, 30), chunks=(20, 30)).map_blocks(never, dtype=float, meta=np.empty((0, 0)))
    W = fitted.transform(X)
    with pytest.raises(AssertionError, match="stay lazy"):
        W.compute()


def test_transform_of_other_chunks(fitted: AutoNMF, tall: np.ndarray) -> None:
    expected = fitted.transform(tall)
    by_columns = fitted.transform(da.from_array(tall.astype(np.float32), chunks=(100, 9)))
    assert by_columns.dtype == np.float32
    np.testing.assert_allclose(by_columns.compute(), expected, rtol=1e-3, atol=1e-4)
    chunks = da.from_array(tall, chunks=(100, 30))
    by_csr = fitted.transform(chunks.map_blocks(sparse.csr_matrix))
    np.testing.assert_allclose(by_csr.compute(), expected, rtol=1e-5, atol=1e-8)
    some = tall[:, 0] > 1.0
    chosen = fitted.transform(chunks[chunks[:, 0] > 1.0])  # chunks of unknown length
    np.testing.assert_allclose(chosen.compute(), expected[some], rtol=1e-5, atol=1e-8)


def test_transform_checks(fitted: AutoNMF) -> None:
    with pytest.raises(ValueError, match="30 features"):
        fitted.transform(da.ones((4, 29), chunks=(2, 29)))
    with pytest.raises(ValueError, match="Negative values"):
        fitted.transform(da.ones((4, 30), chunks=(2, 30)) - 2.0).compute()


def test_fit_transform(client: Any, tall: np.ndarray) -> None:
    X = da.from_array(tall, chunks=(60, 30))
    model = AutoNMF(n_components=3, max_rank=4, random_state=0, tol=1e-2)
    W = model.fit_transform(X)
    assert isinstance(W, da.Array)
    np.testing.assert_allclose(W.compute(), model.transform(tall), rtol=1e-6, atol=1e-9)


def test_path(fitted: AutoNMF, tall: np.ndarray, tmp_path: Path) -> None:
    point = fitted.path_.at_rank(2)
    assert isinstance(point.U, da.Array)
    U = point.U.compute()
    assert 0.5 * np.sum((tall - U @ point.V.T) ** 2) <= point.loss * (1 + 1e-5)
    fitted.path_.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    np.testing.assert_array_equal(loaded.at_rank(2).U, U)


def test_at_rank(fitted: AutoNMF, tall: np.ndarray) -> None:
    here = AutoNMF(max_rank=4, random_state=0, tol=1e-2).fit(tall)
    polished = fitted.at_rank(2, da.from_array(tall, chunks=(60, 30)))
    assert polished.reconstruction_err_ == pytest.approx(here.at_rank(2, tall).reconstruction_err_, rel=1e-3)
    rough = fitted.at_rank(2)
    assert type(rough.explained_variance_) is np.ndarray
    assert rough.reconstruction_err_ == pytest.approx(here.at_rank(2).reconstruction_err_, rel=1e-5)


def test_polished_tree(fitted: AutoNMF, tall: np.ndarray) -> None:
    tree = fitted.tree(da.from_array(tall, chunks=(60, 30)), max_rank=3)
    expected = AutoNMF(random_state=0).fit(tall).tree(tall, max_rank=3)
    np.testing.assert_array_equal(tree.rank, expected.rank)
    np.testing.assert_allclose(tree.weight, expected.weight, rtol=0.05)


def test_pickle(fitted: AutoNMF, tall: np.ndarray) -> None:
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.components_, fitted.components_)
    assert copy.path_.at_rank(2).U.shape == (240, 2)


def test_the_tree_of_a_lazy_path(fitted: AutoNMF) -> None:
    tree, expected = fitted.path_.tree(), fitted.path_.computed().tree()
    assert type(tree.weight) is np.ndarray
    np.testing.assert_array_equal(tree.parent, expected.parent)
    np.testing.assert_allclose(tree.weight, expected.weight, rtol=1e-6)


def test_samples_of_a_dask_array_are_not_drawn(fitted: AutoNMF, tall: np.ndarray) -> None:
    with pytest.raises(ValueError, match="needs X in memory"):
        fitted.component_stability(da.from_array(tall, chunks=(60, 30)))
