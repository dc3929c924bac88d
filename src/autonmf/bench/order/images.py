"""Images as sums of parts."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.bench.order.factors import Generator


def rectangle(side: int, rng: Generator) -> Array:
    """An image with one filled rectangle, a fifth to a half of the side long and wide."""
    image = np.zeros((side, side))
    height, width = rng.integers(max(side // 5, 2), side // 2 + 1, size=2)
    top, left = rng.integers(side - height + 1), rng.integers(side - width + 1)
    image[top : top + height, left : left + width] = 1.0
    return image.ravel()


def stick(side: int, joint: tuple[int, int], angle: float, length: float) -> Array:
    """A straight limb from its joint (row, column) outwards, at an angle."""
    image = np.zeros((side, side))
    for step in np.arange(1.0, length + 0.5, 0.5):
        row, column = round(joint[0] + step * np.sin(angle)), round(joint[1] + step * np.cos(angle))
        if 0 <= row < side and 0 <= column < side:
            image[row, column] = 1.0
    return image.ravel()


def window(side: int, centre: tuple[float, float], width: float) -> Array:
    """A round window that fades out: zero beyond twice its width."""
    rows, columns = np.mgrid[:side, :side]
    squares = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2
    image = np.exp(-0.5 * squares / width**2)
    image[squares > (2.0 * width) ** 2] = 0.0
    result: Array = image.ravel()
    return result


def presences(size: int, rank: int, share: float, rng: Generator) -> Array:
    """Which part is how bright in which image: a share of them present, gamma brightness around one.

    Every image has a part.
    """
    on = rng.random((size, rank)) < share
    on[np.arange(size), rng.integers(rank, size=size)] = True
    return on * rng.gamma(4.0, 0.25, (size, rank))
