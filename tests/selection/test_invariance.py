"""The rank is a property of X: not of its units, its storage, its orientation, its order, or the computer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_limits

from autonmf import RankEstimate
from autonmf.datasets import load_swimmer, make_low_rank

Choose = Callable[..., RankEstimate]
KNOWN = {"low rank": 6, "swimmer": 16, "counts": 5, "samson": 3}


def counts() -> np.ndarray:
    """Counts of five sparse components, a third of them zero."""
    rng = np.random.default_rng(1)
    return rng.poisson(3 * rng.gamma(0.3, size=(200, 5)) @ rng.gamma(0.3, size=(5, 120))).astype(float)


def shuffled(X: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    return X[rng.permutation(X.shape[0])][:, rng.permutation(X.shape[1])]


VARIANTS: dict[str, Callable[[np.ndarray], Any]] = {
    "itself": lambda X: X,
    "transposed": lambda X: X.T,
    "large": lambda X: 1e8 * X,
    "small": lambda X: 1e-8 * X,
    "shuffled": shuffled,
    "Fortran": np.asfortranarray,
    "single": lambda X: X.astype(np.float32),
    "single, large": lambda X: (1e8 * X).astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "csr transposed": lambda X: sparse.csr_matrix(X.T),
}


@pytest.fixture(scope="module", params=KNOWN)
def known(
    request: pytest.FixtureRequest, benchmark_data: Callable[[str], dict[str, np.ndarray]]
) -> tuple[np.ndarray, int]:
    """A matrix and its rank. Of Samson every fifth pixel and every third band."""
    name: str = request.param
    if name == "low rank":
        X = make_low_rank(200, 120, rank=6, random_state=0)[0]
    elif name == "swimmer":
        X = load_swimmer()
    elif name == "counts":
        X = counts()
    else:
        X = np.ascontiguousarray(benchmark_data("samson")["X"][::3, ::5].T, dtype=float)
    return X, KNOWN[name]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_rank(variant: str, known: tuple[np.ndarray, int], choose: Choose) -> None:
    X, rank = known
    assert choose(VARIANTS[variant](X)).rank == rank


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_same_rank_from_any_start(seed: int, known: tuple[np.ndarray, int], choose: Choose) -> None:
    X, rank = known
    assert choose(X, random_state=seed).rank == rank


@pytest.mark.parametrize("engine", ["direct", "compressed"])
def test_the_same_rank_from_either_engine(engine: str, known: tuple[np.ndarray, int], choose: Choose) -> None:
    X, rank = known
    assert choose(X, engine=engine).rank == rank


def test_the_same_bits_for_any_number_of_threads(known: tuple[np.ndarray, int], choose: Choose) -> None:
    X, rank = known
    tables = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            estimate = choose(X)
        assert estimate.rank == rank
        tables.append(estimate.evidence)
    for other in tables[1:]:
        assert_array_equal(other["probability"], tables[0]["probability"])
        assert_array_equal(other["loss"], tables[0]["loss"])


def test_the_same_bits_where_products_are_in_blocks(choose: Choose) -> None:
    X = make_low_rank(1300, 820, rank=4, random_state=0)[0]
    tables = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            tables.append(choose(X, max_rank=8).evidence)
    assert_array_equal(tables[0]["probability"], tables[1]["probability"])


def test_units_change_next_to_nothing(choose: Choose) -> None:
    X = make_low_rank(60, 40, rank=3, noise=1.0, random_state=0)[0]
    one, *others = (choose(factor * X) for factor in (1.0, 1e-100, 1e-8, 1e8, 1e100))
    for other in others:
        assert (other.rank, other.plausible) == (one.rank, one.plausible)
        assert_allclose(other.evidence["probability"], one.evidence["probability"], rtol=1e-4, atol=1e-12)


def test_transposing_a_square_matrix(choose: Choose) -> None:
    X = make_low_rank(80, 80, rank=5, random_state=1)[0]
    assert choose(X).rank == choose(X.T).rank == 5


def test_rows_and_columns_of_zeros(choose: Choose) -> None:
    X = make_low_rank(100, 60, rank=4, random_state=0)[0]
    padded = np.zeros((120, 75))
    padded[10:110, 5:65] = X
    assert choose(padded).rank == choose(X).rank == 4


@pytest.mark.parametrize("decades", [1, 2])
def test_sizes_of_rows_and_columns(decades: int, choose: Choose) -> None:
    """Scaling rows and columns keeps the rank of a matrix; equilibrating them keeps the answer."""
    rng = np.random.default_rng(0)
    X = make_low_rank(120, 80, rank=4, noise=0.02, random_state=0)[0]
    rows, columns = (10.0 ** rng.uniform(0, decades, side) for side in X.shape)
    assert choose(rows[:, None] * X * columns).rank == 4


@pytest.mark.parametrize("which", ["row", "column", "both"])
def test_one_row_or_column_a_million_times_the_others(which: str, choose: Choose) -> None:
    for seed, shape in enumerate([(60, 40), (200, 100), (100, 300)]):
        X = make_low_rank(*shape, rank=3, noise=0.05, random_state=seed)[0]
        X[0] *= 1.0 if which == "column" else 1e6
        X[:, 0] *= 1.0 if which == "row" else 1e6
        assert choose(X).rank == 3
