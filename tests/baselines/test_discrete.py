"""Discrete paths: the ranks that were asked for, and losses like those of the λ-path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import RankPath, rank_path, select_rank
from autonmf.baselines import discrete_path
from autonmf.datasets import make_low_rank

DIRECTIONS = ("decreasing", "increasing")
RANKS = [2, 3, 4, 6, 9, 12]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("engine", ["direct", "compressed"])
def test_ranks_and_losses(easy: np.ndarray, direction: str, engine: str) -> None:
    path = discrete_path(easy, RANKS, direction, engine=engine, random_state=0)
    assert_array_equal(path.ranks, RANKS)
    assert path.complete
    assert not path.lambdas.any()
    order = [visit.rank for visit in path.visits]
    assert order == (RANKS if direction == "increasing" else RANKS[::-1])
    continuous = rank_path(easy, 12, budget="full", engine=engine, random_state=0)
    wanted = [continuous.at_rank(rank).loss for rank in RANKS]
    assert_allclose(path.losses, wanted, rtol=0.03)
    for point in path.points:
        true = 0.5 * np.linalg.norm(easy - point.U.astype(float) @ point.V.T.astype(float)) ** 2
        assert_allclose(point.loss, true, rtol=0.01 if engine == "compressed" else 1e-9)
        assert_allclose(np.linalg.norm(point.U, axis=0), np.linalg.norm(point.V, axis=0), rtol=1e-4)
        assert (np.diff(np.linalg.norm(point.U, axis=0)) <= 1e-6).all()


@pytest.mark.parametrize("solver", ["palm", "ipalm", "s-ipalm", "pasm"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_solver(low_rank: np.ndarray, direction: str, solver: str) -> None:
    path = discrete_path(low_rank, range(1, 6), direction, solver=solver, random_state=0)
    assert_array_equal(path.ranks, range(1, 6))
    assert select_rank(path, "marginal", tau=5.0).rank == 3
    assert path.settings["solver"] == solver
    assert path.settings["grid"] == f"discrete-{direction}"


def test_stop_rule_is_that_of_the_paper(low_rank: np.ndarray) -> None:
    """The rank has to be unchanged for 20 iterations: 21 are the fewest."""
    path = discrete_path(low_rank, [2, 3, 4], random_state=0)
    assert all(visit.n_iter >= 21 for visit in path.visits)
    assert all(visit.reason in ("objective", "change", "gradient") for visit in path.visits)
    short = discrete_path(low_rank, [2, 3, 4], max_iter=5, random_state=0)
    assert [visit.n_iter for visit in short.visits] == [5, 5, 5]
    tight = discrete_path(low_rank, [2, 3, 4], tol=1e-8, random_state=0)
    assert sum(v.n_iter for v in tight.visits) > sum(v.n_iter for v in path.visits)


def test_the_weakest_component_is_dropped(low_rank: np.ndarray) -> None:
    """One iteration from a converged point keeps the components that stayed."""
    converged = discrete_path(low_rank, [3], tol=1e-9, random_state=0).at_rank(3)
    two = discrete_path(low_rank, [2, 3], tol=1e-9, random_state=0).at_rank(2)
    kept = converged.U[:, :2] / np.linalg.norm(converged.U[:, :2], axis=0)
    found = two.U / np.linalg.norm(two.U, axis=0)
    assert (np.max(kept.T @ found, axis=1) > 0.8).all()


def test_ranks_in_any_order_and_once(low_rank: np.ndarray) -> None:
    path = discrete_path(low_rank, (4, 2, 4), random_state=0)
    assert [visit.rank for visit in path.visits] == [4, 2]


def test_components_that_x_does_not_need() -> None:
    X = np.outer(np.arange(1.0, 13), np.arange(1.0, 11))
    path = discrete_path(X, [1, 2, 3], random_state=0)
    assert path.ranks[0] == 1
    assert_allclose(path.losses, 0, atol=1e-6 * np.sum(X**2))


def test_out_of_time(easy: np.ndarray) -> None:
    path = discrete_path(easy, range(1, 13), time_budget=1e-9, random_state=0)
    assert not path.complete
    assert [visit.rank for visit in path.visits] == [12]
    assert path.visits[0].reason == "time"


def test_the_same_for_sparse_and_saved(low_rank: np.ndarray, tmp_path: Path) -> None:
    X = np.where(low_rank > 0.5, low_rank, 0)
    dense, stored = (discrete_path(Z, [2, 3], random_state=0) for Z in (X, sparse.csr_matrix(X)))
    assert_allclose(dense.losses, stored.losses, rtol=1e-3)
    dense.save(tmp_path / "path.npz")
    assert_array_equal(RankPath.load(tmp_path / "path.npz").losses, dense.losses)


def test_a_seed_is_an_answer() -> None:
    X = make_low_rank(40, 30, rank=3, random_state=0)[0]
    paths = [discrete_path(X, [2, 4], "increasing", random_state=seed) for seed in (0, 0, 1)]
    assert_array_equal(paths[0].at_rank(4).U, paths[1].at_rank(4).U)
    assert (paths[0].at_rank(4).U != paths[2].at_rank(4).U).any()


@pytest.mark.parametrize(
    ("ranks", "direction", "message"),
    [
        ([], "decreasing", "ranks"),
        ([0], "decreasing", "ranks"),
        ([41], "decreasing", "ranks"),
        ([2], "up", "direc"),
    ],
)
def test_what_is_refused(low_rank: np.ndarray, ranks: list[int], direction: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discrete_path(low_rank, ranks, direction)


def test_a_ridge_that_removes_every_component() -> None:
    with pytest.raises(ValueError, match=r"every component became zero: mu=1e\+09 is too heavy"):
        discrete_path(np.random.default_rng(0).random((12, 9)), [2], mu=1e9, random_state=0)
