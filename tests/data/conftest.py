"""Every kind of `Data`, and a comparison of its whole protocol with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.data import Block, Data, Scaling, Stored, Streamed, as_data, compress, sums_of_squares
from autonmf.data.masked import Masked
from autonmf.data.protocol import square

Matrix = np.ndarray


def _stored(X: Matrix, **options: Any) -> Data:
    """X as if it were a file of many blocks."""
    data = as_data(Stored(X, **options))
    streamed: Any = data if isinstance(data, Streamed) else data.data  # type: ignore[attr-defined]
    streamed.block_entries = 3 * X.shape[1]
    return data


def _with_nan(X: Matrix, omega: Matrix) -> Matrix:
    return np.where(omega > 0, X, np.nan)


STORAGES: dict[str, Callable[[Matrix], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
}
"""What `as_data` takes as it is."""

COMPLETE: dict[str, Callable[[Matrix], Data]] = {
    **{name: (lambda X, store=store: as_data(store(X))) for name, store in STORAGES.items()},
    "file by rows": _stored,
    "file by columns": lambda X: _stored(X, by_columns=True),
    "compressed": lambda X: compress(as_data(X), min(X.shape), np.random.default_rng(0)),
}
"""Data whose entries are all known."""

INCOMPLETE: dict[str, Callable[[Matrix, Matrix], Data]] = {
    "masked C": lambda X, omega: as_data(_with_nan(X, omega), missing="mask"),
    "masked Fortran": lambda X, omega: as_data(np.asfortranarray(_with_nan(X, omega)), missing="mask"),
    "masked csr": lambda X, omega: as_data(sparse.csr_matrix(_with_nan(X, omega)), missing="mask"),
    "masked csc": lambda X, omega: as_data(sparse.csc_matrix(_with_nan(X, omega)), missing="mask"),
    "masked csr_array": lambda X, omega: as_data(sparse.csr_array(_with_nan(X, omega)), missing="mask"),
    "weights": lambda X, omega: Masked(X, omega.astype(X.dtype)),
}
"""Data with missing entries, where ω is zero, or with weights."""

_DRAWN = np.random.default_rng(5)
SIZES = np.exp(_DRAWN.standard_normal((17, 1))), np.exp(_DRAWN.standard_normal((11, 1)))

SCALINGS: dict[str, Scaling] = {
    "none": Scaling(),
    "number": Scaling(2.0, 3.5),
    "rows": Scaling(SIZES[0]),
    "columns": Scaling(1.0, SIZES[1]),
    "both": Scaling(*SIZES),
    "transposed": Scaling(transposed=True),
    "number, transposed": Scaling(7.0, 1.0, transposed=True),
    "both, transposed": Scaling(*SIZES, transposed=True),
}
"""For 17 x 11."""


def scale(X: Matrix, scaling: Scaling) -> Matrix:
    """What a scaling makes of an array, written out."""
    a, b = (np.reshape(s, (-1, 1)) for s in (scaling.a, scaling.b))
    scaled = X / a / b.T
    return scaled.T if scaling.transposed else scaled


def _measure(block: Block, U: Matrix, V: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Rows and sums of all that can be asked of a block."""
    X = block.dense()
    assert type(X) is np.ndarray
    assert X.shape[0] == block.rows.stop - block.rows.start == len(U)
    weights_of_X = block.read_weights()
    omega = np.ones_like(X) if weights_of_X is None else np.asarray(weights_of_X, dtype=X.dtype)
    residual, squares = block.residual(U, V), square(block.read(), weights_of_X)
    assert squares.dtype == np.float64
    squares = squares.toarray() if sparse.issparse(squares) else squares
    return np.hstack([X, omega, residual, squares]), squares.T @ U + residual.T @ U * weights


def compare(data: Data, X: Matrix, rtol: float, omega: Matrix | None = None) -> None:
    """Compare all of `Data`, and of its transpose, with plain NumPy on X and the weights ω."""
    counts = np.ones_like(X) if omega is None else omega
    compare_one(data, X, rtol, counts, omega is None)
    compare_one(Scaling(transposed=True).apply(data), X.T, rtol, counts.T, omega is None)


