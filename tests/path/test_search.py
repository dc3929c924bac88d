"""How a path search begins, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import RankPath, rank_path, select_rank
from autonmf.datasets import make_low_rank
from autonmf.solvers import SOLVERS

GRIDS = ("exact", "adaptive")


# Initial points


def test_given_factors(
    same: Callable[[RankPath, RankPath], bool], low_rank: np.ndarray, rng: np.random.Generator
) -> None:
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


@pytest.mark.parametrize("grid", GRIDS)
def test_same_seed_same_bits(
    same: Callable[[RankPath, RankPath], bool], grid: str, low_rank: np.ndarray
) -> None:
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


def test_ample_time_budget_changes_nothing(
    same: Callable[[RankPath, RankPath], bool], low_rank: np.ndarray
) -> None:
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


def test_a_stop_at_the_first_rank_ends_the_search() -> None:
    """The compression of the identity is unreliable, but its first solution is all that was asked for."""
    calls: list[int] = []

    def callback(progress) -> bool:
        calls.append(progress.rank)
        return len(calls) == 3

    path = rank_path(np.eye(300), max_rank=5, callback=callback, random_state=0)
    assert calls == [5, 5, 5]
    assert not path.complete
    assert_array_equal(path.ranks, [5])


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


def test_other_errors_in_a_callback_pass_through(low_rank: np.ndarray) -> None:
    def callback(progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rank_path(low_rank, max_rank=4, callback=callback, random_state=0)


CHILD = """
import signal, time, warnings
import numpy as np
from autonmf import rank_path

signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background would ignore it

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
