"""A second reading of the evidence: the first rank beyond which X is white noise.

If the noise is white, structure ends where remainders fall to one and stay there. Nothing before can be the
rank then, however large a step some earlier component made: a faint last component is as real as the others.
"""

from __future__ import annotations

import numpy as np

from autonmf.selection.features import CLEAR_STEP, LIKE_NOISE, NO_STEP, Features

WHITE = (0.8, 1.05)
"""Remainders of white noise, which falls slowly as directions are taken from it ..."""

IN_A_ROW = 5
"""... at so many ranks, or to the last."""


def first_white(features: Features) -> int | None:
    """The first rank beyond which X is white noise, if it is not before; None if there is none."""
    low, high = WHITE
    reached = np.flatnonzero(features.remainder <= high)
    if reached.size == 0 or reached[0] == 0 or features.before[reached[0]] <= LIKE_NOISE:
        return None
    run = features.remainder[reached[0] : reached[0] + IN_A_ROW]
    noisy = np.ptp(run) > 0.0  # of data without noise nothing is left, and remainders are one by definition
    return int(reached[0]) + 1 if noisy and low <= run.min() and run.max() <= high else None


def ending_at(features: Features, rank: int) -> Features:
    """The features if structure ends at this rank: no step before it, its own at least the fall to noise."""
    at = rank - 1
    step = features.step.copy()
    step[:at] = np.log10(NO_STEP)
    fall = features.before[at] / features.remainder[at]
    step[at] = max(step[at], np.log10(np.clip(fall, NO_STEP, CLEAR_STEP)))
    return features._replace(step=step)
