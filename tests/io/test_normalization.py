"""Normalisations against scikit-learn, brute force and their definitions, dense and sparse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from autonmf.io import NORMALIZATIONS, normalize
from autonmf.io.normalization import log_normalize

COUNTS = np.random.default_rng(0).poisson(0.7, (9, 6))
COUNTS[4] = 0


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def expected_log1p(X: np.ndarray) -> np.ndarray:
    """The definition, row by row."""
    totals = [sum(map(float, row)) for row in X]
    target = np.median([total for total in totals if total > 0])
    return np.array(
        [[np.log(1 + x * target / total) if total else 0.0 for x in row]
         for row, total in zip(X.tolist(), totals, strict=True)]
    )  # fmt: skip


EXPECTED = {
    "log1p": expected_log1p,
    "tfidf": lambda X: TfidfTransformer().fit_transform(sparse.csr_matrix(X)).toarray(),
    "max": lambda X: X / X.max(),
}


@pytest.mark.parametrize("how", NORMALIZATIONS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
def test_every_kind_of_matrix(how: str, kind, dtype) -> None:
    X = kind(COUNTS.astype(dtype))
    found = normalize(X, how)
    assert sparse.issparse(found) == sparse.issparse(X)
    assert found.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_allclose(
        dense(found), EXPECTED[how](COUNTS), rtol=1e-5 if dtype is np.float32 else 1e-12
    )
    np.testing.assert_array_equal(dense(X), COUNTS)  # left as it was


@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_entries_that_are_stored_twice_or_as_zeros(how: str) -> None:
    X = sparse.csr_matrix(
        (np.array([1.0, 2.0, 0.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2)
    )
    np.testing.assert_allclose(normalize(X, how).toarray(), EXPECTED[how](np.array([[3.0, 0], [0, 4]])))


@pytest.mark.parametrize("how", NORMALIZATIONS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_zeros_stay_zeros(how: str, kind) -> None:
    np.testing.assert_array_equal(dense(normalize(kind(np.zeros((3, 2))), how)), np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan]], "NaN or infinity"),
        ([[1.0, np.inf]], "NaN or infinity"),
        ([[1.0, -1.0]], "negative entries"),
        ([[1j, 1.0]], "matrix of real numbers"),
        ([1.0, 2.0], "1 dimension"),
        ([["a"]], "matrix of real numbers"),
    ],
)
@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_what_cannot_be_normalised(X: list, message: str, how: str) -> None:
    with pytest.raises(ValueError, match=message):
        normalize(np.array(X), how)


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="unknown normalisation 'log'; choose one of log1p, tfidf, max"):
        normalize(COUNTS, "log")


def test_ten_thousand_counts_of_the_data_set_are_a_scale_apart(tmp_path: Path) -> None:
    """`fetch_pbmc3k(normalize=True)` scales to 10,000; where that is the median, both agree."""
    X = sparse.csr_matrix(np.array([[4000.0, 6000], [1, 1], [20_000, 20_000]]))
    np.testing.assert_allclose(normalize(X, "log1p").toarray(), log_normalize(X, 1e4).toarray())
