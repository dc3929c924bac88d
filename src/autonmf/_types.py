"""Names for the types that travel between layers, and a property that is computed once."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """Without the lock that Python 3.11 shares among all instances of a class.

        Threads would wait for each other, and a child that is forked while one of them has it for ever.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))


Array: TypeAlias = NDArray[Any]
"""A floating-point array; factors are Fortran-ordered, so that a component is contiguous."""

Seed: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
"""What ``random_state`` may be."""
