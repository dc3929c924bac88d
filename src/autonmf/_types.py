"""Common types, lazy values, random generators, and checks of parameter names."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """`functools.cached_property` without the lock that Python 3.11 shares among all instances.

        With it, threads would wait for each other, and a child that is forked while it is held, for ever.
        """

        def __init__(self, func: Any) -> None:
            super().__init__(func)
            self.lock = nullcontext()


Value = TypeVar("Value")

Array: TypeAlias = NDArray[Any]
"""A floating-point array; factors are Fortran-ordered, so that a component is contiguous."""

Seed: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
"""What ``random_state`` may be."""


class Lazy(Generic[Value]):
    """A value that is computed when it is first needed, perhaps by two threads at once."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute

    @staticmethod
    def known(value: Value) -> Lazy[Value]:
        """A value that is already known."""
        lazy = Lazy(lambda: value)
        _ = lazy.value
        return lazy

    @property
    def is_known(self) -> bool:
        """Whether it is already computed."""
        return self._compute is None

    @property
    def value(self) -> Value:
        """The value."""
        compute = self._compute
        if compute is not None:
            self._value = compute()
            self._compute = None  # free what it was computed from
        return self._value

    def __getstate__(self) -> dict[str, Any]:
        return {"_compute": None, "_value": self.value}


def check_parameters(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an unknown parameter, and suggest a known one."""
    from difflib import get_close_matches

    known = list(known)
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"do you mean {near[0]}?" if near else f"its parameters are {', '.join(known)}"
            raise TypeError(f"{function} has no parameter {name!r}: {hint}")


def as_generator(random_state: Seed) -> np.random.Generator:
    """A NumPy generator from an int, a generator, a legacy ``RandomState`` or None.

    A ``RandomState`` is advanced by one draw, so that repeated calls differ, as users of
    scikit-learn expect.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state must be a nonnegative int, a NumPy generator or None, got {random_state!r}"
    )
