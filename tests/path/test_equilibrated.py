"""A path that follows the equilibrated X is a path of X, with evidence on both matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF, RankPath, rank_path, select_rank
from autonmf.data import OpenedData, as_data
from autonmf.datasets import make_low_rank
from autonmf.fit import factorise
from autonmf.path import PathOptions
from autonmf.path.unscale import Unscaler

CROSSING = 1 + 1e-8  # 1 + ς
MU, DELTA = 1e-8, 1e-6
COMPRESSED = 1e-4  # what a loss through the compression may miss of ½‖X‖² on these data


@pytest.fixture(scope="module")
def uneven() -> np.ndarray:
    """48 x 34 with three components, whose rows and columns have sizes over two decades."""
    rng = np.random.default_rng(5)
    X = make_low_rank(48, 34, rank=3, random_state=5)[0]
    X *= np.outer(10.0 ** rng.uniform(-1, 1, 48), 10.0 ** rng.uniform(-1, 1, 34))
    X[7], X[:, 3] = 0.0, 0.0
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def path(uneven: np.ndarray) -> RankPath:
    return rank_path(uneven, equilibrate=True, random_state=0)


def energy(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> float:
    return 0.5 * float(np.linalg.norm(X - U.astype(float) @ V.astype(float).T)) ** 2


def equilibrated(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Y = diag(a)⁻¹ X diag(b)⁻¹, a and b."""
    norms = np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=0)
    a, b = (np.sqrt(np.where(sizes > 0, sizes, 1.0)) for sizes in norms)
    return X / np.outer(a, b), a, b


def spectrum_of(X: np.ndarray) -> np.ndarray:
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    return squares / squares.sum()


