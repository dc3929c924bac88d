"""The greedy fallback: losses never rise with the rank."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF, RankPath, rank_path
from autonmf.data import as_data
from autonmf.path import PathOptions, PathPoint, prepare
from autonmf.path.unscale import Unscaler
from autonmf.path.walk import Solution
from autonmf.solvers import SOLVERS

RNG = np.random.default_rng(0)
MATRICES = {
    "noise": RNG.random((30, 20)),
    "six decades": 10.0 ** RNG.uniform(-6, 0, (10, 7)),
    "three components": RNG.random((40, 3)) @ RNG.random((3, 12)),
    "identity": np.eye(8),
    "rank one": np.outer(RNG.random(6), RNG.random(9)),
    "constant": np.full((5, 4), 7.0),
    "blocks": np.kron(np.eye(3), RNG.random((3, 2))),
}
NOISE = MATRICES["noise"]
SINGLE, DOUBLE = 1e-6, 1e-12  # of ½‖X‖²: how far losses may be off in either precision


def unscaler_of(X: Any, *, scale: bool = False, **options: Any) -> Unscaler:
    """What turns solutions of X, here in its own units, into points."""
    search = PathOptions(scale=scale, engine="direct")
    view = prepare(as_data(X), search, min(X.shape), np.random.default_rng(0))
    return Unscaler(view, view.scaling, **{"mu": search.mu} | options)


def worthless(unscaler: Unscaler, ranks: range) -> list[Solution]:
    """Solutions that explain nothing of X."""
    n, m = unscaler.view.scaled.shape
    energy = 0.5 * unscaler.view.scaled.squared_norm()
    return [Solution(np.full((n, rank), 1e-9), np.full((m, rank), 1e-9), energy, 3.0, 7) for rank in ranks]


def to_points(unscaler: Unscaler, solutions: list[Solution]) -> list[PathPoint]:
    """Points of X, by increasing rank, whose losses do not rise."""
    return list(unscaler.make_monotone(map(unscaler.to_point, solutions)))


def energy_of(X: np.ndarray) -> float:
    return 0.5 * float(np.square(X).sum())


# By itself


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_losses_fall_from_the_best_of_rank_one(name: str, stored: Callable[[np.ndarray], Any]) -> None:
    X = MATRICES[name]
    unscaler = unscaler_of(stored(X))
    points = to_points(unscaler, worthless(unscaler, range(1, min(X.shape) + 1)))
    losses = np.array([energy_of(X - point.U @ point.V.T) for point in points])
    least = 0.5 * np.square(np.linalg.svd(X)[1][1:]).sum()
    assert losses[0] == pytest.approx(least, abs=1e-12 * np.square(X).sum())
    assert (np.diff(losses) <= 1e-12 * np.square(X).sum()).all()
    for rank, point in enumerate(points, 1):
        assert point.U.shape[1] == point.V.shape[1] == rank
        assert np.count_nonzero(point.U.any(axis=0) & point.V.any(axis=0)) == rank
        assert min(point.U.min(), point.V.min()) >= 0


@pytest.mark.parametrize("name", ["noise", "six decades", "identity", "blocks"])
def test_it_gives_fair_solutions(name: str) -> None:
    X = MATRICES[name]
    peer = NMF(3, init="nndsvda", max_iter=2000, random_state=0).fit(X).reconstruction_err_ ** 2
    unscaler = unscaler_of(X)
    (solution,) = worthless(unscaler, range(3, 4))
    point = unscaler.to_point(solution)
    assert 2 * point.loss <= 1.25 * peer + 1e-12


def test_a_point_does_not_depend_on_the_others() -> None:
    """Ranks that no rule reads are left for later."""
    unscaler = unscaler_of(NOISE)
    solutions = worthless(unscaler, range(1, 7))
    up, down = (list(map(unscaler.to_point, order)) for order in (solutions, solutions[::-1]))
    for one, other in zip(up, down[::-1], strict=True):
        np.testing.assert_array_equal(one.U, other.U)
        np.testing.assert_array_equal(one.V, other.V)
        assert one.loss == other.loss


def test_a_worse_solution_is_replaced_and_others_are_not() -> None:
    path = rank_path(NOISE, random_state=0)
    unscaler = unscaler_of(NOISE, scale=True)
    good = [
        Solution(*unscaler.scaling.to_scaled(p.U, p.V), p.loss / unscaler.scaling.unit**2, p.lam, p.n_iter)
        for p in path.points
    ]
    for point, old in zip(to_points(unscaler, good), path.points, strict=True):
        np.testing.assert_allclose(point.U, old.U, rtol=1e-12)
        np.testing.assert_allclose([point.loss], [old.loss], rtol=1e-12)
    for point, same in zip(path.points, unscaler.make_monotone(path.points), strict=True):
        assert same is point
    (solution,) = worthless(unscaler, range(4, 5))
    better = unscaler.to_point(solution)
    assert better.loss == pytest.approx(energy_of(NOISE - better.U @ better.V.T))
    assert better.loss < path.rank_one_loss
    assert (better.rank, better.n_iter) == (4, 7)
    assert better.lam == pytest.approx(3.0 * unscaler.scaling.unit**2)


def test_the_rank_before_is_what_it_goes_on_from() -> None:
    """One component more than a good solution, and at least a little better."""
    path = rank_path(NOISE, budget="full", random_state=0)
    good, next_one = path.at_rank(5), path.at_rank(6)
    poor = replace(next_one, loss=1.01 * good.loss)  # better than rank one, and worse than rank 5
    same, replaced = unscaler_of(NOISE).make_monotone([good, poor])
    assert same is good
    assert 0.9 * next_one.loss < replaced.loss < good.loss


def test_the_best_of_the_smaller_ranks_counts() -> None:
    """A rank that cannot be made better does not make it easier for the next one."""
    path = rank_path(NOISE, budget="full", random_state=0)
    points = [path.at_rank(3), replace(path.at_rank(4), loss=1.2 * path.at_rank(3).loss)]
    points.append(replace(path.at_rank(5), loss=1.1 * path.at_rank(3).loss))
    losses = [point.loss for point in unscaler_of(NOISE).make_monotone(points)]
    assert losses[0] == points[0].loss
    assert losses[0] >= losses[1] >= losses[2]


def test_nothing_is_computed_after_the_deadline() -> None:
    late = unscaler_of(NOISE, deadline=time.monotonic() - 1.0)
    (solution,) = worthless(late, range(4, 5))
    kept = late.to_point(solution)
    assert kept.loss == pytest.approx(energy_of(NOISE))
    assert [point.loss for point in late.make_monotone([kept])] == [kept.loss]
    better = replace(late, deadline=np.inf).to_point(solution)
    assert better.loss < 0.5 * kept.loss


def test_on_the_grid_of_the_paper_solutions_are_only_no_worse_than_rank_one() -> None:
    """It leaves ranks unvisited, and its losses are part of what the paper's rule reads."""
    for seed in range(3):
        path = rank_path(near_rank_one(), max_rank=20, grid="adaptive", max_iter=5, random_state=seed)
        assert (path.losses <= path.rank_one_loss + SINGLE * 0.5 * path.squared_norm).all()


