"""The number of threads, and a thread pool for large products.

BLAS threads spin while they wait, which on a busy machine, or beside another pool, costs far more than it
gains on matrices of the usual sizes. Inside `one_pool`, BLAS therefore uses one thread, and large products
are divided into blocks for a thread pool. Blocks do not depend on the number of threads, so neither do
results.

The pool has as many threads as BLAS was allowed to use: ``OMP_NUM_THREADS`` and similar variables,
``threadpoolctl`` limits, and the settings of joblib and Dask for their workers are respected.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _libraries() -> list[Any]:
    """A controller for each BLAS library in the process."""
    import scipy.linalg  # noqa: F401  SciPy has a BLAS of its own, which is found only once it is loaded

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: Iterable[int]) -> None:
    """Set the number of threads of each BLAS library, from any thread.

    Recent versions of threadpoolctl let only one thread change OpenBLAS: control is taken and released.
    """
    take_control = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    take_control(force=True)
    for library, number in zip(_libraries(), numbers, strict=True):
        library.set_num_threads(number)
    take_control(force=True)


def _cores() -> int:
    """The processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Pool:
    """The state shared by all callers in the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.callers = 0
        self.allowed: list[int] = []  # threads of each BLAS before the first caller came
        self.threads = 1
        self.executors: dict[int, ThreadPoolExecutor] = {}

    def enter(self) -> None:
        with self.lock:
            if self.callers == 0:
                self.allowed = [library.get_num_threads() for library in _libraries()]
                self.threads = max(1, min([_cores(), *self.allowed]))
                _set_threads(1 for _ in self.allowed)
            self.callers += 1

    def leave(self) -> None:
        with self.lock:
            self.callers -= 1
            if self.callers == 0:
                _set_threads(self.allowed)

    def workers(self) -> ThreadPoolExecutor:
        with self.lock:
            if self.threads not in self.executors:
                self.executors[self.threads] = ThreadPoolExecutor(self.threads, "autonmf")
            return self.executors[self.threads]


_pool = _Pool()


def _forget_pool() -> None:
    """Give a forked child a new pool, since it has none of the threads of its parent."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


@contextmanager
def one_pool() -> Iterator[None]:
    """Limit BLAS to one thread; the first caller sets the limit, and the last one to leave removes it."""
    pool = _pool
    pool.enter()
    try:
        yield
    finally:
        pool.leave()


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """``[function(item) for item in items]``, computed by the threads that this process may use."""
    return list(in_turn(function, items))


def in_turn(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The results of `each` as an iterator, so that they need not be in memory together."""
    items = list(items)
    if _pool.callers == 0 or _pool.threads == 1 or len(items) == 1:
        return map(function, items)
    return _pool.workers().map(function, items)
