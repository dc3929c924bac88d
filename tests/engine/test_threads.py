"""One place owns the threads: same bits whatever their number, and BLAS is left as it was found."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from autonmf import AutoNMF, rank_path
from autonmf._threads import _pool, each, one_pool
from autonmf.datasets import make_low_rank


def blas_threads():
    return sorted(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


@pytest.fixture(scope="module")
def large():
    """Large enough for products in blocks."""
    return make_low_rank(1600, 800, 4, 0.2, random_state=0)[0]


@pytest.mark.parametrize("engine", ["direct", "compressed"])
def test_the_same_bits_for_any_number_of_threads(large, engine):
    def fit(threads):
        with threadpool_limits(threads, user_api="blas"):
            return AutoNMF(max_rank=8, engine=engine, random_state=0).fit(large)

    one, two = fit(1), fit(2)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.path_.losses, two.path_.losses)


def test_blas_has_one_thread_inside_and_its_own_number_afterwards():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_pool():
            assert set(blas_threads()) == {1}
            with one_pool():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_blas_is_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="inside"), one_pool():
        raise RuntimeError("inside")
    assert blas_threads() == before


def test_overlapping_callers_restore_once_the_last_has_left():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        entered, leave = threading.Event(), threading.Event()

        def other():
            with one_pool():
                entered.set()
                leave.wait()

        with one_pool():
            thread = threading.Thread(target=other)
            thread.start()
            entered.wait()
        assert set(blas_threads()) == {1}  # the other is still inside
        leave.set()
        thread.join()
        assert blas_threads() == before


def test_no_more_threads_than_blas_was_allowed():
    with threadpool_limits(1, user_api="blas"), one_pool():
        assert _pool.threads == 1
        assert each(lambda i: threading.current_thread().name, range(3)) == ["MainThread"] * 3


def test_results_come_in_order_and_errors_reach_the_caller():
    with one_pool():
        assert each(lambda i: i * i, range(20)) == [i * i for i in range(20)]
        with pytest.raises(ZeroDivisionError):
            each(lambda i: 1 / i, [1, 0])


def test_concurrent_fits_give_what_each_gives_alone(large):
    def losses(seed):
        return rank_path(large, max_rank=6, random_state=seed).losses

    alone = [losses(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as executor:
        together = list(executor.map(losses, range(3)))
    np.testing.assert_array_equal(alone, together)


def _fit_in_child(X, queue):
    queue.put(rank_path(X, max_rank=5, random_state=0).losses)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_computes_the_same(large, method):
    expected = rank_path(large, max_rank=5, random_state=0).losses  # the pool of this process is in use
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(large, queue))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=120), expected)
    child.join()
