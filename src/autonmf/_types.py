"""Names for the types that travel between layers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A floating-point array; factors are Fortran-ordered, so that a component is contiguous."""

Seed: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
"""What ``random_state`` may be."""
