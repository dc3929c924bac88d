"""Swimmer (Donoho and Stodden, 2003): stick figures with four limbs in four positions each."""

from __future__ import annotations

from itertools import product
from typing import Literal, overload

import numpy as np

from autonmf._types import Array

SIDE = 32  # pixels of a square image
LIMB = 5  # pixels of a limb, beyond its joint
TORSO_ROW = 15
# A limb starts at its joint (row, column) and points outwards, diagonally outwards, straight or inwards.
LIMBS = {
    "left leg": ((16, 10), [(0, -1), (1, -1), (1, 0), (1, 1)]),
    "left arm": ((14, 10), [(0, -1), (-1, -1), (-1, 0), (-1, 1)]),
    "right leg": ((16, 21), [(0, 1), (1, 1), (1, 0), (1, -1)]),
    "right arm": ((14, 21), [(0, 1), (-1, 1), (-1, 0), (-1, -1)]),
}


@overload
def load_swimmer(*, return_parts: Literal[False] = False) -> Array: ...
@overload
def load_swimmer(*, return_parts: Literal[True]) -> tuple[Array, Array]: ...
def load_swimmer(*, return_parts: bool = False) -> Array | tuple[Array, Array]:
    """The noise-free Swimmer images, built in code.

    Parameters
    ----------
    return_parts : bool
        Also return the 17 parts.

    Returns
    -------
    X : ndarray of shape (256, 1024)
        One image of 32 x 32 zeros and ones a row, every combination of the four limb positions.
    parts : ndarray of shape (17, 1024)
        The sixteen limb positions and the torso, which is in every image. ``X`` is the sum of five
        parts in each row. Its nonnegative rank is 16, since the torso can be spread over the four
        positions of a limb; its linear rank is 13.

    Examples
    --------
    >>> X, parts = load_swimmer(return_parts=True)
    >>> X.shape, int(X[0].sum()), len(parts)
    ((256, 1024), 36, 17)
    """
    limbs = [_limb(joint, way) for joint, ways in LIMBS.values() for way in ways]
    parts = np.array([*limbs, _torso()])
    # The first limb turns fastest.
    choices = np.array(list(product(range(4), repeat=4)))[:, ::-1] + 4 * np.arange(4)
    X = parts[choices].sum(axis=1) + parts[-1]
    return (X, parts) if return_parts else X


def _torso() -> Array:
    image = np.zeros((SIDE, SIDE))
    image[TORSO_ROW, 10:22] = 1.0
    for joint, _ in LIMBS.values():
        image[joint] = 1.0
    return image.ravel()


def _limb(joint: tuple[int, int], way: tuple[int, int]) -> Array:
    image = np.zeros((SIDE, SIDE))
    for step in range(1, LIMB + 1):
        image[joint[0] + step * way[0], joint[1] + step * way[1]] = 1.0
    return image.ravel()
