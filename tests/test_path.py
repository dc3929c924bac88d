"""Paths of λ against their own formulas, and how a path search begins, ends and is kept."""

from __future__ import annotations

import gc
import io
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import RankPath, rank_path, select_rank
from autonmf.datasets import make_low_rank
from autonmf.path import default_max_rank
from autonmf.solvers import SOLVERS

CROSSING = 1 + 1e-8  # 1 + ς
GRIDS = ("exact", "adaptive")
MU, DELTA = 1e-8, 1e-6


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def small() -> np.ndarray:
    X = make_low_rank(20, 14, rank=3, random_state=1)[0]
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def path(low_rank: np.ndarray) -> RankPath:
    return rank_path(low_rank, max_rank=8, random_state=0)


def breakpoints(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """½γ‖max(0, U - ∇_U F/γ)_j‖² with γ = ‖VᵀV‖₂ + μ + δ: the λ at which each column of U would go."""
    gamma = np.linalg.norm(V, 2) ** 2 + MU + DELTA
    forward = np.maximum(U - ((U @ V.T - X) @ V + MU * U) / gamma, 0.0)
    return 0.5 * gamma * np.square(forward).sum(axis=0)


def fitted_start(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Balanced, and scaled to fit X: a start that every solver takes as it is, and λ₁ does not wipe out."""
    U = U * (np.sum(X * (U @ V.T)) / np.sum((U @ V.T) ** 2))
    ratio = np.sqrt(np.linalg.norm(V, axis=0) / np.linalg.norm(U, axis=0))
    return U * ratio, V / ratio


def same(first: RankPath, second: RankPath) -> bool:
    """Equal to the last bit, factors and all; seconds are no part of a result."""
    clockless = [[visit._replace(seconds=0.0) for visit in path.visits] for path in (first, second)]
    return clockless[0] == clockless[1] and all(
        np.array_equal(p.U, q.U) and np.array_equal(p.V, q.V) and (p.loss, p.lam) == (q.loss, q.lam)
        for p, q in zip(first.points, second.points, strict=True)
    )


class Recorder:
    """A solver that remembers the factors after each step, by λ."""

    def __init__(self, name: str) -> None:
        self.solver = SOLVERS[name]
        self.last: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def init(self, problem, U, V):
        return self.solver.init(problem, U, V)

    def step(self, state):
        state = self.solver.step(state)
        self.last[state.problem.lam] = (np.array(state.U), np.array(state.V))
        return state


# What a path holds


@pytest.mark.parametrize("solver", SOLVERS)
def test_exact_path_visits_every_rank(solver: str, low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=10, solver=solver, random_state=0)
    assert_array_equal(path.ranks, np.arange(1, 11))
    assert [visit.rank for visit in path.visits] == list(range(10, 0, -1))
    assert path.complete


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_points_are_what_they_say(solver: str, grid: str, low_rank: np.ndarray) -> None:
    """Nonnegative, balanced, sorted; and the loss is ½‖X - UVᵀ‖², which no SVD of that rank beats."""
    path = rank_path(low_rank, max_rank=8, solver=solver, grid=grid, random_state=0)
    tail = np.append(np.cumsum(np.linalg.svd(low_rank, compute_uv=False)[::-1] ** 2)[::-1], 0.0)
    assert_allclose(path.squared_norm, np.linalg.norm(low_rank) ** 2, rtol=1e-12)
    assert_allclose(path.spectral_norm, np.linalg.norm(low_rank, 2), rtol=1e-10)
    assert_allclose(path.rank_one_loss, 0.5 * tail[1], rtol=1e-9)
    assert_allclose(path.relative_losses, path.losses / (0.5 * path.squared_norm))
    for point in path.points:
        assert point.U.shape == (60, point.rank)
        assert point.V.shape == (40, point.rank)
        assert (point.U >= 0).all()
        assert (point.V >= 0).all()
        assert_allclose(point.loss, 0.5 * np.linalg.norm(low_rank - point.U @ point.V.T) ** 2, rtol=1e-10)
        assert point.loss >= 0.5 * tail[point.rank] * (1 - 1e-10)
        norms = np.linalg.norm(point.U, axis=0)
        assert_allclose(norms, np.linalg.norm(point.V, axis=0), rtol=1e-10)
        assert (np.diff(norms) <= 1e-12 * norms[0]).all()


@pytest.mark.parametrize("engine", ["direct", "compressed"])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_single_precision_is_kept(solver: str, grid: str, engine: str, low_rank: np.ndarray) -> None:
    """A double anywhere in a step would make every later one double, at twice the cost."""
    options = {"max_rank": 5, "solver": solver, "grid": grid, "engine": engine, "random_state": 0}
    single = rank_path(low_rank.astype(np.float32), **options)
    assert all(p.U.dtype == p.V.dtype == np.float32 for p in single.points)
    assert_allclose(single.at_rank(1).loss, rank_path(low_rank, **options).at_rank(1).loss, rtol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_losses_increase_as_the_rank_falls(solver: str, low_rank: np.ndarray) -> None:
    """Nothing forces this on a nonconvex problem, but a well-solved path has it.

    The tolerance is that of the stop rule: an iteration ends when ten steps change the objective by less than
    tol, so a rank may be left a few tol above its own limit, and the next rank may then end below it.
    """
    tol = 1e-7
    path = rank_path(
        low_rank, max_rank=6, solver=solver, budget="full", tol=tol, max_iter=5000, random_state=0
    )
    assert (np.diff(path.relative_losses) <= 100 * tol).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_rank_one_is_the_best_there_is(solver: str, rng: np.random.Generator) -> None:
    """On a positive matrix the rank-one iteration is a power method: it finds σ₁ from any start."""
    X = rng.random((15, 12)) + 0.1
    path = rank_path(X, max_rank=5, solver=solver, budget="full", tol=1e-9, random_state=0)
    singular = np.linalg.svd(X, compute_uv=False)
    assert_allclose(path.at_rank(1).loss, 0.5 * np.sum(singular[1:] ** 2), rtol=1e-6)


def test_at_rank_lists_the_ranks(path: RankPath) -> None:
    assert path.at_rank(3) is path.points[2]
    with pytest.raises(ValueError, match=r"rank 9 is not on this path.* 1, 2, 3, 4, 5, 6, 7, 8"):
        path.at_rank(9)


def test_repr_and_comparison(path: RankPath) -> None:
    assert repr(path) == "RankPath(60 x 40, ranks 8..1, 8 λ)"
    assert path == path
    assert (path.points[0] == path.points[1]) is False


@pytest.mark.parametrize(
    ("shape", "rank"),
    [((1, 9), 1), ((2, 2), 1), ((3, 9), 2), ((60, 40), 20), ((500, 99), 50), ((500, 98), 49)],
)
def test_default_max_rank(shape: tuple[int, int], rank: int) -> None:
    assert default_max_rank(shape) == rank == min(int(np.ceil(min(shape) / 2)), 50)


# The grids


@pytest.mark.parametrize("n_points", [1, 2, 6])
@pytest.mark.parametrize("solver", SOLVERS)
def test_adaptive_grid_follows_the_formulas(
    solver: str, n_points: int, small: np.ndarray, rng: np.random.Generator
) -> None:
    """λ₁ crosses the smallest breakpoint of the start; each next λ goes part of the way to the second
    largest one of the solution before it."""
    U, V = fitted_start(small, rng.random((20, 6)), rng.random((14, 6)))
    recorder = Recorder(solver)
    path = rank_path(
        small,
        solver=recorder,
        grid="adaptive",
        n_points=n_points,
        init=(U, V),
        scale=False,
        mu=MU,
        delta=DELTA,
    )
    lambdas = [visit.lam for visit in path.visits]
    assert_allclose(lambdas[0], CROSSING * breakpoints(small, U, V).min(), rtol=1e-9)
    for i, visit in enumerate(path.visits, start=1):
        U, V = recorder.last[visit.lam]
        ahead = np.sort(breakpoints(small, U, V))
        ahead = ahead[ahead > 0]
        assert_allclose(visit.next_lam, ahead[0], rtol=1e-9)
        if i == len(lambdas):
            break
        reach = CROSSING * ahead[-2]
        expected = lambdas[i - 1] + max(0.0, reach - lambdas[i - 1]) / (n_points - i)
        assert_allclose(lambdas[i], expected, rtol=1e-9)
    if len(lambdas) < n_points and path.visits[-1].rank > 1:
        U, V = recorder.last[max(recorder.last)]
        assert max(recorder.last) > lambdas[-1]
        assert not (U.any() and V.any()), "only a λ that removes everything ends a path early"


@pytest.mark.parametrize("solver", ["pasm", "s-ipalm"])
def test_exact_path_goes_from_breakpoint_to_breakpoint(solver: str, small: np.ndarray) -> None:
    """The plateau of a rank ends at the smallest breakpoint of both blocks, and there the next begins.

    Balanced solvers only: the factors of a `PathPoint` are balanced, and breakpoints depend on that.
    """
    path = rank_path(small, solver=solver, scale=False, random_state=0, mu=MU, delta=DELTA)
    lam = 0.0
    for visit in path.visits:
        assert visit.lam == lam
        point = path.at_rank(visit.rank)
        ahead = np.minimum(breakpoints(small, point.U, point.V), breakpoints(small.T, point.V, point.U))
        assert_allclose(visit.next_lam, ahead.min(), rtol=1e-8)
        lam = max(lam, CROSSING * visit.next_lam)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_lambda_never_decreases(solver: str, grid: str, low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=8, solver=solver, grid=grid, random_state=1)
    lambdas = np.array([visit.lam for visit in path.visits])
    assert (np.diff(lambdas) >= 0).all()
    assert (lambdas[1:] > 0).all()
    assert (np.diff(path.lambdas) <= 0).all()


def test_adaptive_ranks_only_fall(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=10, grid="adaptive", random_state=0)
    ranks = [visit.rank for visit in path.visits]
    assert ranks == sorted(ranks, reverse=True)
    assert len(ranks) <= 30


@pytest.mark.parametrize("solver", SOLVERS)
def test_adaptive_path_from_rank_one_is_not_empty(solver: str, low_rank: np.ndarray) -> None:
    """λ₁ crosses the smallest breakpoint, which at rank one is the only one: nothing may be lost by it."""
    path = rank_path(low_rank, max_rank=1, solver=solver, grid="adaptive", random_state=0)
    assert_array_equal(path.ranks, [1])
    assert "ranks 1..1" in repr(path)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_unconnected_components_leave_no_rank_zero(solver: str, grid: str) -> None:
    """On the identity a component can die in U only, and another in V only."""
    path = rank_path(np.eye(6), max_rank=6, solver=solver, grid=grid, random_state=0)
    assert path.ranks.min() >= 1
    assert {visit.rank for visit in path.visits} == set(path.ranks)


def test_budget(low_rank: np.ndarray) -> None:
    asked: list[int] = []

    def budget(rank: int) -> int:
        asked.append(rank)
        return rank + 1

    path = rank_path(low_rank, max_rank=5, budget=budget, random_state=0)
    assert list(dict.fromkeys(asked)) == [5, 4, 3, 2, 1]
    assert [visit.n_iter for visit in path.visits] == [6, 5, 4, 3, 2]
    full = rank_path(low_rank, max_rank=5, budget="full", random_state=0)
    assert all(visit.reason in ("objective", "change", "gradient") for visit in full.visits)
    assert all(visit.n_iter > 20 for visit in full.visits), "the rank must be the same for 20 iterations"


def test_min_rank(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=6, min_rank=3, random_state=0)
    assert_array_equal(path.ranks, [3, 4, 5, 6])
    assert path.complete


# Symmetries


@pytest.mark.parametrize("solver", SOLVERS)
def test_transposing_changes_nothing(solver: str, low_rank: np.ndarray) -> None:
    one = rank_path(low_rank, max_rank=6, solver=solver, random_state=0)
    other = rank_path(low_rank.T, max_rank=6, solver=solver, random_state=0)
    assert_allclose(one.losses, other.losses, rtol=1e-6)
    assert_allclose(one.at_rank(3).U, other.at_rank(3).V, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("solver", ["pasm", "s-ipalm"])
def test_transposing_a_square_matrix_keeps_the_rank(solver: str) -> None:
    X = make_low_rank(60, 60, rank=4, random_state=2)[0]
    ranks = [select_rank(rank_path(Y, max_rank=10, solver=solver, random_state=0)).rank for Y in (X, X.T)]
    assert ranks == [4, 4]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("factor", [1e-100, 1e-8, 1e8, 1e100])
def test_scale_changes_nothing(factor: float, grid: str, low_rank: np.ndarray) -> None:
    one, other = (rank_path(c * low_rank, max_rank=6, grid=grid, random_state=0) for c in (1.0, factor))
    assert_array_equal(one.ranks, other.ranks)
    assert_allclose(one.relative_losses, other.relative_losses, rtol=1e-6)
    lambdas = [np.array([visit.lam for visit in path.visits]) for path in (one, other)]
    assert_allclose(lambdas[0] * factor * factor, lambdas[1], rtol=1e-6)
    assert_allclose([one.mu * factor, one.delta * factor], [other.mu, other.delta], rtol=1e-10)


def test_without_scaling(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=6, scale=False, random_state=0, mu=MU, delta=DELTA)
    assert (path.mu, path.delta) == (MU, DELTA)
    assert select_rank(path).rank == 3
    assert path.settings["scale"] is False


# Initial points


def test_given_factors(low_rank: np.ndarray, rng: np.random.Generator) -> None:
    U, V = rng.random((60, 5)), rng.random((40, 5))
    for factor in (U, V):
        factor.setflags(write=False)
    kept = U.copy(), V.copy()
    path = rank_path(low_rank, init=(U, V))
    assert_array_equal(path.ranks, [1, 2, 3, 4, 5])
    assert_array_equal(U, kept[0])
    assert_array_equal(V, kept[1])
    assert same(path, rank_path(low_rank, init=(U.tolist(), V.tolist()), max_rank=5))
    assert path.settings["init"] == "given"


def test_given_solution_is_kept() -> None:
    """Started at an exact factorisation, the path has loss (almost) zero there."""
    X, U, V = make_low_rank(30, 20, rank=4, noise=0.0, random_state=0)
    assert rank_path(X, init=(U, V)).relative_losses[-1] < 1e-12


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ((np.ones((60, 3)), np.ones((40, 4))), r"shapes \(60, r\) and \(40, r\)"),
        ((np.ones((40, 3)), np.ones((60, 3))), r"shapes \(60, r\) and \(40, r\)"),
        ((np.ones(60), np.ones(40)), r"shapes \(60, r\) and \(40, r\)"),
        ((-np.ones((60, 3)), np.ones((40, 3))), "U must be finite and nonnegative"),
        ((np.ones((60, 3)), np.full((40, 3), np.nan)), "V must be finite and nonnegative"),
        ((np.zeros((60, 3)), np.ones((40, 3))), "every component is zero"),
        ((np.ones((60, 3)),), "pair"),
        ((np.ones((60, 3)), np.ones((40, 3)), np.ones(3)), "pair"),
        ((np.full((60, 3), "a"), np.ones((40, 3))), "numeric"),
        ((1, 2), "init"),
        ((), "pair"),
        (None, "init"),
        (7, "init"),
        ("zeros", "unknown init 'zeros'.*random, nndsvd"),
    ],
)
def test_wrong_init(init: object, message: str, low_rank: np.ndarray) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        rank_path(low_rank, init=init)


def test_init_against_max_rank(low_rank: np.ndarray) -> None:
    with pytest.raises(ValueError, match="init has 3 components but max_rank is 5"):
        rank_path(low_rank, 5, init=(np.ones((60, 3)), np.ones((40, 3))))


def test_too_many_given_components(small: np.ndarray, rng: np.random.Generator) -> None:
    """More than min(n, m) is never needed, but given factors are taken as they are."""
    path = rank_path(small, init=(rng.random((20, 17)), rng.random((14, 17))), solver="palm")
    assert [visit.rank for visit in path.visits] == list(range(17, 0, -1))


def test_zero_columns_in_given_factors_do_no_harm(low_rank: np.ndarray, rng: np.random.Generator) -> None:
    U, V = rng.random((60, 5)), rng.random((40, 5))
    U[:, 1], V[:, 1], U[:, 3] = 0.0, 0.0, 0.0
    for solver in SOLVERS:
        path = rank_path(low_rank, init=(U, V), solver=solver)
        assert_array_equal(path.ranks, np.arange(1, path.ranks[-1] + 1))
        assert all(np.isfinite(p.U).all() and np.isfinite(p.V).all() for p in path.points)


@pytest.mark.parametrize("init", ["nndsvd", "nndsvda"])
@pytest.mark.parametrize("grid", GRIDS)
def test_spectral_start(init: str, grid: str, low_rank: np.ndarray) -> None:
    """The start hardly depends on the seed, so neither does the path."""
    one, other = (rank_path(low_rank, max_rank=6, init=init, grid=grid, random_state=s) for s in (0, 1))
    assert_array_equal(one.ranks, other.ranks)
    assert_allclose(one.losses, other.losses, rtol=1e-2)
    assert grid == "adaptive" or select_rank(one).rank == 3


# Starts and seeds


def test_several_starts_keep_the_best_of_each_rank(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=5, n_starts=4, random_state=3)
    assert {visit.start for visit in path.visits} == {0, 1, 2, 3}
    for point in path.points:
        assert point.loss == min(visit.loss for visit in path.visits if visit.rank == point.rank)


@pytest.mark.parametrize("grid", GRIDS)
def test_same_seed_same_bits(grid: str, low_rank: np.ndarray) -> None:
    def run(seed: object, **options: object) -> RankPath:
        return rank_path(low_rank, max_rank=5, n_starts=3, grid=grid, random_state=seed, **options)

    first = run(7)
    assert same(first, run(7))
    assert same(first, run(np.random.default_rng(7)))
    assert not same(first, run(8))
    for jobs in (2, 3, -1):
        assert same(first, run(7, n_jobs=jobs))


# Ends of a search


def test_too_large_max_rank(small: np.ndarray) -> None:
    with pytest.warns(UserWarning, match="max_rank=99 is more than .*=14.* the path starts at 14"):
        path = rank_path(small, max_rank=99, random_state=0)
    assert path.ranks[-1] <= 14
    assert path.ranks[0] == 1


def test_time_budget_reaches_rank_one(low_rank: np.ndarray) -> None:
    """However small the budget, the exact path makes one iteration at each rank."""
    path = rank_path(low_rank, max_rank=20, budget="full", tol=0.0, time_budget=1e-6, random_state=0)
    assert_array_equal(path.ranks, np.arange(1, path.ranks[-1] + 1))
    assert all(visit.n_iter == 1 for visit in path.visits)
    assert all(visit.reason == "time" for visit in path.visits)


def test_time_budget_is_shared_among_ranks(low_rank: np.ndarray) -> None:
    """No rank takes everything: unlimited iterations, half a second, and each rank gets a share."""
    began = time.monotonic()
    path = rank_path(
        low_rank, max_rank=5, budget="full", tol=0.0, max_iter=10**9, time_budget=0.5, random_state=0
    )
    assert time.monotonic() - began < 5.0
    assert_array_equal(path.ranks, [1, 2, 3, 4, 5])
    assert min(visit.n_iter for visit in path.visits) > 10


def test_ample_time_budget_changes_nothing(low_rank: np.ndarray) -> None:
    assert same(*(rank_path(low_rank, 5, time_budget=t, random_state=0) for t in (None, 1e6)))


def test_callback_sees_every_iteration(low_rank: np.ndarray) -> None:
    seen = []
    path = rank_path(low_rank, max_rank=4, callback=seen.append, random_state=0)
    assert len(seen) == sum(visit.n_iter for visit in path.visits)
    assert {p.max_rank for p in seen} == {4}
    assert [p.rank for p in seen] == sorted((p.rank for p in seen), reverse=True)
    assert all(0 <= p.relative_loss <= 1 for p in seen)
    assert (np.diff([p.seconds for p in seen]) >= 0).all()
    assert_allclose(seen[-1].relative_loss, path.relative_losses[0], rtol=1e-9)


def test_callback_stops_the_path(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=6, callback=lambda progress: progress.rank == 4, random_state=0)
    assert not path.complete
    assert_array_equal(path.ranks, [4, 5, 6])
    assert path.visits[-1].reason == "stopped"
    assert "incomplete" in repr(path)
    assert "the path is incomplete" in select_rank(path).warnings


def test_a_stopped_start_is_the_last(low_rank: np.ndarray) -> None:
    path = rank_path(
        low_rank, max_rank=3, n_starts=3, callback=lambda p: p.start == 1 and p.rank == 2, random_state=0
    )
    assert [visit.start for visit in path.visits] == [0, 0, 0, 1, 1]
    assert not path.complete


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_nothing_is_begun_again_after_a_stop(error: type[BaseException] | None) -> None:
    """The compression cannot see the identity, so the engine starts afresh on X: not once it is stopped."""
    calls: list[int] = []

    def callback(progress) -> bool:
        assert 3 not in calls, "called again after it had stopped the path"
        calls.append(progress.rank)
        if error and progress.rank == 3:
            raise error
        return progress.rank == 3

    expected = pytest.warns(RuntimeWarning, match="interrupted") if error else nullcontext()
    with expected:
        path = rank_path(np.eye(300), max_rank=5, callback=callback, random_state=0)
    assert not path.complete
    assert path.ranks[-1] == 5


def interrupt_at(rank: int):
    def callback(progress) -> None:
        if progress.rank == rank:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize("grid", GRIDS)
def test_interrupt_keeps_what_is_finished(grid: str, low_rank: np.ndarray) -> None:
    with pytest.warns(RuntimeWarning, match="interrupted .* incomplete"):
        path = rank_path(low_rank, max_rank=6, grid=grid, callback=interrupt_at(2), random_state=0)
    assert not path.complete
    whole = rank_path(low_rank, max_rank=6, grid=grid, random_state=0)
    assert_array_equal(path.ranks, whole.ranks[whole.ranks > 2])
    assert_array_equal(path.losses, whole.losses[whole.ranks > 2])


def test_interrupt_before_the_first_rank_raises(low_rank: np.ndarray) -> None:
    with pytest.raises(KeyboardInterrupt):
        rank_path(low_rank, max_rank=6, callback=interrupt_at(6), random_state=0)


def test_interrupt_in_a_later_start_keeps_the_earlier_ones(low_rank: np.ndarray) -> None:
    def callback(progress) -> None:
        if progress.start == 1:
            raise KeyboardInterrupt

    try:
        with pytest.warns(RuntimeWarning, match="interrupted"):
            path = rank_path(low_rank, max_rank=4, n_starts=3, callback=callback, random_state=0)
    except KeyboardInterrupt:
        pytest.fail("the finished start was thrown away")
    assert_array_equal(path.ranks, [1, 2, 3, 4])
    assert not path.complete


def test_other_errors_in_a_callback_pass_through(low_rank: np.ndarray) -> None:
    def callback(progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rank_path(low_rank, max_rank=4, callback=callback, random_state=0)


CHILD = """
import time, warnings
import numpy as np
from autonmf import rank_path

said = False
def callback(progress):
    global said
    if progress.rank <= 4 and not said:
        said = True
        print("running", flush=True)

def shown(message, category, *rest):
    print(category.__name__, flush=True)
    {on_warning}

warnings.showwarning = shown
X = np.random.default_rng(0).random((60, 40))
path = rank_path(
    X, max_rank=6, budget=lambda rank: 3 if rank > 4 else 10**9, tol=0.0, max_iter=10**9, time_budget=100,
    callback=callback,
)
print("returned", path.complete, path.ranks[0] > 1, path.ranks[-1], flush=True)
"""


@contextmanager
def interrupted_child(on_warning: str) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a long path, just after its first Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(on_warning=on_warning)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    guard = threading.Timer(60, process.kill)
    guard.start()
    with process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "RuntimeWarning\n"
        yield process
    guard.cancel()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for child processes")
def test_one_ctrl_c_returns_the_partial_path() -> None:
    with interrupted_child("pass") as process:
        assert process.stdout.read() == "returned False True 6\n"
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for child processes")
def test_a_second_ctrl_c_raises() -> None:
    with interrupted_child("time.sleep(60)") as process:
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
    assert "KeyboardInterrupt" in out
    assert "returned" not in out
    assert process.returncode != 0


# Storage


@pytest.mark.parametrize("name", ["path.npz", "path", "path.with.dots", "päth.npz"])
def test_saved_path_comes_back(name: str, path: RankPath, tmp_path) -> None:
    file = tmp_path / name
    path.save(file)
    assert [f.name for f in tmp_path.iterdir()] == [name], "one file, under the name that was asked for"
    loaded = RankPath.load(str(file))
    assert same(path, loaded)
    for field in ("shape", "squared_norm", "spectral_norm", "mu", "delta", "complete", "settings", "visits"):
        assert getattr(loaded, field) == getattr(path, field)
    assert select_rank(loaded).rank == select_rank(path).rank
    assert all(p.U.flags.f_contiguous and p.V.flags.f_contiguous for p in loaded.points)


def test_saving_keeps_single_precision_and_settings(low_rank: np.ndarray, tmp_path) -> None:
    seed = np.random.default_rng(0)
    path = rank_path(low_rank.astype(np.float32), 4, random_state=seed, solver=SOLVERS["pasm"])
    path.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    assert loaded.at_rank(2).U.dtype == np.float32
    assert same(path, loaded)


def test_saving_replaces_a_file_only_when_done(path: RankPath, tmp_path, monkeypatch) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    before = file.read_bytes()

    def disk_full(*arrays: object, **named: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", disk_full)
    with pytest.raises(OSError, match="No space left"):
        path.save(file)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["path.npz"]


def test_a_saved_file_can_be_read_by_others(path: RankPath, tmp_path) -> None:
    """A file of the user's, not a private one: the permissions are those of any new file."""
    path.save(tmp_path / "path.npz")
    (tmp_path / "other").touch()
    assert (tmp_path / "path.npz").stat().st_mode == (tmp_path / "other").stat().st_mode


def with_header(good: bytes, **changes: object) -> bytes:
    """A saved path whose header says something else."""
    with np.load(io.BytesIO(good)) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"])) | changes
    return npz(**(arrays | {"header": np.array(json.dumps(header))}))


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


POINT = {"loss": 1.0, "lam": 0.0, "n_iter": 1}
FOREIGN = {
    "empty": lambda good: b"",
    "text": lambda good: b"rank,loss\n1,2\n",
    "pickle": lambda good: pickle.dumps({"header": 1}),
    "npy": lambda good: npy(np.ones(3)),
    "npz of something else": lambda good: npz(X=np.ones(3)),
    "header that is no JSON": lambda good: npz(header=np.array("rank")),
    "header that is a list": lambda good: npz(header=np.array("[1, 2]")),
    "truncated": lambda good: good[: len(good) // 2],
    "one byte short": lambda good: good[:-1],
    "damaged": lambda good: good[:500] + bytes(byte ^ 255 for byte in good[500:560]) + good[560:],
    "newer version": lambda good: with_header(good, version=99),
    "other format": lambda good: with_header(good, format="somebody.Else"),
    "version that is no number": lambda good: with_header(good, version="one"),
    "no visits": lambda good: with_header(good, visits=None),
    "wrong visits": lambda good: with_header(good, visits=[[1, 2]]),
    "more points than factors": lambda good: with_header(
        good, points=[{"loss": 1, "lam": 0, "n_iter": 1}] * 20
    ),
    "wrong points": lambda good: with_header(good, points=[{"loss": 1.0, "weight": 0.0}]),
    "no shape": lambda good: with_header(good, shape=None),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_path_is_refused(kind: str, path: RankPath, tmp_path) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    file.write_bytes(FOREIGN[kind](file.read_bytes()))
    try:
        RankPath.load(file)
    except ValueError as error:
        message = str(error)
    assert "is not a saved RankPath" in message
    assert kind != "newer version" or "99 is newer" in message
    gc.collect()  # a file left open is reported now, with this test


def test_pickles_are_never_run(path: RankPath, tmp_path) -> None:
    """An object array inside the npz would be unpickled by a careless reader."""

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was run",))

    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb()
    np.savez(tmp_path / "bomb.npz", header=bomb)
    with pytest.raises(ValueError, match="is not a saved RankPath"):
        RankPath.load(tmp_path / "bomb.npz")


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        RankPath.load(tmp_path / "nothing.npz")
