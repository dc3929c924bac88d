"""The recovery error against brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf.metrics import recovery_error


def by_brute_force(truth: np.ndarray, estimate: np.ndarray) -> float:
    """Both terms for the matching of least aligned error, out of all that match as many columns as can be."""
    truth, estimate = (F / np.where(F.any(axis=0), np.linalg.norm(F, axis=0), 1) for F in (truth, estimate))
    wanted, found = truth.shape[1], estimate.shape[1]
    # Missing components are matched with zero columns.
    padded = np.pad(estimate, ((0, 0), (0, max(0, wanted - found))))
    best = min(
        permutations(range(padded.shape[1]), wanted),
        key=lambda chosen: np.linalg.norm(truth - padded[:, chosen]),
    )
    left = [j for j in range(found) if j not in best]
    return float(np.linalg.norm(truth - padded[:, best]) + np.linalg.norm(estimate[:, left]))


@pytest.mark.parametrize("columns", [(1, 1), (3, 3), (4, 2), (2, 4), (1, 5), (5, 1), (5, 5)])
@pytest.mark.parametrize("seed", range(5))
def test_recovery_error_is_brute_force(columns: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, estimate = (np.maximum(rng.normal(size=(7, k)), 0) + 1e-3 for k in columns)
    assert_allclose(recovery_error(truth, estimate), by_brute_force(truth, estimate), rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_recovery_error_with_zero_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, estimate = rng.random((6, 3)), rng.random((6, 4))
    estimate[:, 1] = 0.0
    assert_allclose(recovery_error(truth, estimate), by_brute_force(truth, estimate), rtol=1e-10)
    truth[:, 0] = 0.0
    assert_allclose(recovery_error(truth, estimate), by_brute_force(truth, estimate), rtol=1e-10)


def test_recovery_error_by_hand() -> None:
    """A missing component costs its norm in the first term, a superfluous one in the second."""
    unit = np.eye(5)
    assert recovery_error(unit, unit) == 0.0
    assert_allclose(recovery_error(unit[:, :3], unit[:, :2]), 1.0)
    assert_allclose(recovery_error(unit[:, :4], unit[:, :2]), np.sqrt(2))
    assert_allclose(recovery_error(unit[:, :2], unit[:, :3]), 1.0)
    assert_allclose(recovery_error(unit[:, :2], unit[:, :5]), np.sqrt(3))
    assert_allclose(recovery_error(unit[:, :2], unit[:, [0, 3]]), np.sqrt(2))
    assert_allclose(recovery_error(unit[:, :2], np.zeros((5, 2))), np.sqrt(2))
    assert_allclose(recovery_error(unit[:, :2], np.zeros((5, 0))), np.sqrt(2))
    assert_allclose(recovery_error(np.zeros((5, 0)), unit[:, :2]), np.sqrt(2))


def test_recovery_error_is_blind_to_scale_and_order() -> None:
    rng = np.random.default_rng(0)
    truth, estimate = rng.random((9, 4)), rng.random((9, 4))
    changed = 10.0 ** rng.uniform(-150, 150, 4) * estimate[:, [2, 0, 3, 1]]
    assert_allclose(recovery_error(truth, changed), recovery_error(truth, estimate), rtol=1e-12)
    assert recovery_error(truth, 1e200 * truth[:, ::-1]) < 1e-12
    assert recovery_error(truth, 1e-200 * truth[:, ::-1]) < 1e-12


def test_recovery_error_takes_what_users_have() -> None:
    integers = [[1, 0], [0, 2], [0, 0]]
    assert recovery_error(integers, np.array(integers, dtype=np.float32)) == 0.0
    frozen = np.ones((3, 2))
    frozen.setflags(write=False)
    recovery_error(frozen, frozen)
    with pytest.raises(ValueError, match="same number of rows, got 3 and 4"):
        recovery_error(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="matrix"):
        recovery_error(np.ones(3), np.ones((3, 1)))
