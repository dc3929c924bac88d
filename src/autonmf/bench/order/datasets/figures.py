"""Stick figures like Swimmer's."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.images import presences, stick
from autonmf.bench.order.noise import counts

SIDE = 28


@drawn(
    "figures",
    "semi",
    hard="a limb has one position at a time: parts that exclude each other, dim Poisson images",
)
def figures(rng: Generator) -> Instance:
    """A torso and two to four limbs with two to four positions each, brightness of its own for each.

    A limb may be missing: with one always there, the nonnegative rank would exceed the linear one (16 and 13
    for Swimmer) and the torso would be spread over the positions of a limb.
    """
    limbs, positions = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    images = int(rng.integers(300, 601))
    torso = np.zeros((SIDE, SIDE))
    torso[10:18, 13:15] = 1.0
    joints = [(10, 11), (10, 16), (17, 11), (17, 16)]
    parts, U = [torso.ravel()], presences(images, 1 + limbs * positions, 1.0, rng)
    for limb in range(limbs):
        outwards = np.pi if limb % 2 == 0 else 0.0
        for position in range(positions):
            angle = outwards + (1 if limb % 2 == 0 else -1) * np.linspace(-1.2, 1.2, positions)[position]
            parts.append(stick(SIDE, joints[limb], angle, 9.0))
        chosen = np.where(rng.random(images) < 0.2, -1, rng.integers(positions, size=images))
        for position in range(positions):
            U[:, 1 + limb * positions + position] *= chosen == position
    V = rng.uniform(2.0, 6.0) * np.array(parts).T
    note = f"generated parts, {limbs} limbs in {positions} positions, {V.max():.1f} counts a pixel"
    return Instance(counts(U @ V.T, rng), len(parts), U, V, note)
