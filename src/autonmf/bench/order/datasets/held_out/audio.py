"""Magnitude spectrograms of a few notes."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.noise import edge, speckle, weakest

FRAME = 1024  # samples at RATE, of which half and one are bins
RATE = 11025.0


@drawn(
    "audio",
    "semi",
    hard="notes share harmonics and sound together, low ones are louder, noise grows with the signal",
    held_out=True,
)
def audio(rng: Generator) -> Instance:
    """Three to ten harmonic stacks of different pitch, struck at random times, in 300 to 900 frames.

    The relative noise is such that the weakest component is well above the noise of the strongest.
    """
    frames, rank = int(rng.integers(300, 901)), int(rng.integers(3, 11))
    keys = rng.choice(36, rank, replace=False)
    V = np.array([harmonics(110.0 * 2.0 ** (key / 12.0), rng) for key in keys]).T
    U = np.array([strokes(frames, rng) for _ in range(rank)]).T * rng.uniform(0.5, 1.5, rank)
    M = U @ V.T
    looks = (rng.uniform(1.2, 2.0) * edge(M**2) / weakest(U, V)) ** 2
    return Instance(speckle(M, looks, rng), rank, U, V, f"generated notes, relative noise {looks**-0.5:.2f}")


def harmonics(pitch: float, rng: Generator) -> Array:
    """Up to twelve harmonics, of amplitudes that decay like 1/h to 1/h² and differ by chance."""
    bins = np.arange(FRAME // 2 + 1) * RATE / FRAME
    orders = np.arange(1, 13)
    orders = orders[orders * pitch < RATE / 2]
    heights = orders ** -rng.uniform(1.0, 2.0) * rng.lognormal(0.0, 0.4, len(orders))
    peaks = np.exp(-0.5 * ((bins[:, None] - orders * pitch) / 12.0) ** 2)
    result: Array = peaks @ heights
    return result


def strokes(frames: int, rng: Generator) -> Array:
    """On and off: a fast attack, an exponential decay, an end; ten strokes or more."""
    envelope = np.zeros(frames)
    for start in rng.integers(0, frames - 10, int(rng.integers(10, 21))):
        length = min(int(rng.integers(8, 31)), frames - start)
        decay = np.exp(-np.arange(length) / rng.uniform(10.0, 40.0))
        envelope[start : start + length] = np.maximum(
            envelope[start : start + length], rng.uniform(0.5, 1.5) * decay
        )
    return envelope