# Along a path


def check_falling(path: RankPath, tolerance: float) -> None:
    energy = 0.5 * path.squared_norm
    assert (np.diff(path.losses) <= tolerance * energy).all()
    assert path.losses.max() <= path.rank_one_loss + SINGLE * energy


@pytest.mark.parametrize("engine", ["direct", "compressed"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", MATRICES)
def test_losses_never_rise_with_the_rank(name: str, solver: str, engine: str) -> None:
    X = MATRICES[name]
    path = rank_path(X, max_rank=min(X.shape), solver=solver, engine=engine, random_state=0)
    check_falling(path, DOUBLE if engine == "direct" else SINGLE)


@pytest.mark.parametrize(
    "options",
    [
        {"equilibrate": True},
        {"equilibrate": True, "engine": "compressed"},
        {"equilibrate": True, "n_starts": 3},
        {"budget": lambda rank: 1},
        {"n_starts": 3},
    ],
    ids=[
        "equilibrated",
        "equilibrated and compressed",
        "equilibrated, three starts",
        "short",
        "three starts",
    ],
)
@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_nor_with_few_iterations_nor_from_the_equilibrated_matrix(
    options: dict[str, Any], factor: float
) -> None:
    X = factor * 10.0 ** np.random.default_rng(3).uniform(-6, 0, (80, 60))
    path = rank_path(X, max_rank=40, random_state=0, **options)
    assert len(path.points) > 30
    check_falling(path, SINGLE)


@pytest.mark.parametrize("name", ["noise", "six decades", "blocks"])
@pytest.mark.parametrize("equilibrate", [False, True])
def test_nor_with_missing_entries_and_weights(name: str, equilibrate: bool) -> None:
    rng = np.random.default_rng(1)
    X = np.where(rng.random(MATRICES[name].shape) < 0.1, np.nan, MATRICES[name])
    weights = rng.uniform(0.1, 10.0, X.shape)
    path = rank_path(X, missing="mask", weights=weights, equilibrate=equilibrate, random_state=0)
    check_falling(path, DOUBLE)


def test_the_path_of_a_model_falls_too() -> None:
    """Also where ranks that no rule reads are found later."""
    X = 10.0 ** np.random.default_rng(0).uniform(-6, 0, (120, 80))
    check_falling(AutoNMF(random_state=0, engine="compressed").fit(X).path_, SINGLE)


def test_scaling_back_from_the_equilibrated_matrix() -> None:
    X = 10.0 ** np.random.default_rng(23).uniform(-6, 0, (10, 3))
    for seed in range(10):
        path = rank_path(X, max_rank=3, equilibrate=True, random_state=seed)
        assert (path.losses <= path.rank_one_loss * (1 + 1e-6)).all()


def test_a_heavy_ridge_is_no_fault() -> None:
    """With μ = 10 the best of eq. (1) explains less than the leading pair, and is to stay."""
    X = np.random.default_rng(0).random((60, 40))
    path = rank_path(X, 6, mu=10.0, budget="full", scale=False, random_state=0)
    left, sigma, right = np.linalg.svd(X)
    U, V = (np.sqrt(sigma[0]) * np.abs(vectors[:, :1]) for vectors in (left, right.T))
    leading = energy_of(X - U @ V.T) + 5.0 * (np.square(U).sum() + np.square(V).sum())
    for point in path.points:
        ridge = 5.0 * (np.square(point.U).sum() + np.square(point.V).sum())
        assert point.loss + ridge <= leading * (1 + 1e-9)
    assert path.losses.min() > path.rank_one_loss


def near_rank_one() -> np.ndarray:
    return 1.0 + 1e-4 * np.random.default_rng(0).random((150, 120))


def test_visits_tell_of_it() -> None:
    path = rank_path(near_rank_one(), random_state=0)
    replaced = [visit for visit in path.visits if visit.reason == "fallback"]
    assert replaced
    for visit in replaced:
        assert visit.loss == path.at_rank(visit.rank).loss
    assert (path.losses <= path.rank_one_loss * (1 + 1e-6)).all()


@pytest.mark.parametrize("options", [{}, {"equilibrate": True}], ids=str)
@pytest.mark.parametrize("step", ["to_point", "make_monotone"])
def test_interrupted_while_it_is_computed(
    step: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C costs the fallback, and not the path."""
    original, n_calls = getattr(Unscaler, step), count()

    def interrupt(self: Unscaler, given: Any) -> Any:
        if next(n_calls) == 0:
            raise KeyboardInterrupt
        return original(self, given)

    monkeypatch.setattr(Unscaler, step, interrupt)
    with pytest.warns(RuntimeWarning, match="interrupted: losses may rise with the rank") as said:
        path = rank_path(near_rank_one(), random_state=0, **options)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert not path.complete
    assert path.ranks.tolist() == list(range(1, 51))


def test_a_fit_that_is_interrupted_there_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Unscaler, "to_point", interrupt)
    for rule in ("auto", "marginal"):
        with pytest.raises(KeyboardInterrupt):
            AutoNMF(rule=rule, random_state=0).fit(NOISE)


def test_losses_of_all_ranks_compare() -> None:
    """Solutions of the equilibrated X, scaled back, are about as good as those of the fallback."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.normal(0.0, 0.7, (150, 1)), 10.0 ** rng.normal(0.0, 0.7, (1, 60))
    means = sizes[0] * (rng.gamma(0.3, 1, (150, 12)) @ rng.gamma(0.3, 1, (12, 60))) * sizes[1]
    X = rng.poisson(means).astype(float)
    X = X[X.any(axis=1)][:, X.any(axis=0)]
    for point in AutoNMF(max_rank=20, random_state=0).fit(X).path_.points[1:]:
        few = NMF(point.rank, init="custom", max_iter=3, tol=0, random_state=0)
        U, V = (np.ascontiguousarray(factor, dtype=float) for factor in (point.U, point.V.T))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            few.fit_transform(X, W=U, H=V)
        assert point.loss <= 1.2 * 0.5 * few.reconstruction_err_**2
