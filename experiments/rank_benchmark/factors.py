r"""Random factors, image parts, spectra and noise, from which families draw.

The noise keeps X nonnegative and adds no component of its own: :math:`\mathbb E X = M`. Gaussian noise
clipped at zero has a positive mean wherever M is small. That mean is a component like any other, and with few
components (many zeros in M) or strong noise it is larger than the noise's own spectral norm, so that "the
true rank" is no longer r*. Only the paper's generator and the families named after clipping clip. The noises
here have mean zero given M.

`visibility`, :math:`\sigma_{r^*}(M)/\|X-M\|_2`, measures how far the weakest component is above the noise.
For noise of constant variance σ², a component leaves a trace in the singular values of X from
:math:`\sigma_{r^*} > \sigma(nm)^{1/4}` on, while the edge of the noise is :math:`\sigma(\sqrt n+\sqrt m)`:
for a square matrix that is a visibility of one half, less for others (Benaych-Georges and Nadakuditi, 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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


def low_energy_last(rng: Generator) -> tuple[Array, Array, str]:
    """U, V of three to eight components, the last one or two of low energy, and a note.

    They have 10⁻³ to 10⁻² of the energy ‖U_j‖²‖V_j‖² of the first, which is positive everywhere: noise has
    room there.
    """
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(120, 301)), int(rng.integers(3, 9))
    last = 1 if rank == 3 else int(rng.integers(1, 3))
    norms = np.concatenate([[1.0], rng.uniform(0.5, 1.0, rank - 1)])
    norms[-last:] = np.sqrt(10.0 ** -rng.uniform(2.0, 3.0, last))
    U, V = positive_first(n, rank, rng), positive_first(m, rank, rng)
    note = f"{last} of low energy, {norms[-last:].min() ** 2:.2g} of the first"
    return np.sqrt(n * m) * norms * unit_columns(U), unit_columns(V), note


def positive_first(size: int, rank: int, rng: Generator) -> Array:
    """A first column with entries in [½, 3/2], half-normal others."""
    return np.hstack([rng.uniform(0.5, 1.5, (size, 1)), half_normal(size, rank - 1, rng)])


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


def limbs_of(positions: Sequence[int]) -> Array:
    """Pixels x parts: limbs around the centre of an image, each in its positions, a fan of sticks."""
    parts = []
    for limb, size in enumerate(positions):
        outwards = 2.0 * np.pi * limb / len(positions)
        joint = (round(17.5 + 6.0 * np.sin(outwards)), round(17.5 + 6.0 * np.cos(outwards)))
        width = np.pi / (len(positions) + 0.5)
        parts += [stick(36, joint, outwards + turn, 9.0) for turn in np.linspace(-width, width, size)]
    return np.array(parts).T


def poses(positions: Sequence[int], images: int | None, rng: Generator) -> Array:
    """Images x parts: each limb in one position, chosen at random (or, without a number, every combination).

    The columns of each limb have the same sum, the brightness of the image, so that the linear rank is the
    number of parts less that of limbs plus one. The nonnegative rank is the number of parts: no two limbs
    and positions can be seen in each other's place (a fooling set).
    """
    if images is None:
        chosen = np.indices(positions).reshape(len(positions), -1).T
    else:
        chosen = rng.integers(positions, size=(images, len(positions)))
    on = np.hstack([np.eye(size)[column] for size, column in zip(positions, chosen.T, strict=True)])
    brightness: Array = rng.uniform(0.5, 1.5, (len(on), 1)) * on
    return brightness


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


def negative_binomial(M: Array, dispersion: float, rng: Generator) -> Array:
    """Counts of mean M and variance M + M²/dispersion."""
    return counts(M * rng.gamma(dispersion, 1.0 / dispersion, M.shape), rng)


def symmetric(M: Array, noise: Array) -> Array:
    """Noise with a law symmetric around zero, cut at ±M: never below zero, never biased."""
    noisy: Array = M + np.clip(noise, -M, M)
    return noisy


def with_norm(noise: Array, norm: float) -> Array:
    """The noise with this spectral norm."""
    scaled: Array = noise * (norm / spectral_norm(noise))
    return scaled


def spectral_norm(noise: Array) -> float:
    """The largest singular value."""
    if not noise.any():
        return 0.0
    return float(svds(noise, k=1, return_singular_vectors=False, random_state=0)[0])


def weakest(U: Array, V: Array) -> float:
    """The weakest singular value of U Vᵀ: σ_r, or with linearly dependent parts the last that is not zero."""
    R_U, R_V = np.linalg.qr(U)[1], np.linalg.qr(V)[1]
    values = svdvals(R_U @ R_V.T)
    return float(values[values > 1e-10 * values[0]][-1])


def edge(variance: Array) -> float:
    """About the spectral norm of independent noise with these variances (one per entry)."""
    return float(np.sqrt(variance.sum(axis=1).max()) + np.sqrt(variance.sum(axis=0).max()))


def visibility(instance: Instance) -> float:
    """σ_r*(U Vᵀ) divided by the spectral norm of the noise X - U Vᵀ, both in comparable units."""
    X, U, V = comparable(instance)
    if U is None or V is None:
        return float("nan")
    return weakest(U, V) / max(spectral_norm(X - U @ V.T), 1e-300)


def comparable(instance: Instance) -> tuple[Any, Array | None, Array | None]:
    """X, U and V in units in which the noise of rows and columns is comparable."""
    X, U, V = instance.X, instance.U, instance.V
    if instance.units is None or U is None or V is None:
        return X, U, V
    rows, columns = instance.units
    return X / np.outer(rows, columns), U / rows[:, None], V / columns[:, None]


def dispersed(U: Array, V: Array, dispersion: float, rng: Generator) -> Instance:
    """Negative binomial counts of mean U Vᵀ; units: the totals of rows, the square roots of column means."""
    M = U @ V.T
    note = f"dispersion {dispersion:.1f}, {M.sum(axis=1).mean():.0f} counts a row"
    units = M.sum(axis=1), np.sqrt(M.mean(axis=0))
    return Instance(negative_binomial(M, dispersion, rng), U.shape[1], U, V, note, units)


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


def absorption_spectra(bands: int, rank: int, rng: Generator) -> Array:
    """Bands x rank: one smooth continuum in (0, 1], with two to four broad absorptions of each material."""
    x = np.linspace(0.0, 1.0, bands)
    continuum = 1.0 - rng.uniform(0.3, 0.6) * (x - rng.random()) ** 2
    spectra = np.tile(continuum[:, None], rank)
    for j in range(rank):
        for _ in range(int(rng.integers(2, 5))):
            centre, width = rng.random(), rng.uniform(0.02, 0.1)
            spectra[:, j] *= 1.0 - rng.uniform(0.1, 0.6) * np.exp(-0.5 * ((x - centre) / width) ** 2)
    return spectra


def emission_spectra(bands: int, rank: int, rng: Generator) -> Array:
    """Bands x rank: a common hump, and two to five lines of each material, narrow or broad."""
    x = np.linspace(0.0, 1.0, bands)
    spectra = np.tile(np.exp(-0.5 * ((x - rng.uniform(0.3, 0.7)) / 0.2) ** 2)[:, None], rank)
    for j in range(rank):
        for _ in range(int(rng.integers(2, 6))):
            height, width = rng.uniform(0.1, 0.6), 0.005 * 10.0 ** rng.random()
            spectra[:, j] += height * np.exp(-0.5 * ((x - rng.random()) / width) ** 2)
    return spectra


def collinear(draw: Callable[[int, int, Generator], Array], rng: Generator) -> Instance:
    """Four to six spectra with pairwise cosines above 0.95, mixed in 500 to 1500 pixels, at 20 to 40 dB.

    They are drawn again until the cosines are that large, and the weakest component is at least twice the
    edge of the noise.
    """
    pixels, bands, rank = int(rng.integers(500, 1501)), int(rng.integers(120, 201)), int(rng.integers(4, 7))
    while True:
        V = draw(bands, rank, rng)
        U = mixtures(pixels, rank, rng.uniform(0.15, 0.4), rng)
        U[U < PRESENT] = 0.0
        U *= rng.uniform(0.7, 1.3, (pixels, 1)) / U.sum(axis=1, keepdims=True)
        M = U @ V.T
        decibels = rng.uniform(20.0, 40.0)
        sigma = np.sqrt(np.mean(M**2)) * 10.0 ** (-decibels / 20.0)
        least = min(_cosine(a, b) for a in V.T for b in V.T)
        if least > 0.95 and weakest(U, V) > 2.0 * sigma * (pixels**0.5 + bands**0.5):
            note = f"cosines above {least:.3f}, {decibels:.0f} dB"
            return Instance(symmetric(M, sigma * rng.standard_normal(M.shape)), rank, U, V, note)


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
