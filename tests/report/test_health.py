"""The data's health: numbers against NumPy's own, and the sentences that they call for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from autonmf.data import as_data
from autonmf.report.health import Health, check_health, compute_statistics, unknown_health
from autonmf.report.wording import percent


def told(health: Health, level: str) -> str:
    return " ".join(f"{one.text} {one.advice}" for one in health.findings if one.level == level)


@pytest.fixture
def ragged() -> np.ndarray:
    """30 x 20 with zeros, a zero row, two zero columns and three repeated rows."""
    X = np.random.default_rng(0).random((30, 20)).round(3)
    X[X < 0.4] = 0.0
    X[7] = 0.0
    X[:, [3, 11]] = 0.0
    X[[20, 25, 29]] = X[[1, 1, 2]]
    return X


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix])
def test_numbers(ragged: np.ndarray, storage: type) -> None:
    found = compute_statistics(as_data(storage(ragged)))
    positive = ragged[ragged > 0]
    assert found.zeros == np.count_nonzero(ragged == 0)
    assert (found.smallest, found.largest) == (positive.min(), positive.max())
    assert found.median == np.median(positive)
    assert (found.zero_rows, found.zero_columns) == (1, 2)
    assert found.repeated_rows == len(ragged) - len(np.unique(ragged, axis=0)) == 3
    assert found.sparse == sparse.issparse(storage(ragged))
    assert not found.integers
    np.testing.assert_allclose(found.row_energies, (ragged**2).sum(axis=1))
    np.testing.assert_allclose(found.column_energies, (ragged**2).sum(axis=0))


def test_stored_zeros_are_zeros() -> None:
    X = sparse.csr_matrix(np.array([[1.0, 2.0], [3.0, 4.0]]))
    X.data[1] = 0.0
    assert compute_statistics(as_data(X)).zeros == 1


def test_empty_rows_and_repeated_rows_are_named(ragged: np.ndarray) -> None:
    notes = told(check_health(as_data(ragged)), "note")
    assert "1 row is zero" in notes
    assert "2 columns are zero" in notes
    assert "3 rows repeat an earlier row" in notes


def test_facts(ragged: np.ndarray) -> None:
    found = check_health(as_data(ragged)).facts
    assert found["Shape"] == "30 samples × 20 features"
    assert found["Storage"] == "dense, float64"
    assert found["Zero rows, zero columns"] == "1, 2"


def test_two_values(low_rank: np.ndarray) -> None:
    X = np.where(low_rank > np.median(low_rank), 2.0, 0.0)
    assert check_health(as_data(X)).facts["Values"] == "0 and 2.00 only"


def test_good_data_are_called_good(low_rank: np.ndarray) -> None:
    health = check_health(as_data(low_rank))
    assert "No problems found" in told(health, "good")
    assert not told(health, "warning")


def test_one_large_row_is_a_warning(low_rank: np.ndarray) -> None:
    X = low_rank.copy()
    X[4] *= 100.0
    health = check_health(as_data(X))
    share = percent(np.sum(X[4] ** 2) / np.sum(X**2))
    assert f"Row 5 has {share} of the energy" in told(health, "warning")
    assert not told(health, "good")


def test_columns_of_very_different_scale_are_a_warning(low_rank: np.ndarray) -> None:
    X = low_rank * np.logspace(0, -4, low_rank.shape[1])
    assert "energies of the columns differ by" in told(check_health(as_data(X)), "warning")


def test_counts_are_recognised() -> None:
    X = np.random.default_rng(0).poisson(3.0, (50, 40)).astype(float)
    assert "The entries are counts" in told(check_health(as_data(X)), "note")
    assert "counts" not in told(check_health(as_data(np.minimum(X, 1.0))), "note")


def test_clipped_data_are_a_warning(low_rank: np.ndarray) -> None:
    X = np.minimum(low_rank, np.quantile(low_rank, 0.9))
    assert "may be clipped" in told(check_health(as_data(X)), "warning")
    assert "clipped" not in told(check_health(as_data(low_rank)), "warning")


def test_storage_that_wastes_memory() -> None:
    X = np.random.default_rng(0).random((40, 40))
    assert "X.toarray()" in told(check_health(as_data(sparse.csr_matrix(X))), "note")
    X[X < 0.95] = 0.0
    assert "csr_matrix(X)" in told(check_health(as_data(X)), "note")
    assert "csr_matrix(X)" not in told(check_health(as_data(sparse.csr_matrix(X))), "note")


def test_few_rows_are_a_warning(low_rank: np.ndarray) -> None:
    assert "only 5 rows" in told(check_health(as_data(low_rank[:5])), "warning")


def test_what_is_known_without_the_data() -> None:
    health = unknown_health((10, 20), 800.0)
    assert health.facts == {"Shape": "10 samples × 20 features", "Root mean square": "2.00"}
    assert "Pass X" in told(health, "note")
