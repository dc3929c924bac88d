"""Parts of faces."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from autonmf._types import Array
from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.home import find, read
from autonmf.bench.order.images import presences, window
from autonmf.bench.order.noise import bounded, weakest

SIDE = 32


@drawn(
    "faces",
    "semi",
    hard="parts fade out, overlap their neighbours and differ in size and brightness",
    held_out=True,
)
def faces(rng: Generator) -> Instance:
    """Five to twenty round regions, each from a face of its own, in 300 to 600 images of 32 x 32."""
    images, rank = int(rng.integers(300, 601)), int(rng.integers(5, 21))
    textures, source = pictures(rank, rng)
    V = np.array(
        [
            picture * window(SIDE, centre, rng.uniform(2.5, 5.0))
            for picture, centre in zip(textures, centres(rank, rng), strict=True)
        ]
    ).T
    U = presences(images, rank, rng.uniform(0.2, 0.4), rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (images**0.5 + SIDE))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"{source}, noise {sigma:.2g}")


def pictures(size: int, rng: Generator) -> tuple[list[Array], str]:
    """Olivetti faces at half their resolution, or smooth textures; values in (0, 1]."""
    file = find("olivetti_faces.npz")
    if file is None:
        noise = [gaussian_filter(rng.standard_normal((SIDE, SIDE)), 2.0) for _ in range(size)]
        return [_stretched(picture.ravel()) for picture in noise], "generated textures"
    stored = read(file, "X").astype(np.float64)
    chosen = stored[rng.choice(len(stored), size, replace=False)]
    halved = chosen.reshape(size, SIDE, 2, SIDE, 2).mean(axis=(2, 4)).transpose(0, 2, 1)
    return [_stretched(picture.ravel()) for picture in halved], "parts of real faces (Olivetti)"


def centres(size: int, rng: Generator) -> list[tuple[float, float]]:
    """Places some pixels apart, the most distant of random candidates one after the other."""
    places = [rng.uniform(4.0, SIDE - 4.0, 2)]
    while len(places) < size:
        candidates = rng.uniform(4.0, SIDE - 4.0, (10, 2))
        nearest = np.linalg.norm(candidates[:, None] - np.array(places)[None], axis=2).min(axis=1)
        places.append(candidates[int(nearest.argmax())])
    return [(float(row), float(column)) for row, column in places]


def _stretched(picture: Array) -> Array:
    result: Array = 0.1 + 0.9 * (picture - picture.min()) / np.ptp(picture)
    return result
