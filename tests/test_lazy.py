"""`Lazy`: a value that is computed once, when it is first needed."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import pytest

from autonmf._types import Lazy


@dataclass
class Counter:
    """Counts how often it is called."""

    calls: int = 0

    def __call__(self) -> list[int]:
        self.calls += 1
        return [7]


def test_it_is_computed_once_and_when_needed() -> None:
    counter = Counter()
    lazy = Lazy(counter)
    assert (counter.calls, lazy.is_known) == (0, False)
    assert lazy.value == [7]
    assert lazy.value is lazy.value
    assert (counter.calls, lazy.is_known) == (1, True)


@pytest.mark.parametrize("value", [None, 0, False, [7]])
def test_known_values(value: object) -> None:
    lazy = Lazy.known(value)
    assert lazy.is_known
    assert lazy.value is value


def test_none_is_a_value_too() -> None:
    calls = []
    lazy = Lazy(lambda: calls.append(1))
    assert [lazy.value, lazy.value] == [None, None]
    assert calls == [1]


def test_what_it_was_computed_from_is_let_go() -> None:
    counter = Counter()
    reference = weakref.ref(counter)
    lazy = Lazy(counter)
    del counter
    assert reference() is not None
    assert lazy.value == [7]
    gc.collect()
    assert reference() is None


def test_an_error_leaves_it_unknown() -> None:
    """Ctrl-C while a path is read: it can be read again."""
    outcomes = iter([KeyboardInterrupt, None])

    def compute() -> int:
        if error := next(outcomes):
            raise error
        return 7

    lazy = Lazy(compute)
    with pytest.raises(KeyboardInterrupt):
        _ = lazy.value
    assert not lazy.is_known
    assert lazy.value == 7


@pytest.mark.parametrize("known", [False, True])
def test_copies_hold_the_value(known: bool) -> None:
    """Functions cannot always be pickled: the value is computed before."""
    for duplicate in (lambda lazy: pickle.loads(pickle.dumps(lazy)), copy.copy, copy.deepcopy):
        counter = Counter()
        lazy = Lazy(lambda counter=counter: counter())
        if known:
            _ = lazy.value
        copied = duplicate(lazy)
        assert copied.is_known
        assert copied.value == lazy.value == [7]
        assert counter.calls == 1


def test_threads_may_compute_it_twice_but_none_fails() -> None:
    barrier = Barrier(4)
    lazy = Lazy(lambda: (barrier.wait(timeout=60), 7)[1])
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: lazy.value, range(4))) == [7] * 4
    assert lazy.value == 7
