"""Families to leave alone while a rule is designed."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from autonmf._types import Array
from autonmf.datasets.dataset import read_npz
from experiments.rank_benchmark.design import NOTHING, constant_mean, draw_shape
from experiments.rank_benchmark.factors import (
    Generator,
    bounded,
    edge,
    half_normal,
    mixtures,
    overdispersed,
    presences,
    speckle,
    unit_columns,
    weakest,
    window,
)
from experiments.rank_benchmark.families import Instance, drawn
from experiments.shared import find_file


@drawn(
    "correlated",
    "synthetic",
    hard="the first component explains nearly everything, the others share the rest",
    held_out=True,
)
def correlated(rng: Generator) -> Instance:
    """Three to eight features vectors at a cosine of 0.6 to 0.8 to each other, mixed by nearly pure rows."""
    n, m, rank = int(rng.integers(200, 401)), int(rng.integers(150, 301)), int(rng.integers(3, 9))
    cosine = rng.uniform(0.6, 0.8)
    common, own = unit_columns(half_normal(m, 1, rng)), unit_columns(half_normal(m, rank, rng))
    share = mixing_share(common, own, cosine)
    V = np.sqrt(m) * unit_columns(share * common + (1.0 - share) * own)
    U = mixtures(n, rank, 0.3, rng) * rng.lognormal(0.0, 0.3, (n, 1))
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"cosine {cosine:.2f}, noise {sigma:.2g}")


def mixing_share(common: np.ndarray, own: np.ndarray, cosine: float) -> float:
    """How much of the common vector gives this mean cosine, by bisection."""
    low, high = 0.0, 1.0
    above = np.triu_indices(own.shape[1], 1)
    for _ in range(40):
        share = 0.5 * (low + high)
        V = unit_columns(share * common + (1.0 - share) * own)
        low, high = (share, high) if (V.T @ V)[above].mean() < cosine else (low, share)
    return share


@drawn(
    "heavy-noise",
    "synthetic",
    hard="the weakest component barely rises above the edge of the noise",
    held_out=True,
)
def heavy_noise(rng: Generator) -> Instance:
    """Three to ten components, the weakest 1.1 to 1.6 times the spectral norm of the noise.

    (`edge` takes the strongest row and column for all, and is about 1.4 times that norm here.) The noise has
    mean zero: additive noise of this size, clipped, would be a component of its own.
    """
    n, m, rank = int(rng.integers(200, 501)), int(rng.integers(200, 401)), int(rng.integers(3, 11))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    M = U @ V.T
    scale = (weakest(U, V) / (rng.uniform(0.75, 1.05) * edge(M))) ** 2
    return Instance(overdispersed(M, scale, rng), rank, U, V, f"variance {scale:.2g} times the mean")


@drawn("nothing-normal", "synthetic", hard=NOTHING, held_out=True)
def normal_noise(rng: Generator) -> Instance:
    """Independent entries |N(0, 1)|."""
    return constant_mean(
        np.abs(rng.standard_normal(draw_shape(rng))), float(np.sqrt(2.0 / np.pi)), "absolute normal"
    )


@drawn(
    "tall",
    "synthetic",
    hard="few features: max_rank is near, and one more component adds as many unknowns as a row has",
    held_out=True,
)
def tall(rng: Generator) -> Instance:
    """Three to eight half-normal components in 30 to 50 features of 1000 to 1500 samples."""
    n, m, rank = int(rng.integers(1000, 1501)), int(rng.integers(30, 51)), int(rng.integers(3, 9))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"noise {sigma:.2g}")


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


TARGET = 1e4  # counts of every cell after scaling
PURE = 200  # cells that show what a programme looks like


@drawn(
    "cells",
    "semi",
    hard="most counts are zero, all programmes share a background, and the logarithm bends mixtures",
    held_out=True,
)
def cells(rng: Generator) -> Instance:
    """Four to twelve programmes over 500 to 1000 genes in 400 to 900 cells.

    Gamma-Poisson counts, each cell scaled to 10,000 and log(1 + x) taken. A programme raises 5 % of the
    genes above the background. V is the mean of many pure cells after the same treatment, U the usage: the
    mean of X is U Vᵀ only as far as cells are pure, since the logarithm of a mixture is no mixture of
    logarithms.
    """
    size, genes, rank = int(rng.integers(400, 901)), int(rng.integers(500, 1001)), int(rng.integers(4, 13))
    background = rng.lognormal(0.0, 1.2, genes)
    raised = rng.random((rank, genes)) < 0.05
    programmes = background * np.where(raised, rng.lognormal(2.5, 0.5, (rank, genes)), 1.0)
    programmes /= programmes.sum(axis=1, keepdims=True)
    depth = rng.uniform(2000.0, 5000.0)
    usage = mixtures(size, rank, 0.06, rng)
    X = expression(usage @ programmes, depth, rng)
    pure = np.eye(rank).repeat(PURE, axis=0)
    V = expression(pure @ programmes, depth, rng).reshape(rank, PURE, genes).mean(axis=1).T
    return Instance(X, rank, usage, V, f"{np.mean(X == 0):.0%} zeros, {depth:.0f} counts a cell")


def expression(profiles: Array, depth: float, rng: Generator) -> Array:
    """Counts of cells with these profiles, scaled and log-transformed."""
    depths = rng.lognormal(np.log(depth), 0.35, (len(profiles), 1))
    counted = rng.poisson(rng.gamma(5.0, depths * profiles / 5.0))
    result: Array = np.log1p(TARGET * counted / np.maximum(counted.sum(axis=1, keepdims=True), 1))
    return result


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
    file = find_file("olivetti_faces.npz")
    if file is None:
        noise = [gaussian_filter(rng.standard_normal((SIDE, SIDE)), 2.0) for _ in range(size)]
        return [_stretch(picture.ravel()) for picture in noise], "generated textures"
    stored = read_npz(file)["X"].astype(np.float64)
    chosen = stored[rng.choice(len(stored), size, replace=False)]
    halved = chosen.reshape(size, SIDE, 2, SIDE, 2).mean(axis=(2, 4)).transpose(0, 2, 1)
    return [_stretch(picture.ravel()) for picture in halved], "parts of real faces (Olivetti)"


def centres(size: int, rng: Generator) -> list[tuple[float, float]]:
    """Places some pixels apart, the most distant of random candidates one after the other."""
    places = [rng.uniform(4.0, SIDE - 4.0, 2)]
    while len(places) < size:
        candidates = rng.uniform(4.0, SIDE - 4.0, (10, 2))
        nearest = np.linalg.norm(candidates[:, None] - np.array(places)[None], axis=2).min(axis=1)
        places.append(candidates[int(nearest.argmax())])
    return [(float(row), float(column)) for row, column in places]


def _stretch(picture: Array) -> Array:
    result: Array = 0.1 + 0.9 * (picture - picture.min()) / np.ptp(picture)
    return result
