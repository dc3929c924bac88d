"""Fits to part of the entries: what is hidden stays hidden, and what is seen is fitted as by brute force."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf.baselines.cross_validation import RIDGE, SWEEPS, EntryFolds, TrainingData, masked_path, read_rows
from autonmf.data import as_data, row_blocks
from autonmf.datasets import make_low_rank
from autonmf.kernels.reference import hals_sweeps

FOLDS = EntryFolds((60, 40), 5, seed=3)
TALL = EntryFolds((40_000, 30), 4, seed=3)  # several blocks of rows


def mask(folds: EntryFolds, fold: int) -> np.ndarray:
    return np.vstack([folds.in_fold(fold, block) for block in row_blocks(folds.shape)])


def partly(X: np.ndarray, fold: int = 0, folds: EntryFolds = FOLDS) -> TrainingData:
    return TrainingData(partial(read_rows, as_data(X)), folds, fold).scaled()


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return make_low_rank(60, 40, rank=3, random_state=0)[0]


@pytest.mark.parametrize("folds", [FOLDS, TALL, EntryFolds((500, 400), 2, 0), EntryFolds((500, 400), 32, 0)])
def test_folds_partition_the_entries(folds: EntryFolds) -> None:
    masks = np.array([mask(folds, fold) for fold in range(folds.folds)])
    assert_array_equal(masks.sum(axis=0), 1)
    n, m = folds.shape
    share = 1 / folds.folds
    deviation = np.sqrt(share * (1 - share) / (n * m))
    # A byte tells folds apart: their shares are multiples of 1/256.
    assert_allclose(masks.mean(axis=(1, 2)), share, atol=1 / 256 + 4 * deviation)


def test_hidden_entries_are_spread() -> None:
    """Neither rows nor columns nor blocks of rows are favoured, and neighbours are independent."""
    hidden = mask(TALL, 1)
    n, m = hidden.shape
    deviation = np.sqrt(0.25 * 0.75)
    assert_allclose(hidden.mean(axis=0), 0.25, atol=5 * deviation / np.sqrt(n))
    assert_allclose(hidden.mean(axis=1).std(), deviation / np.sqrt(m), rtol=0.05)
    assert abs(np.mean(hidden[:, 1:] & hidden[:, :-1]) - 0.25**2) < 0.002


def test_a_seed_is_a_mask() -> None:
    assert_array_equal(mask(FOLDS, 2), mask(EntryFolds((60, 40), 5, seed=3), 2))
    assert (mask(FOLDS, 2) != mask(EntryFolds((60, 40), 5, seed=4), 2)).any()


def test_hidden_values_do_not_matter(X: np.ndarray) -> None:
    hidden = mask(FOLDS, 0)
    changed = np.where(hidden, 1000.0 * np.random.default_rng(9).random(X.shape), X)
    fits = [
        list(masked_path(partly(Z), 6, 1, np.random.default_rng(1), tol=1e-3, max_iter=10))
        for Z in (X, changed)
    ]
    assert [U.shape[1] for U, _ in fits[0]] == [6, 5, 4, 3, 2, 1]
    for (U, V), (U_changed, V_changed) in zip(*fits, strict=True):
        assert_array_equal(U, U_changed)
        assert_array_equal(V, V_changed)
    assert partly(X).scale == partly(changed).scale


def test_seen_values_do_matter(X: np.ndarray) -> None:
    changed = np.where(mask(FOLDS, 0), X, X + 1.0)
    paths = [masked_path(partly(Z), 3, 3, np.random.default_rng(1), tol=0, max_iter=1) for Z in (X, changed)]
    (U, _), (U_changed, _) = (next(path) for path in paths)
    assert (U_changed != U).any()


def test_scale_and_start_are_those_of_the_seen_entries(X: np.ndarray) -> None:
    seen = ~mask(FOLDS, 0)
    part = partly(X)
    assert_allclose(part.scale, np.sqrt(np.mean(X[seen] ** 2)), rtol=1e-6)
    U, V = part.start(4, np.random.default_rng(0))
    fit = U @ V.T
    assert_allclose(np.sum((X / part.scale * fit)[seen]), np.sum(fit[seen] ** 2), rtol=1e-5)
    assert_allclose(np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0), rtol=1e-5)


def test_step_is_hals_on_the_filled_matrix(X: np.ndarray) -> None:
    hidden, part = mask(FOLDS, 0), partly(X)
    U, V = part.start(5, np.random.default_rng(0))
    stepped_U, stepped_V, loss = part.step(U, V)
    scaled = X / part.scale
    U, V = U.astype(float, order="F"), V.astype(float, order="F")
    filled = np.where(hidden, U @ V.T, scaled)
    hals_sweeps(U, filled @ V, V.T @ V, RIDGE, SWEEPS)
    assert_allclose(loss, 0.5 * np.sum((scaled - U @ V.T)[~hidden] ** 2), rtol=1e-4)
    filled = np.where(hidden, U @ V.T, scaled)
    hals_sweeps(V, filled.T @ U, U.T @ U, RIDGE, SWEEPS)
    assert_allclose(stepped_U, U, atol=1e-4)
    assert_allclose(stepped_V, V, atol=1e-4)


def test_seen_loss_never_increases(X: np.ndarray) -> None:
    part = partly(X)
    U, V = part.start(8, np.random.default_rng(0))
    losses = []
    for _ in range(60):
        U, V, loss = part.step(U, V)
        losses.append(loss)
    assert (np.diff(losses) <= 1e-5 * losses[0]).all()
    assert losses[-1] < 0.5 * losses[0]


def test_error_and_energies_by_brute_force(X: np.ndarray) -> None:
    hidden, part = mask(FOLDS, 2), partly(X, 2)
    U, V = part.start(3, np.random.default_rng(0))
    scaled = X / part.scale
    wanted = np.sum((scaled - U @ V.T)[hidden] ** 2) / np.sum(scaled[hidden] ** 2)
    assert_allclose(part.error(U, V), wanted, rtol=1e-5)
    energies = [np.sum(np.outer(U[:, j], V[:, j])[~hidden] ** 2) for j in range(3)]
    assert_allclose(part.energies(U, V), energies, rtol=1e-5)


def test_a_component_that_is_only_huge_where_nothing_is_seen_goes_first() -> None:
    """Dropped by its norm over all entries, it would outlive every real component."""
    X = make_low_rank(60, 40, rank=2, random_state=0)[0]
    part = partly(X)
    hidden = mask(FOLDS, 0)
    (row, column) = np.argwhere(hidden)[0]
    U, V = part.start(2, np.random.default_rng(0))
    spike_U, spike_V = np.zeros((60, 1), np.float32), np.zeros((40, 1), np.float32)
    spike_U[row], spike_V[column] = 1e4, 1e4
    energies = part.energies(np.hstack([U, spike_U]), np.hstack([V, spike_V]))
    assert energies.argmin() == 2
    assert energies[2] == 0.0


def test_many_blocks_of_rows_are_one_matrix() -> None:
    X = make_low_rank(*TALL.shape, rank=2, random_state=0)[0]
    part = partly(X, 1, TALL)
    U, V = part.start(2, np.random.default_rng(0))
    wanted = np.sum((X / part.scale - U @ V.T)[mask(TALL, 1)] ** 2)
    assert_allclose(part.error(U, V) * np.sum((X / part.scale)[mask(TALL, 1)] ** 2), wanted, rtol=1e-4)
    stepped, _, loss = part.step(U, V)
    assert stepped.shape == U.shape
    assert_allclose(loss, 0.5 * np.sum((X / part.scale - stepped @ V.T)[~mask(TALL, 1)] ** 2), rtol=1e-4)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse_give_the_same_bits(X: np.ndarray, kind: type) -> None:
    X = np.where(X > 1, X, 0)
    dense, stored = partly(X), TrainingData(partial(read_rows, as_data(kind(X))), FOLDS, 0).scaled()
    for part in (dense, stored):
        assert part.scale == dense.scale
    start = dense.start(3, np.random.default_rng(0))
    for one, other in zip(dense.step(*start), stored.step(*start), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("factor", [1e-30, 1e30, 1e120])
def test_units_do_not_matter(X: np.ndarray, factor: float) -> None:
    errors = []
    for c in (1.0, factor):
        part = partly(c * X)
        U, V = next(masked_path(part, 3, 3, np.random.default_rng(0), tol=0, max_iter=5))
        errors.append(part.error(U, V))
    assert_allclose(errors[0], errors[1], rtol=1e-3)


def test_nothing_to_see() -> None:
    X = np.zeros((60, 40))
    X[tuple(np.argwhere(mask(FOLDS, 0))[0])] = 1.0
    with pytest.raises(ValueError, match="not held out are zero: use fewer folds"):
        partly(X)
