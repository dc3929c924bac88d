"""Families to leave alone while a rule is designed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from autonmf._types import Array
from autonmf.datasets.dataset import read_npz
from experiments.rank_benchmark.design import (
    NOTHING,
    constant_mean,
    draw_shape,
    linear_rank,
    term_frequencies,
)
from experiments.rank_benchmark.factors import (
    Generator,
    bounded,
    collinear,
    counts,
    dispersed,
    edge,
    emission_spectra,
    half_normal,
    limbs_of,
    low_energy_last,
    mixtures,
    overdispersed,
    poses,
    positive_first,
    presences,
    sparse_factor,
    speckle,
    symmetric,
    unit_columns,
    visibility,
    weakest,
    window,
    with_norm,
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


@drawn(
    "low-last-rows",
    "synthetic",
    hard="the last components have 1/1000 to 1/100 of the energy of the first, and rows differ in noise",
    held_out=True,
)
def low_last_rows(rng: Generator) -> Instance:
    """The weakest is two to five times the norm of noise whose rows have scales lognormal(0, 0.5)."""
    U, V, note = low_energy_last(rng)
    above = rng.uniform(2.0, 5.0)
    noise = rng.lognormal(0.0, 0.5, (len(U), 1)) * rng.standard_normal((len(U), len(V)))
    X = symmetric(U @ V.T, with_norm(noise, weakest(U, V) / above))
    return Instance(X, U.shape[1], U, V, f"{note}, {above:.1f} times the noise")


@drawn(
    "low-last-speckle",
    "synthetic",
    hard="the last components have 1/1000 to 1/100 of the energy of the first, in multiplicative noise",
    held_out=True,
)
def low_last_speckle(rng: Generator) -> Instance:
    """Gamma noise in proportion to the signal; the weakest is two to five times its edge."""
    U, V, note = low_energy_last(rng)
    M, above = U @ V.T, rng.uniform(2.0, 5.0)
    looks = (above * edge(M**2) / weakest(U, V)) ** 2
    return Instance(speckle(M, looks, rng), U.shape[1], U, V, f"{note}, relative noise {looks**-0.5:.2f}")


@drawn(
    "power-tail",
    "synthetic",
    hard="norms fall like a power of the index, in counts: the tail is long and flat",
    held_out=True,
)
def power_tail(rng: Generator) -> Instance:
    """Eight to twenty components, norms j^-0.5 to j^-1, the weakest about two to three times the noise."""
    n, m, rank = int(rng.integers(250, 451)), int(rng.integers(200, 351)), int(rng.integers(8, 21))
    power = rng.uniform(0.5, 1.0)
    norms = np.arange(1.0, rank + 1.0) ** -power
    U, V = unit_columns(half_normal(n, rank, rng)) * norms, unit_columns(half_normal(m, rank, rng))
    V *= (rng.uniform(1.4, 2.2) * edge(U @ V.T) / weakest(U, V)) ** 2
    return Instance(counts(U @ V.T, rng), rank, U, V, f"norms j^-{power:.2f}")


@drawn(
    "feature-units",
    "synthetic",
    hard="columns in very different units, rows of different size, and noise that grows with the signal",
    held_out=True,
)
def feature_units(rng: Generator) -> Instance:
    """Three to ten sparse components mixed by nearly pure rows, gamma noise, columns times lognormal(0, 1.5).

    The variance is in proportion to the mean before the columns are scaled.
    """
    n, m, rank = int(rng.integers(200, 501)), int(rng.integers(60, 201)), int(rng.integers(3, 11))
    U = mixtures(n, rank, 0.3, rng) * rng.lognormal(0.0, 0.5, (n, 1))
    V = sparse_factor(m, rank, 0.5, rng)
    M = U @ V.T
    scale = (weakest(U, V) / (rng.uniform(1.5, 2.5) * edge(M))) ** 2
    units = rng.lognormal(0.0, 1.5, m)
    X = overdispersed(M, scale, rng) * units
    note = f"units from {units.min():.2g} to {units.max():.2g}"
    return Instance(X, rank, U, V * units[:, None], note, (np.ones(n), units))


@drawn(
    "small-counts",
    "synthetic",
    hard="20 to 60 rows or columns of counts: few singular values to know noise by",
    held_out=True,
)
def small_counts(rng: Generator) -> Instance:
    """Two to six sparse components, the other side 20 to 500; the weakest about 2 to 4 times the noise."""
    sides = int(rng.integers(20, 61)), int(rng.integers(20, 501))
    n, m = sides if rng.random() < 0.5 else sides[::-1]
    rank = int(rng.integers(2, 7))
    U, V = sparse_factor(n, rank, 0.5, rng), sparse_factor(m, rank, 0.5, rng)
    V *= (rng.uniform(1.5, 3.0) * edge(U @ V.T) / weakest(U, V)) ** 2
    M = U @ V.T
    return Instance(counts(M, rng), rank, U, V, f"mean count {M.mean():.2g}")


@drawn(
    "exact-integers",
    "synthetic",
    hard="no noise: small integers, many of them equal, and a rank of one among the answers",
    held_out=True,
)
def exact_integers(rng: Generator) -> Instance:
    """One to eight components of small integers, half of them zero; drawn again until of full linear rank."""
    n, m, rank = int(rng.integers(25, 201)), int(rng.integers(25, 201)), int(rng.integers(1, 9))
    while True:
        U, V = (np.floor(3.0 * half_normal(size, rank, rng)) for size in (n, m))
        if linear_rank(U @ V.T) == rank:
            return Instance(U @ V.T, rank, U, V, "no noise")


@drawn(
    "clipped-columns",
    "synthetic",
    hard="one or two components in columns of very different energy: clipped noise looks like another",
    held_out=True,
)
def clipped_columns(rng: Generator) -> Instance:
    """max(0, U Vᵀ + σE), columns times lognormal(0, 0.8); σ 0.05 to 0.25 of the root mean square."""
    n, m, rank = int(rng.integers(60, 401)), int(rng.integers(60, 301)), int(rng.integers(1, 3))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng) * rng.lognormal(0.0, 0.8, (m, 1))
    M = U @ V.T
    share = rng.uniform(0.05, 0.25)
    noise = share * np.sqrt(np.mean(M**2)) * rng.standard_normal((n, m))
    return Instance(np.maximum(M + noise, 0.0), rank, U, V, f"relative noise {share:.2f}")


@drawn(
    "autoregressive",
    "synthetic",
    hard="neighbouring columns have correlated noise, which no law of independent noise fits: be unsure",
    held_out=True,
)
def autoregressive(rng: Generator) -> Instance:
    """Three to eight components, noise AR(1) along each row (0.2 to 0.5), the weakest 1.5 to 3 times it."""
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(120, 301)), int(rng.integers(3, 9))
    U, V = positive_first(n, rank, rng), positive_first(m, rank, rng)
    correlation = rng.uniform(0.2, 0.5)
    noise = rng.standard_normal((n, m))
    for j in range(1, m):
        noise[:, j] = correlation * noise[:, j - 1] + np.sqrt(1.0 - correlation**2) * noise[:, j]
    above = rng.uniform(1.5, 3.0)
    X = symmetric(U @ V.T, with_norm(noise, weakest(U, V) / above))
    return Instance(X, rank, U, V, f"correlation {correlation:.2f}, {above:.1f} times the noise")


@drawn(
    "drifting-peaks",
    "semi",
    hard="the peaks of a spectrum shift a little from sample to sample: more than one direction each",
    held_out=True,
)
def drifting_peaks(rng: Generator) -> Instance:
    """Two to seven spectra of emission lines, shifted by a standard deviation of 0.1 to 0.3 bands."""
    samples, bands, rank = int(rng.integers(150, 501)), int(rng.integers(120, 301)), int(rng.integers(2, 8))
    V, U = emission_spectra(bands, rank, rng), rng.gamma(0.5, 1.0, (samples, rank))
    V = gaussian_filter1d(V, 3.0, axis=0)
    shift = rng.uniform(0.1, 0.3)
    slopes = np.gradient(V, axis=0)
    M = np.maximum((U @ V.T) + (U * shift * rng.standard_normal((samples, rank))) @ slopes.T, 0.0)
    sigma = weakest(U, V) / (rng.uniform(5.0, 20.0) * (samples**0.5 + bands**0.5))
    return Instance(bounded(M, sigma, rng), rank, U, V, f"shifts of {shift:.2f} bands, noise {sigma:.2g}")


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


@drawn(
    "uneven-limbs",
    "semi",
    hard="every limb is in one of its positions, as many as it likes: more parts than linear directions",
    held_out=True,
)
def uneven_limbs(rng: Generator) -> Instance:
    """Two to four limbs with two to five positions each, in 200 to 600 Poisson images of 10 to 40 counts."""
    positions = [int(size) for size in rng.integers(2, 6, size=int(rng.integers(2, 5)))]
    U, V = poses(positions, int(rng.integers(200, 601)), rng), rng.uniform(10.0, 40.0) * limbs_of(positions)
    note = f"generated parts, limbs in {positions} positions, linear rank {linear_rank(U)}"
    return Instance(counts(U @ V.T, rng), V.shape[1], U, V, note)


@drawn(
    "bars",
    "semi",
    hard="all horizontal bars together are all vertical ones: more parts than linear directions",
    held_out=True,
)
def bars(rng: Generator) -> Instance:
    """Two to six horizontal and as many or other vertical bars, each in a fifth to a third of the images.

    The nonnegative rank is the number of bars (a fooling set), the linear one is one less.
    """
    across, down = (int(size) for size in rng.integers(2, 7, size=2))
    thick, images = int(rng.integers(2, 5)), int(rng.integers(200, 501))
    grid = np.vstack([np.kron(np.eye(across), np.ones(down)), np.kron(np.ones(across), np.eye(down))])
    V = grid.repeat(thick**2, axis=1).T
    U = presences(images, across + down, rng.uniform(0.2, 0.33), rng)
    sigma = weakest(U, V) / (rng.uniform(3.0, 6.0) * (images**0.5 + len(V) ** 0.5))
    note = f"generated parts, {across} and {down} bars, linear rank {linear_rank(V)}, noise {sigma:.2g}"
    return Instance(bounded(U @ V.T, sigma, rng), across + down, U, V, note)


@drawn(
    "collinear-lines",
    "semi",
    hard="spectra at cosines above 0.95, lines on a common background: the first direction has most energy",
    held_out=True,
)
def collinear_lines(rng: Generator) -> Instance:
    """Four to six materials that differ by emission lines, narrow or broad, at 20 to 40 dB."""
    return collinear(emission_spectra, rng)


@drawn(
    "dispersed-topics",
    "semi",
    hard="negative binomial counts of words: frequent words are the noisiest, documents differ in length",
    held_out=True,
)
def dispersed_topics(rng: Generator) -> Instance:
    """Three to ten topics over 300 to 600 terms in 300 to 700 documents, variance μ + μ²/θ, θ from 2 to 20.

    Drawn again until the weakest component is at least 1.3 times the noise, in comparable units.
    """
    while True:
        documents, terms, rank = (
            int(rng.integers(300, 701)),
            int(rng.integers(300, 601)),
            int(rng.integers(3, 11)),
        )
        base, source = term_frequencies(terms)
        V = rng.dirichlet(np.maximum(rng.uniform(0.05, 0.1) * terms * base, 1e-3), rank).T
        lengths = rng.lognormal(np.log(rng.uniform(200.0, 600.0)), 0.6, (documents, 1))
        U = lengths * mixtures(documents, rank, rng.uniform(0.1, 0.3), rng)
        instance = dispersed(U, V, 2.0 * 10.0 ** rng.random(), rng)
        if visibility(instance) > 1.3:
            return replace(instance, note=f"{source}, {instance.note}")


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