def breakpoints(X: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """½γ‖max(0, U - ∇_U F/γ)_j‖² with γ = ‖VᵀV‖₂ + μ + δ: the λ at which each column of U would go."""
    gamma = np.linalg.norm(V, 2) ** 2 + MU + DELTA
    forward = np.maximum(U - ((U @ V.T - X) @ V + MU * U) / gamma, 0.0)
    return 0.5 * gamma * np.square(forward).sum(axis=0)


def check_path_of(X: np.ndarray, path: RankPath, *, atol: float = 0.0) -> None:
    """Every point is nonnegative, balanced, sorted, and has the loss on X that it says."""
    tail = 0.5 * np.append(np.cumsum(np.linalg.svd(X, compute_uv=False)[::-1] ** 2)[::-1], 0.0)
    assert path.shape == X.shape
    assert_allclose(path.squared_norm, np.linalg.norm(X) ** 2, rtol=1e-6)
    for point in path.points:
        assert point.U.shape == (X.shape[0], point.rank)
        assert point.V.shape == (X.shape[1], point.rank)
        assert (point.U >= 0).all()
        assert (point.V >= 0).all()
        true = energy(X, point.U, point.V)
        assert_allclose(point.loss, true, rtol=1e-6, atol=atol + 1e-14 * tail[0])
        assert true >= tail[min(point.rank, len(tail) - 1)] * (1 - 1e-6)
        norms = np.linalg.norm(point.U, axis=0)
        assert (norms > 0).all()
        assert_allclose(norms, np.linalg.norm(point.V, axis=0), rtol=1e-5)
        assert (np.diff(norms) <= 1e-5 * norms[0]).all()
    lambdas = [visit.lam for visit in path.visits]
    assert (np.diff(lambdas) >= 0).all()
    assert lambdas[0] == 0.0
    assert {visit.rank for visit in path.visits} == set(path.ranks)


# What the path holds


@pytest.mark.parametrize("transposed", [False, True])
def test_it_is_a_path_of_X(transposed: bool, uneven: np.ndarray) -> None:
    X = uneven.T if transposed else uneven
    model = AutoNMF(engine="direct", random_state=0).fit(X)
    path = model.path_
    check_path_of(X, path)
    assert path.complete
    assert all(point.on_X for point in path.points)
    assert_array_equal(path.ranks, np.arange(1, path.ranks[-1] + 1))
    assert [visit.rank for visit in path.visits] == path.ranks[::-1].tolist()
    assert model.n_components_ == 3


@pytest.mark.parametrize("transposed", [False, True])
def test_compressed_losses_are_close(transposed: bool) -> None:
    X = make_low_rank(150, 90, rank=4, random_state=1)[0]
    X = X.T if transposed else X
    path = rank_path(X, max_rank=12, engine="compressed", equilibrate=True, random_state=0)
    check_path_of(X, path, atol=COMPRESSED * 0.5 * path.squared_norm)
    assert path.settings["engine"] == "compressed"
    assert not any(point.on_X for point in path.points)
    assert select_rank(path, "auto").rank == 4


def test_the_compression_is_left_where_it_is_unreliable() -> None:
    """The identity has no leading directions: its path is followed on X itself, and so says the result."""
    X = np.eye(300)
    path = rank_path(X, max_rank=6, equilibrate=True, random_state=0)
    assert path.settings["engine"] == "direct"
    assert all(point.on_X for point in path.points)
    for point in path.points:
        assert_allclose(point.loss, energy(X, point.U, point.V), rtol=1e-9)


@pytest.mark.parametrize(("engine", "rtol"), [("direct", 1e-9), ("compressed", 1e-3)])
def test_rank_one_is_the_leading_singular_pair(engine: str, rtol: float, uneven: np.ndarray) -> None:
    path = rank_path(uneven, engine=engine, equilibrate=True, random_state=0)
    P, sigma, Q = np.linalg.svd(uneven)
    assert_allclose(path.rank_one_loss, 0.5 * np.sum(sigma[1:] ** 2), rtol=rtol)
    point = path.at_rank(1)
    assert_allclose(point.loss, 0.5 * np.sum(sigma[1:] ** 2), rtol=rtol)
    best = sigma[0] * np.outer(P[:, 0], Q[0])
    assert np.linalg.norm(point.U @ point.V.T - best) <= 10 * rtol * sigma[0]


@pytest.mark.parametrize(
    "engine",
    [
        "direct",
        pytest.param("compressed"),
    ],
)
def test_single_precision_is_kept(engine: str, uneven: np.ndarray) -> None:
    path = rank_path(uneven.astype(np.float32), max_rank=5, engine=engine, equilibrate=True, random_state=0)
    assert [(p.U.dtype, p.V.dtype) for p in path.points] == [(np.float32, np.float32)] * len(path.points)


def test_lambda_goes_from_breakpoint_to_breakpoint(uneven: np.ndarray) -> None:
    """The λ are those of X: a rank's plateau ends at the smallest breakpoint of its solution for X."""
    path = rank_path(
        uneven, equilibrate=True, scale=False, mu=MU, delta=DELTA, engine="direct", random_state=0
    )
    assert (path.mu, path.delta, path.settings["scale"]) == (MU, DELTA, False)
    lam = 0.0
    for visit in path.visits[:-1]:  # rank one is replaced by the best there is
        assert_allclose(visit.lam, lam, rtol=1e-9)
        point = path.at_rank(visit.rank)
        assert (point.lam, point.loss) == (visit.lam, visit.loss)
        ahead = np.minimum(breakpoints(uneven, point.U, point.V), breakpoints(uneven.T, point.V, point.U))
        assert_allclose(visit.next_lam, ahead.min(), rtol=1e-7)
        lam = max(lam, CROSSING * visit.next_lam)
    assert_allclose([path.visits[-1].lam, path.at_rank(1).lam], lam, rtol=1e-7)


@pytest.mark.parametrize("factor", [1e-100, 1e-8, 1e8, 1e100])
def test_units_do_not_matter(factor: float, uneven: np.ndarray) -> None:
    one, other = (rank_path(c * uneven, max_rank=8, equilibrate=True, random_state=0) for c in (1.0, factor))
    assert_allclose(one.relative_losses, other.relative_losses, rtol=1e-6)
    assert_allclose(one.lambdas * factor**2, other.lambdas, rtol=1e-6)
    ends = [np.array([visit.next_lam for visit in path.visits]) for path in (one, other)]
    assert_allclose(ends[0] * factor**2, ends[1], rtol=1e-6)
    assert_allclose([one.mu * factor, one.delta * factor], [other.mu, other.delta], rtol=1e-10)
    assert_allclose(one.evidence.losses, other.evidence.losses, rtol=1e-6)
    assert_allclose(one.evidence.spectrum, other.evidence.spectrum, rtol=1e-6, atol=1e-12)


# The evidence


@pytest.mark.parametrize(
    "storage", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_the_spectrum_of_Y(storage: Any, uneven: np.ndarray) -> None:
    evidence = rank_path(
        storage(uneven), max_rank=8, engine="direct", equilibrate=True, random_state=0
    ).evidence
    Y, _, _ = equilibrated(uneven)
    assert evidence.shape == uneven.shape
    assert_array_equal(evidence.ranks, np.arange(1, 9))
    spectrum = evidence.spectrum
    true = spectrum_of(Y)[: len(spectrum)]
    assert len(spectrum) > 8
    assert_allclose(spectrum[:3], true[:3], rtol=1e-4)
    assert (np.diff(spectrum) <= 0).all()
    assert (spectrum <= true * (1 + 1e-9)).all(), "a projection has no more than the matrix itself"
    assert (spectrum[:8] >= 0.8 * true[:8]).all()


@pytest.mark.parametrize(("engine", "atol"), [("direct", 1e-12), ("compressed", 10 * COMPRESSED)])
def test_losses_are_fractions_on_the_same_solutions(
    engine: str, atol: float, uneven: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solution, scaled to Y, has the loss on Y that the evidence tells; but rank one, the best of X."""
    monkeypatch.setattr(Unscaler, "improve", lambda self, point: point)
    path = rank_path(uneven, max_rank=8, engine=engine, equilibrate=True, random_state=0)
    Y, a, b = equilibrated(uneven)
    for i, point in enumerate(path.points[1:], start=1):
        U, V = point.U / a[:, None], point.V / b[:, None]
        fraction = energy(Y, U, V) / (0.5 * np.linalg.norm(Y) ** 2)
        assert_allclose(path.evidence.losses[i], fraction, rtol=1e-6, atol=atol)


def test_same_seed_same_bits(uneven: np.ndarray, path: RankPath) -> None:
    again = rank_path(uneven, equilibrate=True, random_state=0)
    generator = rank_path(uneven, equilibrate=True, random_state=np.random.default_rng(0))
    for other in (again, generator):
        assert_array_equal(other.losses, path.losses)
        assert_array_equal(other.evidence.spectrum, path.evidence.spectrum)
        assert_array_equal(other.evidence.whitened.squares, path.evidence.whitened.squares)
    assert not np.array_equal(rank_path(uneven, equilibrate=True, random_state=1).losses, path.losses)


# Starts, budgets and ends


def test_given_factors_are_a_start(uneven: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    U, V = rng.random((48, 5)), rng.random((34, 5))
    for factor in (U, V):
        factor.setflags(write=False)
    path = rank_path(uneven, init=(U, V), equilibrate=True)
    check_path_of(uneven, path)
    assert_array_equal(path.ranks, [1, 2, 3, 4, 5])
    lists = AutoNMF(init=(U.tolist(), V.tolist())).fit(uneven)
    assert_array_equal(lists.path_.losses, path.losses)


def test_a_given_solution_is_kept() -> None:
    """The initial point is scaled to Y and back: an exact factorisation of X stays one."""
    X, U, V = make_low_rank(30, 20, rank=4, noise=0.0, random_state=0)
    assert rank_path(1e6 * X, init=(1e3 * U, 1e3 * V), equilibrate=True).relative_losses[-1] < 1e-12


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ((np.ones((48, 3)), np.ones((34, 4))), r"shapes \(48, r\) and \(34, r\)"),
        ((-np.ones((48, 3)), np.ones((34, 3))), "U must be finite and nonnegative"),
        ((np.ones((48, 3)), np.full((34, 3), np.nan)), "V must be finite and nonnegative"),
        ((np.zeros((48, 3)), np.ones((34, 3))), "every component is zero"),
        ((1, 2), "init"),
        pytest.param(
            (np.ones(48), np.ones(34)),
            r"got \(48,\) and \(34,\)",
        ),
        pytest.param(
            (np.full((48, 3), "a"), np.ones((34, 3))),
            "numeric",
        ),
    ],
)
def test_wrong_init(init: Any, message: str, uneven: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        rank_path(uneven, init=init, equilibrate=True)


def test_vectors_are_no_start_for_a_square_matrix() -> None:
    with pytest.raises(ValueError, match="shapes"):
        rank_path(
            make_low_rank(20, 20, rank=2, random_state=0)[0],
            init=(np.ones(20), np.ones(20)),
            equilibrate=True,
        )


def test_several_starts(uneven: np.ndarray) -> None:
    """Each rank keeps the solution that is best on Y."""
    options = {"max_rank": 8, "engine": "direct", "equilibrate": True, "random_state": 0}
    both = rank_path(uneven, n_starts=3, **options)
    check_path_of(uneven, both)
    assert_array_equal(both.ranks, np.arange(1, 9))
    Y, _, _ = equilibrated(uneven)
    plain = rank_path(Y, max_rank=8, n_starts=3, engine="direct", random_state=0)
    assert_allclose(both.evidence.losses, plain.relative_losses, rtol=1e-6)
    on_Y = {(visit.start, visit.rank): visit.loss for visit in plain.visits}
    for visit in both.visits:
        assert on_Y[visit.start, visit.rank] <= plain.at_rank(visit.rank).loss * (1 + 1e-6)
    assert_array_equal(rank_path(uneven, n_starts=3, n_jobs=2, **options).losses, both.losses)
    assert select_rank(both, "auto").rank == 3


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"n_starts": 3}),
        pytest.param({"grid": "adaptive"}),
    ],
)
def test_every_iteration_is_counted(options: dict[str, Any], uneven: np.ndarray) -> None:
    """`n_iter_` is the sum over the visits: as many as a callback sees."""
    seen = []
    path = rank_path(uneven, equilibrate=True, callback=seen.append, random_state=0, **options)
    assert sum(visit.n_iter for visit in path.visits) == len(seen)


def test_time_budget(uneven: np.ndarray) -> None:
    """However small it is, every rank is visited."""
    path = rank_path(uneven, budget="full", tol=0.0, time_budget=1e-6, equilibrate=True, random_state=0)
    check_path_of(uneven, path)
    assert_array_equal(path.ranks, np.arange(1, path.ranks[-1] + 1))
    assert all(visit.n_iter == 1 for visit in path.visits)
    assert {visit.reason for visit in path.visits} == {"time"}


def test_adaptive_grid(uneven: np.ndarray) -> None:
    model = AutoNMF(grid="adaptive", random_state=0).fit(uneven)
    check_path_of(uneven, model.path_)
    assert_array_equal(model.path_.evidence.ranks, model.path_.ranks)
    assert model.n_components_ == 3


@pytest.mark.parametrize("solver", ["s-ipalm", "ipalm", "palm"])
def test_other_solvers(solver: str, uneven: np.ndarray) -> None:
    path = rank_path(uneven, solver=solver, equilibrate=True, random_state=0)
    check_path_of(uneven, path)
    assert select_rank(path, "auto").rank == 3


def test_min_rank(uneven: np.ndarray) -> None:
    path = rank_path(uneven, max_rank=8, min_rank=3, equilibrate=True, random_state=0)
    check_path_of(uneven, path)
    assert_array_equal(path.ranks, np.arange(3, 9))
    assert select_rank(path, "auto").rank == 3


def test_a_stopped_path_is_incomplete_and_says_so(uneven: np.ndarray) -> None:
    path = rank_path(uneven, equilibrate=True, callback=lambda p: p.rank == 5, random_state=0)
    assert not path.complete
    assert not path.evidence.complete
    assert path.ranks[0] == 5
    estimate = select_rank(path, "auto")
    assert "the path is incomplete" in estimate.warnings
    assert estimate.rank in {1, *path.ranks}
    assert not any(4 >= rank > 1 for rank in estimate.plausible)


def test_rank_one_can_be_chosen_where_it_was_not_visited() -> None:
    """A stopped path of noise has no rank one; the leading singular pair stands in."""
    X = np.random.default_rng(0).random((60, 40))
    found = factorise(OpenedData(as_data(X)), PathOptions(callback=lambda p: p.rank == 4, random_state=0))
    assert found.path.ranks[0] == 4
    assert found.estimate is not None
    assert found.estimate.rank == found.rank == 1
    assert_allclose(2 * found.loss, np.sum(np.linalg.svd(X, compute_uv=False)[1:] ** 2), rtol=1e-6)
