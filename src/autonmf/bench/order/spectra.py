"""Reflectance spectra: real endmembers where the data home has them, sums of Gaussians elsewhere."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from autonmf._types import Array
from autonmf.bench.order.factors import Generator, mixtures
from autonmf.bench.order.family import Instance
from autonmf.bench.order.home import find, read
from autonmf.bench.order.noise import bounded, weakest

SCENES = ("samson.npz", "jasper_ridge.npz")
TWINS = 0.92  # cosine from which two spectra count as the same material
PRESENT = 0.05  # a smaller share of a pixel is none: a pixel has few materials


def real_spectra(bands: int) -> list[Array]:
    """The seven endmembers of Samson and Jasper Ridge, each stretched to this number of bands."""
    files = [file for name in SCENES if (file := find(name)) is not None]
    columns = [column for file in files for column in read(file, "endmembers").astype(np.float64).T]
    return [_stretched(column / column.max(), bands) for column in columns]


def smooth_spectrum(bands: int, rng: Generator) -> Array:
    """A weak continuum and three to six Gaussian features of random place, width and height, in [0, 1]."""
    x = np.linspace(0.0, 1.0, bands)
    spectrum = rng.uniform(0.0, 0.1) * (x if rng.random() < 0.5 else 1.0 - x)
    for _ in range(int(rng.integers(3, 7))):
        spectrum += rng.uniform(0.2, 1.0) * np.exp(-0.5 * ((x - rng.random()) / rng.uniform(0.02, 0.1)) ** 2)
    result: Array = spectrum / spectrum.max()
    return result


def distinct(spectra: list[Array], rng: Generator, size: int) -> list[Array]:
    """As many as possible in a random order, at most `size`, none too much like one before it."""
    kept: list[Array] = []
    for i in rng.permutation(len(spectra)):
        if len(kept) < size and all(_cosine(spectra[i], other) < TWINS for other in kept):
            kept.append(spectra[i])
    return kept


def scene(spectra: Array, rng: Generator, note: str) -> Instance:
    """Pixels that mix spectra (bands x r) by Dirichlet abundances, with spectral variability and noise.

    In each pixel each spectrum is multiplied by a smooth curve around one, of a standard deviation of 0.5 to
    2 %; the noise puts the weakest component at 2 to 5 times its edge. A pixel has few materials, and
    brightness varies from pixel to pixel: reflectance is nowhere zero, and full mixtures of such spectra are
    not unique.
    """
    bands, rank = spectra.shape
    pixels = int(rng.integers(400, 901))
    A = mixtures(pixels, rank, rng.uniform(0.2, 0.5), rng)
    A[A < PRESENT] = 0.0
    A *= rng.uniform(0.7, 1.3, (pixels, 1)) / A.sum(axis=1, keepdims=True)
    spread = rng.uniform(0.005, 0.02)
    M = np.zeros((pixels, bands))
    for j in range(rank):
        curves = gaussian_filter1d(rng.standard_normal((pixels, bands)), bands / 10, axis=1)
        M += A[:, [j]] * spectra[:, j] * np.maximum(1.0 + spread * curves / curves.std(), 0.0)
    sigma = weakest(A, spectra) / (rng.uniform(2.0, 5.0) * (pixels**0.5 + bands**0.5))
    note = f"{note}, variability {spread:.3f}, noise {sigma:.2g}"
    return Instance(bounded(M, sigma, rng), rank, A, spectra, note)


def _cosine(a: Array, b: Array) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def _stretched(column: Array, bands: int) -> Array:
    return np.interp(np.linspace(0.0, 1.0, bands), np.linspace(0.0, 1.0, len(column)), column)
