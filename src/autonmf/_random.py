"""One way to turn ``random_state`` into a generator."""

from __future__ import annotations

import numpy as np

from autonmf._types import Seed


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
