"""Known components: they stay as they are, and everything else is as good as it can be beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize, nnls
from scipy.special import xlogy

from autonmf import RankPath, rank_path, select_rank
from autonmf.data import as_data
from autonmf.datasets import make_low_rank
from autonmf.losses import LOSSES, Problem
from autonmf.losses.kullback_leibler import CountProblem
from autonmf.model.components import find_cheapest_merger, merging_costs

LOSS_NAMES = ["frobenius", "kullback-leibler"]


def make_counts(n: int = 120, m: int = 40, rank: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Poisson counts, and the true components in rows."""
    rng = np.random.default_rng(seed)
    U, H = rng.gamma(0.5, 20.0, (n, rank)), rng.gamma(0.3, 1.0, (rank, m))
    return rng.poisson(U @ H).astype(float), H


def make_data(loss: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    if loss == "kullback-leibler":
        return make_counts(seed=seed)
    X, _, V = make_low_rank(120, 40, rank=5, noise=0.1, random_state=seed)
    return X, V.T


def evaluate(X: np.ndarray, fit: np.ndarray, loss: str) -> float:
    if loss == "frobenius":
        return 0.5 * float(np.square(X - fit).sum())
    return float(np.sum(xlogy(X, X) - xlogy(X, np.maximum(fit, 1e-300)) - X + fit))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), n_fixed=st.integers(1, 3))
def test_many_sweeps_over_V_solve_least_squares_beside_the_known(seed: int, n_fixed: int) -> None:
    rng = np.random.default_rng(seed)
    X, U, V = rng.random((20, 8)), rng.random((20, 4)), rng.random((8, 4))
    problem = Problem(as_data(X), mu=0.0, n_fixed=n_fixed)
    start = problem.start(np.asfortranarray(U), np.asfortranarray(V))
    swept = start.sweep(2000)  # U is swept first, V then for that U
    assert_array_equal(swept.V[:, :n_fixed], V[:, :n_fixed])
    for j in range(8):
        target = X[:, j] - swept.U[:, :n_fixed] @ V[j, :n_fixed]
        best, _ = nnls(swept.U[:, n_fixed:], target)
        reached = np.linalg.norm(target - swept.U[:, n_fixed:] @ swept.V[j, n_fixed:])
        assert reached <= np.linalg.norm(target - swept.U[:, n_fixed:] @ best) + 1e-7


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_many_sweeps_over_V_solve_kullback_leibler_beside_the_known(stored: Any) -> None:
    X, H = make_counts(30, 6, 3)
    rng = np.random.default_rng(1)
    U, V = rng.random((30, 4)) * 20, np.vstack([H[:2], rng.random((2, 6))]).T
    loss: Any = LOSSES["kullback-leibler"]
    problem = loss.pose(CountProblem.of(as_data(stored(X)), np.float64), n_fixed=2)
    swept = problem.start(np.asfortranarray(U), np.asfortranarray(V)).sweep(3000)
    assert_array_equal(swept.V[:, :2], V[:, :2])

    def rest(free: np.ndarray) -> float:
        return evaluate(X, swept.U @ np.hstack([V[:, :2], free.reshape(6, 2)]).T, "kullback-leibler")

    best = minimize(rest, np.ones(12), bounds=[(0, None)] * 12, tol=1e-12)
    assert swept.loss <= best.fun * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_every_iteration_lowers_the_loss(loss: str) -> None:
    X, H = make_data(loss)
    one: Any = LOSSES[loss]
    prepared = one.prepare(as_data(X), single=False)
    fixed = H[:2].T
    U, V = one.initialize(prepared, 6, "random", np.random.default_rng(0), fixed)
    state = one.pose(prepared, n_fixed=2).start(U, V)
    losses = []
    for _ in range(20):
        state = state.sweep(2)
        assert_array_equal(state.V[:, :2], fixed)
        losses.append(evaluate(X, state.U @ state.V.T, loss))
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()


