"""X for products that need not be exact, and copies of X for later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF
from autonmf.data import (
    Data,
    Dense,
    Scaled,
    Sparse,
    as_data,
    compress,
    copied,
    even_out,
    quick,
    to_unit_scale,
)

FORMATS: dict[str, Callable[[Any], Any]] = {"csr": sparse.csr_array, "csc": sparse.csc_matrix}
VIEWS: dict[str, Callable[[Data], Data]] = {
    "itself": lambda data: data,
    "scaled": lambda data: Scaled(data, 7.0),
    "turned": lambda data: data.T,
    "evened": even_out,
    "evened, turned and scaled": lambda data: to_unit_scale(even_out(to_unit_scale(data)[0]).T)[0],
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def holey(rng: np.random.Generator) -> np.ndarray:
    """Mostly zeros, with an empty row, an empty column and rows of very different size."""
    X = rng.random((30, 20)) * (rng.random((30, 20)) < 0.2) * 10.0 ** rng.integers(-40, 40, (30, 1))
    X[4] = 0.0
    X[:, 5] = 0.0
    return X


@pytest.mark.parametrize("storage", FORMATS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_quick_sparse_matrix_has_the_same_entries(
    view: str, storage: str, rng: np.random.Generator
) -> None:
    X = rng.random((30, 20)) * (rng.random((30, 20)) < 0.2)
    data = VIEWS[view](as_data(FORMATS[storage](X)))
    fast = quick(data)
    assert isinstance(fast, Sparse)
    assert fast.dtype == np.float32
    assert_allclose(fast.rows(slice(None)), data.rows(slice(None)), rtol=1e-6)


def test_entries_that_single_precision_does_not_hold_are_scaled_first(holey: np.ndarray) -> None:
    data = to_unit_scale(even_out(to_unit_scale(as_data(sparse.csr_array(holey)))[0]))[0]
    entries = quick(data).rows(slice(None))
    assert np.isfinite(entries).all()
    assert_allclose(entries, data.rows(slice(None)), rtol=1e-6, atol=1e-30)


def test_a_dense_matrix_is_not_copied_to_be_quick(rng: np.random.Generator) -> None:
    for data in (as_data(rng.random((5, 4))), Scaled(as_data(rng.random((5, 4))), 2.0)):
        assert quick(data) is data
        assert quick(even := even_out(data)) is even
        assert quick(turned := even.T) is turned


def test_a_quick_compression_is_in_single_precision(rng: np.random.Generator) -> None:
    assert quick(compress(as_data(rng.random((30, 20))), 3, rng)).dtype == np.float32


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, *FORMATS.values()])
def test_a_copy_does_not_change_with_X(storage: Callable[[Any], Any], rng: np.random.Generator) -> None:
    values = rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)
    X = storage(values.copy())
    data = Scaled(as_data(X), 2.0)
    factor = np.asfortranarray(rng.random((5, 2)))
    product = data.right(factor)
    copy = copied(data, 10_000)
    assert copy is not None
    (X.data if sparse.issparse(X) else X)[:] = -1.0
    assert_array_equal(copy.right(factor), product)


def test_no_copy_where_it_would_be_large_or_take_long(rng: np.random.Generator) -> None:
    X = rng.random((6, 5))
    assert copied(as_data(X), X.nbytes - 1) is None
    assert isinstance(copied(as_data(X), X.nbytes), Dense)
    assert copied(as_data(sparse.csr_array(X)), X.nbytes) is None  # its indices count as well
    assert copied(Scaled(as_data(X), 2.0), X.nbytes - 1) is None
    assert copied(even_out(as_data(X)), 10_000) is None
    assert copied(compressed := compress(as_data(X), 2, rng), 0) is compressed


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_path_that_is_read_late_is_that_of_X_as_it_was(
    storage: Callable[[Any], Any], rng: np.random.Generator
) -> None:
    values = rng.random((60, 3)) @ rng.random((3, 40)) * (rng.random((60, 40)) < 0.2)
    X = storage(values.copy())
    model = AutoNMF(random_state=0).fit(X)
    (X.data if sparse.issparse(X) else X)[:] = 1.0
    again = AutoNMF(random_state=0).fit(storage(values))
    assert model.path_.settings["engine"] == "direct"
    assert_array_equal(model.path_.losses, again.path_.losses)
    assert_array_equal(model.path_.lambdas, again.path_.lambdas)
    for rank in (1, 3, 20):
        assert_array_equal(model.path_.at_rank(rank).U, again.path_.at_rank(rank).U)
