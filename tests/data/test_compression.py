"""X through its leading directions, in single precision, and copies of X for later."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF
from autonmf.data import Data, Scaling, Sparse, as_data, compress, compress_onto, equilibration, read_all
from autonmf.data import scaling as scaling_module
from autonmf.data.compressed import orthonormalize
from autonmf.data.dense import Dense
from autonmf.path import PathOptions, prepare
from autonmf.path.view import View, prepare_like

Kind = Callable[[Any], Any]


@pytest.fixture
def uneven_rows(rng: np.random.Generator) -> np.ndarray:
    """Mostly zeros, with an empty row, an empty column and rows of very different size."""
    X = rng.random((30, 20)) * (rng.random((30, 20)) < 0.2) * 10.0 ** rng.integers(-40, 40, (30, 1))
    X[4] = 0.0
    X[:, 5] = 0.0
    return X


def view_of(data: Data, scaling: Scaling | None = None, *, precise: bool = False) -> View:
    scaling = scaling or Scaling()
    return View(data, scaling, scaling.apply(data), precise=precise)


# Compression


def test_low_rank_is_compressed_without_loss(
    storage: Kind, rng: np.random.Generator, kinds: SimpleNamespace
) -> None:
    X = rng.random((60, 4)) @ rng.random((4, 50))
    kinds.compare(compress(as_data(storage(X)), 6, rng), X, 1e-9)


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("weak", [1.0, 1e-4, 1e-12])
def test_a_basis_is_orthonormal(weak: float, exactly: bool, rng: np.random.Generator) -> None:
    """And spans the columns, without directions that are 1e-7 times weaker than the leading one."""
    block = rng.standard_normal((50, 4)) @ np.diag([1.0, 1.0, 1.0, weak]) @ rng.standard_normal((4, 4))
    basis = orthonormalize(block, exactly=exactly)
    assert basis.shape == (50, 4 if weak > 1e-7 else 3)
    assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9 if exactly else 1e-5)
    assert_allclose(
        basis @ np.linalg.lstsq(basis, block, rcond=None)[0], block, atol=1e-6 * np.abs(block).max()
    )


def test_the_error_of_a_compressed_loss_is_bounded(rng: np.random.Generator) -> None:
    """|⟨X - LRᵀ, UVᵀ⟩| by the part of UVᵀ that is outside the range of L."""
    X = rng.random((40, 30))
    compressed = compress(as_data(X), 3, rng)
    for _ in range(20):
        U, V = rng.random((40, 3)), rng.random((30, 3))
        error = abs(np.sum((X - compressed.L @ compressed.R.T) * (U @ V.T)))
        bound = compressed.bound_error(U, V)
        assert error <= bound * (1 + 1e-10)
    inside = compressed.L @ rng.random((compressed.L.shape[1], 3))
    assert compressed.bound_error(inside, V) < 1e-4 * np.linalg.norm(X) * np.linalg.norm(inside @ V.T)


def test_single_precision(rng: np.random.Generator) -> None:
    X = rng.random((60, 4)) @ rng.random((4, 50))
    double = compress(as_data(X), 4, rng)
    single = double.as_single()
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    for dtype in (np.float32, np.float64):  # products have the precision of the factor
        U, V = (np.asfortranarray(rng.random((size, 2)), dtype=dtype) for size in (60, 50))
        assert single.right(V).dtype == single.left(U).dtype == dtype
        assert single.right(V).flags.f_contiguous
        assert_allclose(single.right(V), X @ V, rtol=1e-5)
        assert_allclose(single.left(U), X.T @ U, rtol=1e-5)


def test_X_is_compressed_as_its_equilibrated_form_was(rng: np.random.Generator) -> None:
    """Diag(a) L spans X if L spans the equilibrated X; the shorter side may come first."""
    X = rng.random((60, 4)) @ rng.random((4, 50)) * np.outer(np.arange(1.0, 61), np.arange(1.0, 51))
    options = PathOptions(equilibrate=True, engine="compressed")
    for shape in (X, X.T):
        plain = prepare_like(prepare(as_data(shape), options, 4, rng), options)
        assert plain.compressed is not None
        assert plain.scaling.is_uniform
        assert_allclose(read_all(plain.compressed) * plain.scaling.unit, X, rtol=1e-8)


def test_compression_to_a_given_range(rng: np.random.Generator) -> None:
    X, basis = rng.random((40, 30)), rng.random((40, 5))
    compressed = compress_onto(as_data(X), basis)
    projection = basis @ np.linalg.pinv(basis)
    assert_allclose(read_all(compressed), projection @ X, atol=1e-9)
    assert compressed.squared_norm() == as_data(X).squared_norm()


# What a search iterates on


@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_entries_in_single_precision(store: Kind, scaling: Scaling, X: np.ndarray) -> None:
    view = view_of(as_data(store(X)), scaling)
    assert view.is_single
    assert isinstance(view.matrix, Sparse)
    assert view.matrix.dtype == np.float32
    assert_allclose(read_all(view.matrix), read_all(view.scaled), rtol=1e-6)
    assert view_of(as_data(store(X)), scaling, precise=True).matrix.dtype == np.float64


def test_entries_that_single_precision_does_not_hold_are_scaled_first(uneven_rows: np.ndarray) -> None:
    options = PathOptions(equilibrate=True, engine="auto", max_rank=10)
    view = prepare(as_data(sparse.csr_array(uneven_rows)), options, 10, np.random.default_rng(0))
    assert view.is_single
    entries = read_all(view.matrix)
    assert np.isfinite(entries).all()
    assert_allclose(entries, read_all(view.scaled), rtol=1e-6, atol=1e-30)


def test_dense_entries_are_not_copied(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    data = as_data(rng.random((5, 4)))
    monkeypatch.setattr(scaling_module, "COPIED", 19)
    for scaling in (Scaling(), Scaling(2.0), equilibration(data), Scaling(transposed=True)):
        view = view_of(data, scaling)
        assert view.matrix is view.scaled
        assert not view.is_single


def test_small_arrays_are_copied(rng: np.random.Generator) -> None:
    data = as_data(rng.random((5, 4)))
    for scaling in (Scaling(), Scaling(2.0), equilibration(data), Scaling(transposed=True)):
        view = view_of(data, scaling)
        assert not view.is_single
        assert isinstance(view.matrix, Dense)
        assert_allclose(read_all(view.matrix), read_all(view.scaled), rtol=1e-15)


def test_a_compression_is_iterated_in_single_precision(rng: np.random.Generator) -> None:
    options = PathOptions(engine="compressed")
    view = prepare(as_data(rng.random((30, 20))), options, 3, rng)
    assert view.is_single
    assert view.matrix.dtype == np.float32
    assert view.double.dtype == np.float64


# Copies for later


def test_a_copy_does_not_change_with_X(storage: Kind, rng: np.random.Generator) -> None:
    values = rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)
    X = storage(values.copy())
    view = view_of(as_data(X), Scaling(2.0))
    factor = np.asfortranarray(rng.random((5, 2)))
    product = view.scaled.right(factor)
    copy = view.without_X(10_000)
    assert copy is not None
    (X.data if sparse.issparse(X) else X)[:] = -1.0
    assert_array_equal(copy.scaled.right(factor), product)


def test_no_copy_where_it_would_be_large(rng: np.random.Generator) -> None:
    X = rng.random((6, 5))
    assert view_of(as_data(X)).without_X(X.nbytes - 1) is None
    assert view_of(as_data(X)).without_X(X.nbytes) is not None
    assert view_of(as_data(sparse.csr_array(X))).without_X(X.nbytes) is None  # its indices count as well
    assert view_of(as_data(X), Scaling(2.0)).without_X(X.nbytes - 1) is None
    known = np.where(rng.random((6, 5)) < 0.8, X, np.nan)
    assert view_of(as_data(known, missing="mask")).without_X(X.nbytes) is None  # its weights count as well
    compressed = prepare(as_data(X), PathOptions(engine="compressed"), 2, rng)
    copy = compressed.without_X(0)
    assert copy is not None
    assert copy.data is copy.scaled is compressed.compressed


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_path_that_is_read_late_is_that_of_X_as_it_was(store: Kind, rng: np.random.Generator) -> None:
    values = rng.random((60, 3)) @ rng.random((3, 40)) * (rng.random((60, 40)) < 0.2)
    X = store(values.copy())
    model = AutoNMF(random_state=0).fit(X)
    (X.data if sparse.issparse(X) else X)[:] = 1.0
    again = AutoNMF(random_state=0).fit(store(values))
    assert model.path_.settings["engine"] == "direct"
    assert_array_equal(model.path_.losses, again.path_.losses)
    assert_array_equal(model.path_.lambdas, again.path_.lambdas)
    for rank in (1, 3, 20):
        assert_array_equal(model.path_.at_rank(rank).U, again.path_.at_rank(rank).U)
