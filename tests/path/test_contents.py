"""What a path holds, the λ of both grids against their formulas, and what changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import RankPath, rank_path, select_rank
from autonmf.datasets import make_low_rank
from autonmf.path import default_max_rank
from autonmf.solvers import SOLVERS

CROSSING = 1 + 1e-8  # 1 + ς
GRIDS = ("exact", "adaptive")
PENALISED = [name for name in SOLVERS if name != "hals"]
CASES = [(solver, grid) for grid in GRIDS for solver in (SOLVERS if grid == "exact" else PENALISED)]
MU, DELTA = 1e-8, 1e-6


def breakpoints(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """½γ‖max(0, U - ∇_U F/γ)_j‖² with γ = ‖VᵀV‖₂ + μ + δ: the λ at which each column of U would go."""
    gamma = np.linalg.norm(V, 2) ** 2 + MU + DELTA
    forward = np.maximum(U - ((U @ V.T - X) @ V + MU * U) / gamma, 0.0)
    return 0.5 * gamma * np.square(forward).sum(axis=0)


def fit_initial(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Balanced, and scaled to fit X: what every solver takes as it is, and λ₁ does not remove."""
    U = U * (np.sum(X * (U @ V.T)) / np.sum((U @ V.T) ** 2))
    ratio = np.sqrt(np.linalg.norm(V, axis=0) / np.linalg.norm(U, axis=0))
    return U * ratio, V / ratio


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


@pytest.mark.parametrize(("solver", "grid"), CASES)
def test_points_are_what_they_say(solver: str, grid: str, low_rank: np.ndarray) -> None:
    """Nonnegative, balanced, sorted; and the loss is ½‖X - UVᵀ‖², which no SVD of that rank beats."""
    path = rank_path(low_rank, max_rank=8, solver=solver, grid=grid, random_state=0)
    tail = np.append(np.cumsum(np.linalg.svd(low_rank, compute_uv=False)[::-1] ** 2)[::-1], 0.0)
    assert_allclose(path.squared_norm, np.linalg.norm(low_rank) ** 2, rtol=1e-12)
    assert_allclose(path.energy, 0.5 * path.squared_norm)
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
@pytest.mark.parametrize(("solver", "grid"), CASES)
def test_single_precision_is_kept(solver: str, grid: str, engine: str, low_rank: np.ndarray) -> None:
    """A double anywhere in a step would make every later one double, at twice the cost.

    The adaptive grid ends 1e-8 above the breakpoint of rank two: in single precision, above it or not.
    """
    options = {"max_rank": 5, "solver": solver, "grid": grid, "engine": engine, "random_state": 0}
    single = rank_path(low_rank.astype(np.float32), **options)
    assert all(p.U.dtype == p.V.dtype == np.float32 for p in single.points)
    double = rank_path(low_rank, **options)
    rank = single.ranks[0]
    assert rank == 1 or (rank, grid) == (2, "adaptive")
    assert_allclose(single.at_rank(rank).loss, double.at_rank(rank).loss, rtol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_losses_fall_as_the_rank_increases(solver: str, low_rank: np.ndarray) -> None:
    """A well-solved path has this almost by itself: the fallback takes the place of at most one solution."""
    path = rank_path(
        low_rank, max_rank=6, solver=solver, budget="full", tol=1e-7, max_iter=5000, random_state=0
    )
    assert (np.diff(path.relative_losses) <= 1e-12).all()
    assert sum(visit.reason == "fallback" for visit in path.visits) <= 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_rank_one_is_the_best_there_is(solver: str, rng: np.random.Generator) -> None:
    """On a positive matrix the rank-one iteration is a power method: it finds σ₁ from any start."""
    X = rng.random((15, 12)) + 0.1
    path = rank_path(X, max_rank=5, solver=solver, budget="full", tol=1e-9, random_state=0)
    singular = np.linalg.svd(X, compute_uv=False)
    assert_allclose(path.at_rank(1).loss, 0.5 * np.sum(singular[1:] ** 2), rtol=1e-6)


def test_at_rank_lists_the_ranks(path: RankPath) -> None:
    assert path.at_rank(3) is path.points[2]
    with pytest.raises(ValueError, match=r"rank 9 is not on this path; it visited 1 to 8"):
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
@pytest.mark.parametrize("solver", PENALISED)
def test_adaptive_grid_follows_the_formulas(
    solver: str, n_points: int, small: np.ndarray, rng: np.random.Generator
) -> None:
    """λ₁ crosses the smallest breakpoint of the start; each next λ goes part of the way to the second
    largest one of the solution before it."""
    U, V = fit_initial(small, rng.random((20, 6)), rng.random((14, 6)))
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


@pytest.mark.parametrize("budget", ["auto", "full"])
@pytest.mark.parametrize("solver", ["auto", "hals", "pasm", "s-ipalm"])
def test_exact_path_goes_from_breakpoint_to_breakpoint(solver: str, budget: str, small: np.ndarray) -> None:
    """The plateau of a rank ends at the smallest breakpoint of both blocks, and there the next begins.

    Solutions that are balanced when they are left: the factors of a `PathPoint` are, and breakpoints depend
    on that. A point that the greedy fallback has replaced is not the solution that the path went on from.
    """
    path = rank_path(small, solver=solver, budget=budget, scale=False, random_state=0, mu=MU, delta=DELTA)
    lam = 0.0
    for visit in path.visits:
        assert visit.lam == lam
        point = path.at_rank(visit.rank)
        ahead = np.minimum(breakpoints(small, point.U, point.V), breakpoints(small.T, point.V, point.U))
        if visit.reason != "fallback":
            assert_allclose(visit.next_lam, ahead.min(), rtol=1e-8)
        lam = max(lam, CROSSING * visit.next_lam)
    replaced = sum(visit.reason == "fallback" for visit in path.visits)
    assert replaced <= (2 if budget == "auto" else 0)


def test_solvers_by_default(low_rank: np.ndarray) -> None:
    """HALS on the exact path, PASM on the paper's grid; each can be asked for where it can run."""
    for grid, name, other in (("exact", "hals", "pasm"), ("adaptive", "pasm", "s-ipalm")):
        default, named, another = (
            rank_path(low_rank, max_rank=5, solver=solver, grid=grid, random_state=0)
            for solver in ("auto", name, other)
        )
        assert_array_equal(default.losses, named.losses)
        assert not np.array_equal(default.losses, another.losses)
    with pytest.raises(ValueError, match=r'solver="hals" has no penalty.*use grid="exact"'):
        rank_path(low_rank, solver="hals", grid="adaptive")


@pytest.mark.parametrize(("solver", "grid"), CASES)
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


@pytest.mark.parametrize("solver", PENALISED)
def test_adaptive_path_from_rank_one_is_not_empty(solver: str, low_rank: np.ndarray) -> None:
    """λ₁ crosses the smallest breakpoint, which at rank one is the only one: nothing may be lost by it."""
    path = rank_path(low_rank, max_rank=1, solver=solver, grid="adaptive", random_state=0)
    assert_array_equal(path.ranks, [1])
    assert "ranks 1..1" in repr(path)


@pytest.mark.parametrize(("solver", "grid"), CASES)
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
