"""Values that are computed when they are first needed."""

from __future__ import annotations

import gc
import pickle
import weakref
from functools import partial
from threading import Thread

import pytest

from autonmf._types import Lazy, cached_property


class Source:
    """Something large that a value is computed from."""

    def __init__(self) -> None:
        self.calls = 0

    def compute(self) -> int:
        self.calls += 1
        return 42


def test_a_lazy_value_is_computed_once() -> None:
    source = Source()
    lazy = Lazy(source.compute)
    assert not lazy.is_known
    assert source.calls == 0
    assert lazy.value == lazy.value == 42
    assert lazy.is_known
    assert source.calls == 1


def test_what_it_was_computed_from_is_let_go() -> None:
    source = Source()
    lazy, alive = Lazy(source.compute), weakref.ref(source)
    del source
    gc.collect()
    assert alive() is not None
    assert lazy.value == 42
    gc.collect()
    assert alive() is None


def test_a_known_value_needs_no_computation() -> None:
    lazy = Lazy.known([1, 2])
    assert lazy.is_known
    assert lazy.value == [1, 2]


def test_an_error_is_raised_each_time() -> None:
    def fail() -> int:
        raise ValueError("not yet")

    lazy = Lazy(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            _ = lazy.value
    assert not lazy.is_known


def test_pickling_computes_it() -> None:
    copy = pickle.loads(pickle.dumps(Lazy(partial(sum, [40, 2]))))
    assert copy.is_known
    assert copy.value == 42


def test_threads_find_the_same_value() -> None:
    lazy, found = Lazy(object), []
    threads = [Thread(target=lambda: found.append(lazy.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert lazy.is_known
    assert lazy.value in found


def test_cached_properties() -> None:
    class Holder(Source):
        value = cached_property(Source.compute)

    holder = Holder()
    assert holder.value == holder.value == 42
    assert holder.calls == 1
    assert isinstance(Holder.value, cached_property)