def test_cheapest_merger_with_known_components_is_that_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        U, V = rng.random((9, 5)), rng.random((7, 5)) ** 3
        costs = merging_costs(U.T @ U, V.T @ V, n_fixed=2)
        assert np.isinf(costs[:2, :2]).all()
        for known in range(2):
            for free in range(2, 5):
                gone = np.outer(U[:, free], V[:, free])
                taken = np.array([nnls(V[:, [known]], row)[0][0] for row in gone])
                left = gone - np.outer(taken, V[:, known])
                assert_allclose(costs[known, free], 0.5 * np.square(left).sum(), rtol=1e-9)
        merger = find_cheapest_merger(U.T @ U, V.T @ V, n_fixed=2)
        assert costs[merger.kept, merger.gone] == costs.min()
        if merger.kept < 2:
            assert_array_equal(merger.b, [1.0, 0.0])


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_copy_of_a_known_component_is_the_first_to_go(loss: str) -> None:
    X, H = make_data(loss)
    one: Any = LOSSES[loss]
    prepared = one.prepare(as_data(X), single=False)
    rng = np.random.default_rng(0)
    U, V = rng.random((120, 4)), np.vstack([H[:3], H[1]]).T
    state = one.pose(prepared, n_fixed=3).start(*map(np.asfortranarray, (U, V)))
    merged = state.merge()
    assert_array_equal(merged.V, V[:, :3])
    assert_allclose(merged.U @ merged.V.T, U @ V.T, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("options", [{}, {"equilibrate": True}, {"engine": "direct"}, {"init": "nndsvda"}])
def test_a_path_ends_with_the_known_components_alone(loss: str, options: dict[str, Any]) -> None:
    X, H = make_data(loss)
    path = rank_path(X, max_rank=8, fixed_components=3.0 * H[:3], beta_loss=loss, random_state=0, **options)
    assert path.ranks.tolist() == [3, 4, 5, 6, 7, 8]
    assert path.n_known == 3
    assert (np.diff(path.losses) < 0).all()
    for point in path.points:
        assert_array_equal(point.V[:, :3].T, (3.0 * H[:3]).astype(point.V.dtype))
        assert_allclose(evaluate(X, point.U @ point.V.T, loss), point.loss, rtol=2e-3)
    alone = path.at_rank(3)
    weights = np.array([_fit_row(row, H[:3], loss) for row in X])
    assert alone.loss == pytest.approx(evaluate(X, weights @ H[:3], loss), rel=1e-4)


def _fit_row(row: np.ndarray, H: np.ndarray, loss: str) -> np.ndarray:
    if loss == "frobenius":
        return nnls(H.T, row)[0]
    found = minimize(lambda w: evaluate(row, w @ H, loss), np.full(len(H), row.sum() / H.sum()),
                     bounds=[(1e-12, None)] * len(H))  # fmt: skip
    return found.x


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("given", [1, 3, 5])
def test_the_rule_counts_beyond_the_known(loss: str, given: int) -> None:
    X, H = make_data(loss)
    path = rank_path(X, fixed_components=H[:given], beta_loss=loss, equilibrate=True, random_state=0)
    estimate = select_rank(path, rule="auto")
    assert estimate.rank == 5
    number = {1: "4 components beyond the known one: ", 3: "2 components beyond the 3 known ones: "}
    assert estimate.why.startswith(number.get(given, "no component beyond the 5 known ones: "))
    assert estimate.evidence["rank"][0] == given
    assert min(estimate.plausible) >= given


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_known_component_that_is_not_in_X_does_not_change_the_count(loss: str) -> None:
    X, H = make_data(loss)
    known = np.vstack([H[:2], H[0, ::-1]])
    path = rank_path(X, fixed_components=known, beta_loss=loss, equilibrate=True, random_state=0)
    assert select_rank(path, rule="auto").rank == 6


def test_without_noise_nothing_is_left_beyond_the_known() -> None:
    X, _, V = make_low_rank(60, 40, rank=4, noise=0.0, random_state=0)
    for known in (V.T, V.T[:2]):
        path = rank_path(X, fixed_components=known, equilibrate=True, random_state=0)
        assert select_rank(path, rule="auto").rank == 4


def test_saved_and_loaded(tmp_path: Path) -> None:
    X, H = make_data("frobenius")
    path = rank_path(X, max_rank=8, fixed_components=H[:2], equilibrate=True, random_state=0)
    path.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    assert loaded.n_known == 2
    assert loaded.evidence is not None
    assert loaded.evidence.n_known == 2
    assert select_rank(loaded, rule="auto").why == select_rank(path, rule="auto").why
    for ours, theirs in zip(path.points, loaded.points, strict=True):
        assert_array_equal(ours.V, theirs.V)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_checkpoint_resumes_with_the_same_bits(loss: str, tmp_path: Path) -> None:
    X, H = make_data(loss)
    options = {"max_rank": 8, "fixed_components": H[:2], "beta_loss": loss, "random_state": 0}
    whole = rank_path(X, **options)
    file = tmp_path / "search.autonmf"
    rank_path(X, **options, checkpoint=file, callback=lambda progress: progress.rank <= 5)
    resumed = rank_path(X, **options, checkpoint=file)
    for ours, theirs in zip(whole.points, resumed.points, strict=True):
        assert_array_equal(ours.V, theirs.V)
        assert_array_equal(ours.U, theirs.U)
    with pytest.raises(ValueError, match="belongs to another run: fixed_components"):
        rank_path(X, **options | {"fixed_components": H[1:3]}, checkpoint=file)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grid": "adaptive"}, "the adaptive grid may drop known components"),
        ({"solver": "pasm"}, "the paper's solvers update all components"),
        ({"init": (np.ones((120, 3)), np.ones((40, 3)))}, "init=.U, V. sets every component"),
        ({"max_rank": 1}, "there are 2 known components, more than max_rank=1"),
    ],
)
def test_what_does_not_go_with_known_components(options: dict[str, Any], said: str) -> None:
    X, H = make_data("frobenius")
    with pytest.raises(ValueError, match=said):
        rank_path(X, fixed_components=H[:2], **options)


def test_more_known_components_than_X_can_have() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="there are 7 known components, but X of shape"):
        rank_path(rng.random((6, 9)), fixed_components=rng.random((7, 9)))
