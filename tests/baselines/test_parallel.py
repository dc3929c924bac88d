"""Parallel analysis: permutations that keep each column, and answers above chance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.baselines import parallel_analysis
from autonmf.baselines.spectrum import permute_columns
from autonmf.data import wrap


def test_easy_case(easy: np.ndarray) -> None:
    estimate = parallel_analysis(easy, max_rank=10, random_state=0)
    assert estimate.rank == 4
    values = np.linalg.svd(easy, compute_uv=False)[:10]
    assert_allclose(estimate.evidence["singular_value"][:4], values[:4], rtol=1e-6)
    assert_allclose(estimate.evidence["singular_value"], values, rtol=0.03)  # those of noise hardly decay
    assert (values[:4] > estimate.evidence["permuted_quantile"][:4]).all()
    assert values[4] < estimate.evidence["permuted_quantile"][4]


def test_columns_are_kept_and_rows_are_not(easy: np.ndarray) -> None:
    shuffled = permute_columns(wrap(easy), np.random.default_rng(0)).X
    assert_array_equal(np.sort(shuffled, axis=0), np.sort(easy, axis=0))
    assert (np.sort(shuffled, axis=1) != np.sort(easy, axis=1)).any()
    orders = [np.argsort(np.argsort(shuffled[:, j])) for j in (0, 1)]
    assert (orders[0] != orders[1]).any()


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_sparse_is_permuted_like_dense(easy: np.ndarray, kind: type) -> None:
    X = np.where(easy > 2, easy, 0)
    dense, stored = (permute_columns(wrap(Z), np.random.default_rng(3)) for Z in (X, kind(X)))
    assert sparse.issparse(stored.X)
    assert_array_equal(stored.X.toarray(), dense.X)
    answers = [parallel_analysis(Z, max_rank=6, n_permutations=3, random_state=0) for Z in (X, kind(X))]
    assert_allclose(answers[0].evidence["permuted_mean"], answers[1].evidence["permuted_mean"], rtol=1e-6)


def test_independent_columns() -> None:
    X = np.random.default_rng(0).random((100, 60)) * np.linspace(1, 5, 60)
    estimate = parallel_analysis(X, max_rank=8, random_state=0)
    assert estimate.rank == 1
    assert "independent" in estimate.warnings[0]


def test_everything_above_chance(easy: np.ndarray) -> None:
    estimate = parallel_analysis(easy, max_rank=3, random_state=0)
    assert estimate.rank == 3
    assert "max_rank" in estimate.warnings[0]


@pytest.mark.parametrize("given", [{"n_permutations": 0}, {"quantile": 0.0}, {"quantile": 1.5}])
def test_what_is_refused(easy: np.ndarray, given: dict) -> None:
    with pytest.raises(ValueError, match="n_permutations"):
        parallel_analysis(easy, **given)
