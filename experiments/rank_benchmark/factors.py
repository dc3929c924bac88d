r"""Random factors, image parts, spectra and noise, from which families draw.

The noise keeps X nonnegative and adds no component of its own: :math:`\mathbb E X = M`. Gaussian noise
clipped at zero has a positive mean wherever M is small. That mean is a component like any other, and with few
components (many zeros in M) or strong noise it is larger than the noise's own spectral norm, so that "the
true rank" is no longer r*. Only the paper's generator clips. The noises here have mean zero given M.

`visibility`, :math:`\sigma_{r^*}(M)/\|X-M\|_2`, measures how far the weakest component is above the noise.
For noise of constant variance σ², a component leaves a trace in the singular values of X from
:math:`\sigma_{r^*} > \sigma(nm)^{1/4}` on, while the edge of the noise is :math:`\sigma(\sqrt n+\sqrt m)`:
for a square matrix that is a visibility of one half, less for others (Benaych-Georges and Nadakuditi, 2012).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import svdvals
from scipy.ndimage import gaussian_filter1d
from scipy.sparse.linalg import svds

from autonmf._types import Array
from autonmf.datasets.dataset import read_npz
from experiments.rank_benchmark.families import Instance
from experiments.shared import find_file

Generator = np.random.Generator


def half_normal(size: int, rank: int, rng: Generator) -> Array:
    """max(0, N(0, 1)): the paper's factors, half their entries zero. Every row has a positive entry."""
    factor = np.maximum(rng.standard_normal((size, rank)), 0.0)
    empty = np.flatnonzero(factor.sum(axis=1) == 0)
    factor[empty, rng.integers(rank, size=len(empty))] = np.abs(rng.standard_normal(len(empty))) + 0.1
    return factor


def sparse_factor(size: int, rank: int, share: float, rng: Generator, *, least: int = 5) -> Array:
    """Positive entries in [½, 3/2], a given share of each column, the others zero."""
    kept = rng.random((size, rank)) < share
    for j in range(rank):
        kept[rng.choice(size, min(least, size), replace=False), j] = True
    return kept * rng.uniform(0.5, 1.5, (size, rank))


def mixtures(size: int, rank: int, concentration: float, rng: Generator) -> Array:
    """Rows on the simplex, from a symmetric Dirichlet law; small concentration: nearly pure rows."""
    return rng.dirichlet(np.full(rank, concentration), size)


def unit_columns(factor: Array) -> Array:
    """The factor with columns of unit norm."""
    scaled: Array = factor / np.linalg.norm(factor, axis=0)
    return scaled


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


def bounded(M: Array, sigma: float, rng: Generator) -> Array:
    """Uniform noise of standard deviation σ, narrower where M is small: never below zero, never biased."""
    noise: Array = np.minimum(M, np.sqrt(3.0) * sigma) * rng.uniform(-1.0, 1.0, M.shape)
    return M + noise


def speckle(M: Array, looks: float, rng: Generator) -> Array:
    """Gamma noise in proportion to M: relative standard deviation 1/√looks."""
    return M * rng.gamma(looks, 1.0 / looks, M.shape)


def overdispersed(M: Array, scale: float, rng: Generator) -> Array:
    """Gamma noise of mean M and variance scale · M: a continuous twin of counts."""
    return rng.gamma(np.maximum(M, 1e-12) / scale, scale)


def counts(M: Array, rng: Generator) -> Array:
    """Poisson counts of mean M."""
    return rng.poisson(M).astype(np.float64)


def weakest(U: Array, V: Array) -> float:
    """σ_r(U Vᵀ), the weakest of the r singular values."""
    R_U, R_V = np.linalg.qr(U)[1], np.linalg.qr(V)[1]
    return float(svdvals(R_U @ R_V.T)[-1])


def edge(variance: Array) -> float:
    """About the spectral norm of independent noise with these variances (one per entry)."""
    return float(np.sqrt(variance.sum(axis=1).max()) + np.sqrt(variance.sum(axis=0).max()))


def visibility(instance: Instance) -> float:
    """σ_r*(U Vᵀ) divided by the spectral norm of the noise X - U Vᵀ."""
    if instance.U is None or instance.V is None:
        return float("nan")
    noise = instance.X - instance.U @ instance.V.T
    largest = float(svds(noise, k=1, return_singular_vectors=False, random_state=0)[0])
    return weakest(instance.U, instance.V) / max(largest, 1e-300)


SCENES = ("samson.npz", "jasper_ridge.npz")
TWINS = 0.92  # cosine from which two spectra count as the same material
PRESENT = 0.05  # a smaller share of a pixel is none: a pixel has few materials


def real_spectra(bands: int) -> list[Array]:
    """The seven endmembers of Samson and Jasper Ridge, each stretched to this number of bands."""
    files = [file for name in SCENES if (file := find_file(name)) is not None]
    columns = [column for file in files for column in read_npz(file)["endmembers"].astype(np.float64).T]
    return [_stretch(column / column.max(), bands) for column in columns]


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


def _stretch(column: Array, bands: int) -> Array:
    return np.interp(np.linspace(0.0, 1.0, bands), np.linspace(0.0, 1.0, len(column)), column)
