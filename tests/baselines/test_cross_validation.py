"""Cross-validation: the least error is at the true rank, and the errors are those of brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls

from autonmf import rank_path
from autonmf.baselines import cross_validate
from autonmf.baselines.cross_validation import ITERATIONS, held_out_blocks
from autonmf.datasets import make_low_rank

KINDS = ("wold", "bicv")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_least_error_at_the_true_rank(easy: np.ndarray, kind: Any, seed: int) -> None:
    estimate = cross_validate(easy, kind=kind, max_rank=9, random_state=seed)
    assert estimate.rank == 4
    assert 4 in estimate.plausible
    assert not {1, 2, 3} & set(estimate.plausible)
    assert estimate.rule == f"cv-{kind}"
    error = estimate.evidence["error"]
    assert error.argmin() == 3
    assert error[2] > 5 * error[3]
    # 0.1² of noise on the mean square of X is what even the truth misses.
    assert_allclose(error[3], 0.01 / np.mean(easy**2), rtol=0.3)
    assert estimate.warnings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_noise_alone_is_one_component(kind: Any) -> None:
    X = np.random.default_rng(0).random((60, 50))
    assert cross_validate(X, kind=kind, max_rank=5, random_state=0).rank == 1


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_that_were_asked_for(easy: np.ndarray, kind: Any) -> None:
    estimate = cross_validate(easy, kind=kind, ranks=[6, 2, 4, 4], random_state=0)
    assert_array_equal(estimate.evidence["rank"], [2, 4, 6])
    assert estimate.rank == 4


@pytest.mark.parametrize("kind", KINDS)
def test_error_that_still_falls_is_reported(easy: np.ndarray, kind: Any) -> None:
    estimate = cross_validate(easy, kind=kind, max_rank=3, random_state=0)
    assert estimate.rank == 3
    assert "max_rank" in estimate.warnings[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_an_answer(low_rank: np.ndarray, kind: Any) -> None:
    first, again, other = (
        cross_validate(low_rank, kind=kind, max_rank=5, random_state=seed).evidence["error"]
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", [sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse_agree(low_rank: np.ndarray, kind: Any, stored: type) -> None:
    X = np.where(low_rank > 0.5, low_rank, 0)
    errors = [
        cross_validate(Z, kind=kind, max_rank=4, random_state=0).evidence["error"] for Z in (X, stored(X))
    ]
    # The same masks and starts; but a sparse block is compressed where a dense one of its size is not.
    assert_allclose(errors[0], errors[1], rtol=1e-6 if kind == "wold" else 2e-3)


@pytest.mark.parametrize("folds", [3, (2, 3)])
def test_bicv_by_brute_force(folds: Any) -> None:
    """The definition, with the rows of both predictions solved one by one."""
    X = make_low_rank(30, 24, rank=3, random_state=0)[0]
    ranks = [1, 2, 3, 4]
    errors = []
    rng = np.random.default_rng(5)
    for rows, columns in held_out_blocks(X.shape, folds, rng):
        A, B = X[rows][:, columns], X[rows][:, ~columns]
        C, D = X[~rows][:, columns], X[~rows][:, ~columns]
        path = rank_path(D, 4, budget=lambda rank: ITERATIONS, random_state=rng.spawn(1)[0])
        of_fold = []
        for rank in ranks:
            U, V = (factor.astype(float) for factor in (path.at_rank(rank).U, path.at_rank(rank).V))
            U_A = np.array([nnls(V, row)[0] for row in B])
            V_A = np.array([nnls(U, column)[0] for column in C.T])
            of_fold.append(np.sum((A - U_A @ V_A.T) ** 2) / np.sum(A**2))
        errors.append(of_fold)
    estimate = cross_validate(X, kind="bicv", folds=folds, ranks=ranks, random_state=5)
    assert_allclose(estimate.evidence["error"], np.mean(errors, axis=0), rtol=1e-4)
    spread = np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
    assert_allclose(estimate.evidence["standard_error"], spread, rtol=1e-3)


def test_every_row_and_column_is_hidden() -> None:
    rng = np.random.default_rng(0)
    pairs = list(held_out_blocks((23, 17), 4, rng))
    assert len(pairs) == 4
    assert_array_equal(np.sum([rows for rows, _ in pairs], axis=0), 1)
    assert_array_equal(np.sum([columns for _, columns in pairs], axis=0), 1)
    crossed = np.sum([np.outer(*pair) for pair in held_out_blocks((23, 17), (3, 2), rng)], axis=0)
    assert_array_equal(crossed, 1)


def test_plausible_ranks_are_those_the_folds_cannot_tell_apart() -> None:
    """Differences are taken fold by fold: what all folds have in common says nothing."""
    from autonmf.baselines.cross_validation import _choose_rank

    common = np.array([[10.0], [20.0], [30.0]])
    by_fold = common + np.array([[5.0, 1.0, 1.1, 2.0], [5.0, 1.0, 0.95, 2.0], [5.0, 1.0, 1.0, 2.0]])
    estimate = _choose_rank(np.array([1, 2, 3, 4]), by_fold, "cv")
    assert estimate.rank == 2
    assert estimate.plausible == (2, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "loo"}, "unknown kind"),
        ({"folds": 1}, "folds"),
        ({"folds": 99}, "folds"),
        ({"folds": (2, 2)}, "folds"),
        ({"kind": "bicv", "folds": 1}, "folds"),
        ({"kind": "bicv", "folds": (2, 99)}, "folds"),
        ({"ranks": []}, "ranks"),
        ({"ranks": [0, 1]}, "ranks"),
        ({"ranks": [41]}, "ranks"),
        ({"max_rank": 0}, "max_rank"),
    ],
)
def test_what_is_refused(low_rank: np.ndarray, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cross_validate(low_rank, **given)


def test_a_fold_with_nothing_to_fit() -> None:
    X = np.zeros((6, 6))
    X[0, 0] = 1.0
    with pytest.raises(ValueError, match="not held out are zero: use fewer folds"):
        cross_validate(X, kind="bicv", folds=3, ranks=[1], random_state=0)
