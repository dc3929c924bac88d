"""Several initial points: the best of each rank, whichever is first, and no more memory than for a few."""

from __future__ import annotations

import gc
import signal
import threading
import time
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from autonmf import RankPath, rank_path


def test_several_starts_keep_the_best_of_each_rank(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=5, n_starts=4, random_state=3)
    assert {visit.start for visit in path.visits} == {0, 1, 2, 3}
    for point in path.points:
        assert point.loss == min(visit.loss for visit in path.visits if visit.rank == point.rank)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"grid": "adaptive"}])
def test_memory_is_that_of_few_starts(options: dict, rng: np.random.Generator) -> None:
    X = rng.random((300, 200))

    def peak(n_starts: int) -> tuple[float, RankPath]:
        gc.collect()
        tracemalloc.start()
        try:
            path = rank_path(X, max_rank=20, n_starts=n_starts, max_iter=20, random_state=0, **options)
            return tracemalloc.get_traced_memory()[1], path
        finally:
            tracemalloc.stop()

    few, path = peak(2)
    many, _ = peak(24)
    assert many - few < 8 * sum(point.U.nbytes + point.V.nbytes for point in path.points)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_no_start_is_begun_when_the_time_is_over(n_jobs: int | None, low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=5, n_starts=20, n_jobs=n_jobs, time_budget=1e-9, random_state=0)
    assert {visit.start for visit in path.visits} == {0}
    assert_array_equal(path.ranks, [1, 2, 3, 4, 5])
    assert path.complete


def test_a_stopped_start_is_the_last(low_rank: np.ndarray) -> None:
    path = rank_path(
        low_rank, max_rank=3, n_starts=3, callback=lambda p: p.start == 1 and p.rank == 2, random_state=0
    )
    assert [visit.start for visit in path.visits] == [0, 0, 0, 1, 1]
    assert not path.complete


def test_a_stop_ends_the_other_jobs(low_rank: np.ndarray) -> None:
    calls, stops = [], []

    def callback(progress) -> bool:
        calls.append(progress.start)
        if len(calls) >= 30:
            stops.append(progress.start)
        return len(calls) >= 30

    path = rank_path(low_rank, max_rank=8, n_starts=100, n_jobs=2, callback=callback, random_state=0)
    assert not path.complete
    assert len(stops) <= 2, "a thread may be in the callback already"
    followed = {visit.start for visit in path.visits}
    assert len(followed | set(calls)) <= len(set(calls)) + 1, "one that had begun in the other thread"


def test_starts_that_end_in_another_order_give_the_same_path(low_rank: np.ndarray) -> None:
    """Start 0 waits for the last one."""
    last = threading.Event()

    def callback(progress) -> None:
        if progress.start == 5:
            last.set()
        if progress.start == 0:
            last.wait(timeout=60)

    options = {"max_rank": 4, "n_starts": 6, "random_state": 0}
    parallel = rank_path(low_rank, n_jobs=3, callback=callback, **options)
    alone = rank_path(low_rank, **options)
    assert [visit[:5] for visit in parallel.visits] == [visit[:5] for visit in alone.visits]
    for one, other in zip(parallel.points, alone.points, strict=True):
        assert_array_equal(one.U, other.U)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_interrupt_in_a_later_start_keeps_the_earlier_ones(n_jobs: int | None, low_rank: np.ndarray) -> None:
    others = threading.Event()

    def callback(progress) -> None:
        if progress.start == 2:
            others.set()  # starts 0 and 1 have begun, and one of them is over
        if progress.start >= 3 and others.is_set():
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match=r"interrupted: the path is the best of \d+ of 30 initial points"):
        path = rank_path(low_rank, max_rank=4, n_starts=30, n_jobs=n_jobs, callback=callback, random_state=0)
    assert_array_equal(path.ranks, [1, 2, 3, 4])
    assert not path.complete


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_ctrl_c_before_any_rank_is_finished_in_threads(low_rank: np.ndarray, loss: str) -> None:
    """A real signal, while every thread is at its first rank; none goes on behind the caller's back."""
    begun, seen = threading.Barrier(3, timeout=60), set()

    def callback(progress) -> None:
        if progress.start not in seen:
            seen.add(progress.start)
            begun.wait()
        time.sleep(0.02)

    def interrupt() -> None:
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    sender = threading.Thread(target=interrupt)
    sender.start()
    try:
        with pytest.warns(RuntimeWarning, match="interrupted at rank 8: the path is incomplete"):
            path = rank_path(
                low_rank, 8, beta_loss=loss, n_starts=2, n_jobs=2, budget="full", tol=0.0, max_iter=10**9,
                callback=callback, random_state=0,
            )  # fmt: skip
    finally:
        sender.join()
        signal.signal(signal.SIGINT, before)
    assert_array_equal(path.ranks, [8])
    assert not path.complete
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("autonmf-path")]


def test_an_error_in_one_thread_ends_the_others(low_rank: np.ndarray) -> None:
    def callback(progress) -> None:
        if progress.start == 1:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        rank_path(
            low_rank, 8, n_starts=4, n_jobs=2, budget="full", tol=0.0, max_iter=10**9, callback=callback,
            random_state=0,
        )  # fmt: skip
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("autonmf-path")]
