"""Every storage of X answers the protocol's questions as NumPy would."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.data import Dense, Scaled, Sparse, as_data, compress, to_unit_scale
from autonmf.data.blocks import row_blocks

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
def X(rng: np.random.Generator) -> np.ndarray:
    X = rng.random((17, 11)) * (rng.random((17, 11)) < 0.4)
    X[3], X[:, 5] = 0.0, 0.0
    return X


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def check_protocol(data, X: np.ndarray, rng: np.random.Generator, rtol: float) -> None:
    """Compare all of `Data` with plain NumPy on the dense X."""
    n, m = X.shape
    U, V = (np.asfortranarray(rng.random((k, 4)), dtype=data.dtype) for k in (n, m))
    assert data.shape == (n, m)
    assert_allclose(data.squared_norm(), np.linalg.norm(X) ** 2, rtol=rtol)
    for view, matrix, left, right in ((data, X, U, V), (data.T, X.T, V, U)):
        assert view.shape == matrix.shape
        assert view.dtype == data.dtype
        for product, expected in ((view.right(right), matrix @ right), (view.left(left), matrix.T @ left)):
            assert product.dtype == data.dtype
            assert product.flags.f_contiguous
            assert_allclose(product, expected, rtol=rtol, atol=rtol)
        residual = np.linalg.norm(matrix - left @ right.T) ** 2
        assert_allclose(view.squared_residual(left, right), residual, rtol=rtol)
    assert_allclose(data.divided(4.0).right(V), X @ V / 4.0, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", STORAGES)
def test_protocol(storage: str, dtype: type, X: np.ndarray, rng: np.random.Generator) -> None:
    data = as_data(STORAGES[storage](X.astype(dtype)))
    assert data.dtype == dtype
    check_protocol(data, X, rng, TOLERANCE[dtype])


@pytest.mark.parametrize("storage", ["C", "Fortran", "csr", "csc"])
def test_scaled(storage: str, X: np.ndarray, rng: np.random.Generator) -> None:
    scaled = Scaled(as_data(STORAGES[storage](X)), 7.0)
    check_protocol(scaled, X / 7.0, rng, 1e-12)


@pytest.mark.parametrize("factor", [1e-120, 1e-8, 1.0, 1e8, 1e120])
@pytest.mark.parametrize("storage", ["C", "csr"])
def test_unit_scale(storage: str, factor: float, X: np.ndarray, rng: np.random.Generator) -> None:
    data, scale = to_unit_scale(as_data(STORAGES[storage](factor * X)))
    rms = np.sqrt(np.mean(np.square(X)))
    assert_allclose(scale, factor * rms, rtol=1e-12)
    check_protocol(data, X / rms, rng, 1e-10)


def test_unit_scale_beyond_single_precision(X: np.ndarray, rng: np.random.Generator) -> None:
    """In float32 the squares of 1e30 overflow; the scaled matrix has none of it."""
    data, _ = to_unit_scale(as_data((1e30 * X).astype(np.float32)))
    check_protocol(data, X / np.sqrt(np.mean(np.square(X))), rng, TOLERANCE[np.float32])


@pytest.mark.parametrize("storage", ["C", "Fortran", "csr", "csc"])
def test_several_row_blocks(storage: str, rng: np.random.Generator) -> None:
    X = rng.random((1300, 900)) * (rng.random((1300, 900)) < 0.1)
    assert len(list(row_blocks(X.shape))) > 1
    check_protocol(as_data(STORAGES[storage](X)), X, rng, 1e-10)


@pytest.mark.parametrize("storage", ["C", "csr", "csc"])
def test_compression_of_low_rank_is_lossless(storage: str, rng: np.random.Generator) -> None:
    X = rng.random((60, 4)) @ rng.random((4, 50))
    check_protocol(compress(as_data(STORAGES[storage](X)), 6, rng), X, rng, 1e-9)


@pytest.mark.parametrize(("shape", "entries"), [((10, 3), 9), ((10, 3), 1), ((10, 3), 1000), ((1, 1), 1)])
def test_row_blocks_cover_every_row_once(shape: tuple[int, int], entries: int) -> None:
    rows = np.arange(shape[0])
    assert_array_equal(np.concatenate([rows[b] for b in row_blocks(shape, entries)]), rows)


@pytest.mark.parametrize("compressed", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("step", [2, -1])
def test_sparse_entries_need_not_lie_side_by_side(compressed, step: int, rng: np.random.Generator) -> None:
    plain = compressed(sparse.random(20, 15, density=0.3, rng=rng))
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
def test_duplicates_are_summed_and_kept_by_the_caller(compressed, rng: np.random.Generator) -> None:
    first, second = compressed(np.eye(3)), np.eye(3)
    first.data = np.concatenate([first.data, [2.0]])
    first.indices = np.concatenate([first.indices, first.indices[-1:]])
    first.indptr = np.concatenate([first.indptr[:-1], [4]])
    second[2, 2] = 3.0
    check_protocol(as_data(first), second, rng, 1e-12)
    assert first.nnz == 4, "the caller's matrix has changed"


def test_explicit_zeros_and_unsorted_indices(rng: np.random.Generator) -> None:
    X = sparse.csr_matrix((np.array([0.0, 2.0, 1.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    check_protocol(as_data(X), X.toarray(), rng, 1e-12)
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


@pytest.mark.parametrize("storage", ["C", "Fortran"])
def test_dense_is_not_copied(storage: str, X: np.ndarray) -> None:
    given = STORAGES[storage](X)
    assert np.shares_memory(as_data(given).X, given)


@pytest.mark.parametrize("storage", ["csr", "csc"])
def test_sparse_is_not_copied(storage: str, X: np.ndarray) -> None:
    given = STORAGES[storage](X)
    assert np.shares_memory(as_data(given).X.data, given.data)


def test_data_passes_through(X: np.ndarray) -> None:
    for data in (Dense(X), Sparse(sparse.csr_matrix(X))):
        assert as_data(data) is data


def test_read_only_memory_map(X: np.ndarray, rng: np.random.Generator, tmp_path) -> None:
    np.save(tmp_path / "X.npy", X)
    check_protocol(as_data(np.load(tmp_path / "X.npy", mmap_mode="r")), X, rng, 1e-12)


def test_frames_and_lists(X: np.ndarray, rng: np.random.Generator) -> None:
    pandas = pytest.importorskip("pandas")
    for given in (X.tolist(), pandas.DataFrame(X), pandas.DataFrame(X).astype("Float64")):
        check_protocol(as_data(given), X, rng, 1e-12)