def compare_one(data: Data, X: Matrix, rtol: float, omega: Matrix, complete: bool) -> None:
    rng = np.random.default_rng(1)
    (n, m), dtype = X.shape, data.dtype
    U, V = (np.asfortranarray(rng.random((k, 3)), dtype=dtype) for k in (n, m))
    fit, weighted = (U @ V.T).astype(float), omega * X

    def close(actual: Any, expected: Any) -> None:
        assert_allclose(actual, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0.0))

    assert data.shape == X.shape
    assert data.complete == complete
    assert data.cost > 0
    close(data.squared_norm(), np.sum(omega * X**2))
    for product, expected in ((data.right(V), weighted @ V), (data.left(U), weighted.T @ U)):
        assert product.dtype == dtype
        assert product.flags.f_contiguous
        close(product, expected)
    close(data.squared_residual(U, V), np.sum(omega * (X - fit) ** 2))

    rows, columns = rng.random((n, 1)), rng.random((m, 1))
    for given, expected in (((None, None), (np.ones((n, 1)), np.ones((m, 1)))), ((rows, columns),) * 2):
        of_rows, of_columns = sums_of_squares(data, *given)
        assert of_rows.dtype == of_columns.dtype == np.float64
        close(of_rows, omega * X**2 @ expected[1])
        close(of_columns, (omega * X**2).T @ expected[0])

    completed = data.completed_at(U, V)
    if complete:
        assert completed is data
    else:
        compare_one(completed, fit + omega * (X - fit), 10 * rtol, np.ones_like(X), complete=True)
    if can_read_rows(data):
        compare_blocks(data, X, omega, U, V, close)


def can_read_rows(data: Any) -> bool:
    """Not of the transpose of what can be read by rows only."""
    return not (hasattr(data, "scaling") and data.scaling.transposed)


def compare_blocks(
    data: Data, X: Matrix, omega: Matrix, U: Matrix, V: Matrix, close: Callable[[Any, Any], None]
) -> None:
    """`map_blocks`, where everything can be asked of a block."""
    shared = np.arange(3.0)
    rows, total = data.map_blocks(_measure, U, V, shared)
    residual = np.sqrt(omega) * (X - (U @ V.T).astype(float))
    rows[:, : X.shape[1]] *= omega > 0  # what has no weight may be anything
    known = np.where(omega > 0, X, 0.0)
    for found, expected in zip(
        np.split(rows, 4, axis=1), (known, omega, residual, omega * X**2), strict=True
    ):
        close(found, expected)
    close(total, (omega * X**2).T @ U + residual.T @ U * shared)
    assert data.map_blocks(lambda block, part: (None, None if part is None else 1), None) == (None, None)
    numbers, _ = data.map_blocks(lambda b, _: (np.arange(b.rows.start, b.rows.stop)[:, None], None), None)
    assert_array_equal(numbers[:, 0], np.arange(len(X)))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def X(rng: np.random.Generator) -> Matrix:
    """17 x 11, sparse, with a row and a column of zeros."""
    X = rng.random((17, 11)) * (rng.random((17, 11)) < 0.5)
    X[3], X[:, 5] = 0.0, 0.0
    return X


@pytest.fixture
def uneven(rng: np.random.Generator, X: Matrix) -> Matrix:
    """The same with rows and columns of very different size."""
    return X * np.outer(10.0 ** rng.uniform(-3, 3, 17), 10.0 ** rng.uniform(-3, 3, 11))


@pytest.fixture
def known(rng: np.random.Generator) -> Matrix:
    """Where 17 x 11 entries are known: ones and zeros."""
    return (rng.random((17, 11)) < 0.7).astype(float)


@pytest.fixture(scope="session")
def kinds() -> SimpleNamespace:
    """The kinds of data, the scalings, and the comparison."""
    return SimpleNamespace(
        storages=STORAGES, complete=COMPLETE, incomplete=INCOMPLETE, scalings=SCALINGS, scale=scale,
        compare=compare,
    )  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests run for all kinds that they name as an argument."""
    for name, values in (
        ("storage", STORAGES), ("complete", COMPLETE), ("incomplete", INCOMPLETE), ("scaling", SCALINGS)
    ):  # fmt: skip
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values.values(), ids=values.keys())
