"""Every storage of X answers the protocol's questions as NumPy would."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.data import Dense, Scaled, Scaling, Sparse, as_data, compress, read_all, row_blocks

Compare = Callable[..., None]

STORAGES = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "coo": sparse.coo_matrix,
    "lil": sparse.lil_matrix,
    "dok": sparse.dok_matrix,
    "dia": sparse.dia_matrix,
    "bsr": sparse.bsr_matrix,
}
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}


@pytest.fixture
def compare(kinds: SimpleNamespace) -> Compare:
    return kinds.compare


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("given", STORAGES)
def test_protocol(given: str, dtype: type, X: np.ndarray, compare: Compare) -> None:
    data = as_data(STORAGES[given](X.astype(dtype)))
    assert data.dtype == dtype
    compare(data, X.astype(dtype).astype(float), TOLERANCE[dtype])


def test_every_kind(complete: Callable[[Any], Any], X: np.ndarray, compare: Compare) -> None:
    compare(complete(X), X, 1e-9)


def test_several_row_blocks(
    storage: Callable[[Any], Any], rng: np.random.Generator, compare: Compare
) -> None:
    X = rng.random((1300, 900)) * (rng.random((1300, 900)) < 0.1)
    assert len(list(row_blocks(X.shape))) > 1
    compare(as_data(storage(X)), X, 1e-10)


def test_several_blocks_of_a_compression(rng: np.random.Generator, compare: Compare) -> None:
    X = rng.random((30_000, 12)) @ rng.random((12, 20))
    compressed = compress(as_data(X), 12, rng)
    assert len(list(row_blocks((30_000, compressed.R.shape[1])))) > 1
    compare(compressed, X, 1e-9)


def test_all_of_it_as_an_array(complete: Callable[[Any], Any], X: np.ndarray) -> None:
    data = complete(X)
    if isinstance(data, Scaled) and data.scaling.transposed:
        with pytest.raises(NotImplementedError, match="rows of this matrix cannot be read"):
            read_all(data)
        data = Scaling(transposed=True).apply(data)
        X = X.T
    assert_allclose(read_all(data), X, atol=1e-12)


@pytest.mark.parametrize(("shape", "entries"), [((10, 3), 9), ((10, 3), 1), ((10, 3), 1000), ((1, 1), 1)])
def test_row_blocks_cover_every_row_once(shape: tuple[int, int], entries: int) -> None:
    rows = np.arange(shape[0])
    assert_array_equal(np.concatenate([rows[b] for b in row_blocks(shape, entries)]), rows)


@pytest.mark.parametrize("compressed", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("step", [2, -1])
def test_sparse_entries_need_not_lie_side_by_side(compressed, step: int, rng: np.random.Generator) -> None:
    plain = compressed(sparse.random(20, 15, density=0.3, random_state=rng))
    spaced = np.zeros(abs(step) * plain.nnz)[::step]
    spaced[:] = plain.data
    X = compressed((spaced, plain.indices, plain.indptr), shape=plain.shape)
    assert not X.data.flags.c_contiguous
    data = as_data(X)
    V, U = rng.random((15, 3)), rng.random((20, 3))
    assert_allclose(data.right(V), plain @ V)
    assert_allclose(data.left(U), plain.T @ U)
    assert X.data is spaced or np.shares_memory(X.data, spaced)


@pytest.mark.parametrize("compressed", [sparse.csr_matrix, sparse.csc_matrix])
def test_duplicates_are_summed_and_kept_by_the_caller(compressed, compare: Compare) -> None:
    first, second = compressed(np.eye(3)), np.eye(3)
    first.data = np.concatenate([first.data, [2.0]])
    first.indices = np.concatenate([first.indices, first.indices[-1:]])
    first.indptr = np.concatenate([first.indptr[:-1], [4]])
    second[2, 2] = 3.0
    compare(as_data(first), second, 1e-12)
    assert first.nnz == 4, "the caller's matrix has changed"


def test_explicit_zeros_and_unsorted_indices(compare: Compare) -> None:
    X = sparse.csr_matrix((np.array([0.0, 2.0, 1.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    compare(as_data(X), X.toarray(), 1e-12)
    assert_array_equal(X.indices, [2, 0, 1], "the caller's matrix has changed")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float32),
        (np.longdouble, np.float64),
        (np.int64, np.float64),
        (np.uint8, np.float64),
        (bool, np.float64),
        (object, np.float64),
        (">f8", np.float64),
    ],
)
def test_precision(given, kept: type) -> None:
    X = np.array([[1, 0], [2, 3]]).astype(given)
    data = as_data(X)
    assert data.dtype == kept
    assert data.dtype.isnative
    assert_array_equal(data.right(np.eye(2, dtype=kept)), X.astype(kept))


def test_X_is_not_copied(storage: Callable[[Any], Any], X: np.ndarray) -> None:
    given = storage(X)
    kept: Any = as_data(given)
    if sparse.issparse(given):
        assert np.shares_memory(kept.X.data, given.data)
    else:
        assert np.shares_memory(kept.X, given)


def test_data_passes_through(X: np.ndarray) -> None:
    for data in (Dense(X), Sparse(sparse.csr_matrix(X))):
        assert as_data(data) is data


def test_read_only_memory_map(X: np.ndarray, compare: Compare, tmp_path) -> None:
    np.save(tmp_path / "X.npy", X)
    compare(as_data(np.load(tmp_path / "X.npy", mmap_mode="r")), X, 1e-12)


def test_frames_and_lists(X: np.ndarray, compare: Compare) -> None:
    pandas = pytest.importorskip("pandas")
    for given in (X.tolist(), pandas.DataFrame(X), pandas.DataFrame(X).astype("Float64")):
        compare(as_data(given), X, 1e-12)
