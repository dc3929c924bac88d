"""The families that a rule may be designed on: the paper's Table 1, and drawn ones.

A new family is a function with the decorator `drawn`.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
from scipy.ndimage import gaussian_filter1d

from autonmf._types import Array
from autonmf.datasets import make_low_rank
from autonmf.datasets.dataset import read_csr
from experiments.rank_benchmark.factors import (
    Generator,
    absorption_spectra,
    bounded,
    collinear,
    counts,
    dispersed,
    distinct,
    edge,
    half_normal,
    limbs_of,
    low_energy_last,
    mixtures,
    poses,
    positive_first,
    presences,
    real_spectra,
    rectangle,
    scene,
    smooth_spectrum,
    sparse_factor,
    speckle,
    stick,
    symmetric,
    unit_columns,
    visibility,
    weakest,
    with_norm,
)
from experiments.rank_benchmark.families import Family, Instance, drawn, register
from experiments.shared import find_file

SIZES = ((1000, 400), (1000, 800), (3000, 1000), (3000, 2000), (5000, 3000), (5000, 4000))
NOISES = (0.1, 0.3)
RANKS = (10, 20)


def table1(n: int, m: int, noise: float, rank: int, seed: int) -> Instance:
    """max(0, U Vᵀ + σE) with half-normal factors; the seed is that of `make_low_rank`."""
    X, U, V = make_low_rank(n, m, rank, noise, random_state=seed)
    return Instance(X, rank, U, V, f"noise {noise:g}")


for (n, m), noise, rank in product(SIZES, NOISES, RANKS):
    register(
        Family(
            f"paper-{n}x{m}-{noise:g}-r{rank}",
            "paper",
            partial(table1, n, m, noise, rank),
            "easy: components of equal energy, far above the noise",
            large=n > 1000,
        )
    )


@drawn("few", "synthetic", hard="one is an answer, too: rules that look at a change of slope cannot give it")
def few(rng: Generator) -> Instance:
    """One to three components, noise of a tenth to a half of the root mean square of the signal."""
    n, m, rank = int(rng.integers(80, 401)), int(rng.integers(80, 401)), int(rng.integers(1, 4))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    M = U @ V.T
    share = rng.uniform(0.1, 0.5)
    return Instance(
        bounded(M, share * np.sqrt(np.mean(M**2)), rng), rank, U, V, f"relative noise {share:.2f}"
    )


@drawn("small", "synthetic", hard="few entries: the noise alone explains sizeable drops of the loss")
def small(rng: Generator) -> Instance:
    """Two to six half-normal components, the weakest two to four times the edge of the noise."""
    n, m, rank = 60, 40, int(rng.integers(2, 7))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    sigma = weakest(U, V) / (rng.uniform(2.0, 4.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"noise {sigma:.2g}")


@drawn("many", "synthetic", hard="each component lowers the loss by a few hundredths, and the bound is near")
def many(rng: Generator) -> Instance:
    """Thirty or forty half-normal components, the weakest 1.5 to 3 times the edge of the noise."""
    n, m, rank = int(rng.integers(350, 601)), int(rng.integers(250, 401)), int(rng.choice([30, 40]))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"noise {sigma:.2g}")


@drawn(
    "energies",
    "synthetic",
    hard="the last component has 1/1000 to 1/10000 of the energy of the first: no elbow",
)
def energies(rng: Generator) -> Instance:
    """Norms ‖U_j‖‖V_j‖ from 1 down to 10^-1.5 ... 10^-2; the weakest 2 to 4 times the edge of the noise."""
    n, m, rank = int(rng.integers(200, 401)), int(rng.integers(150, 301)), int(rng.integers(4, 9))
    decades = rng.uniform(1.5, 2.0)
    norms = np.sqrt(n * m) * 10.0 ** -np.linspace(0.0, decades, rank)
    U, V = unit_columns(half_normal(n, rank, rng)) * norms, unit_columns(half_normal(m, rank, rng))
    sigma = weakest(U, V) / (rng.uniform(2.0, 4.0) * (n**0.5 + m**0.5))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"{decades:.1f} decades, noise {sigma:.2g}")


@drawn(
    "sparse",
    "synthetic",
    hard="a component covers one entry of X in a hundred, and noise grows with the signal",
)
def sparse(rng: Generator) -> Instance:
    """Five to fifteen components, gamma noise of relative standard deviation 0.4 to 0.8."""
    n, m, rank = int(rng.integers(250, 501)), int(rng.integers(200, 401)), int(rng.integers(5, 16))
    U, V = sparse_factor(n, rank, 0.1, rng), sparse_factor(m, rank, 0.1, rng)
    spread = rng.uniform(0.4, 0.8)
    return Instance(speckle(U @ V.T, spread**-2, rng), rank, U, V, f"relative noise {spread:.2f}")


@drawn("poisson", "synthetic", hard="the variance is the mean: strong rows and columns carry the most noise")
def poisson_counts(rng: Generator) -> Instance:
    """Three to ten components; the depth puts the weakest at 1.5 to 3 times the edge of the noise."""
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(100, 301)), int(rng.integers(3, 11))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    U *= rng.lognormal(0.0, 0.4, (n, 1))
    depth = (rng.uniform(1.5, 3.0) * edge(U @ V.T) / weakest(U, V)) ** 2
    U, V = np.sqrt(depth) * U, np.sqrt(depth) * V
    M = U @ V.T
    return Instance(counts(M, rng), rank, U, V, f"mean count {M.mean():.2g}")


@drawn(
    "clipped",
    "synthetic",
    hard="some rows have no component at all: what noise leaves there after clipping has a mean of its own",
)
def clipped(rng: Generator) -> Instance:
    """Two to eight components of the paper, noise of 0.02 to 0.3."""
    n, m = int(rng.integers(40, 400)), int(rng.integers(30, 200))
    rank, noise = int(rng.integers(2, 9)), float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.3]))
    X, U, V = make_low_rank(n, m, rank, noise, random_state=rng)
    return Instance(X, rank, U, V, f"noise {noise:g}")


@drawn(
    "clipped-one",
    "synthetic",
    hard="one component in rows of very different energy: clipped noise looks like a second one",
)
def clipped_one(rng: Generator) -> Instance:
    """max(0, u vᵀ + σE), rows lognormal(0, 1), one in five zero; σ 0.05 to 0.3 of the root mean square."""
    n, m = int(rng.integers(40, 401)), int(rng.integers(30, 201))
    U = rng.lognormal(0.0, 1.0, (n, 1)) * (rng.random((n, 1)) < 0.8)
    V = rng.uniform(0.2, 1.8, (m, 1)) if rng.random() < 0.5 else half_normal(m, 1, rng)
    M = U @ V.T
    share = rng.uniform(0.05, 0.3)
    noise = share * np.sqrt(np.mean(M**2)) * rng.standard_normal((n, m))
    return Instance(np.maximum(M + noise, 0.0), 1, U, V, f"relative noise {share:.2f}")


@drawn(
    "low-last",
    "synthetic",
    hard="the last components have 1/1000 to 1/100 of the energy of the first, in white noise",
)
def low_last(rng: Generator) -> Instance:
    """The weakest singular value is two to five times the spectral norm of normal noise."""
    U, V, note = low_energy_last(rng)
    above = rng.uniform(2.0, 5.0)
    noise = with_norm(rng.standard_normal((len(U), len(V))), weakest(U, V) / above)
    return Instance(symmetric(U @ V.T, noise), U.shape[1], U, V, f"{note}, {above:.1f} times the noise")


@drawn(
    "low-last-counts",
    "synthetic",
    hard="the last components have 1/1000 to 1/100 of the energy of the first, in counts",
)
def low_last_counts(rng: Generator) -> Instance:
    """Poisson counts whose depth puts the weakest at two to five times the edge of the noise."""
    U, V, note = low_energy_last(rng)
    above = rng.uniform(2.0, 5.0)
    V = (above * edge(U @ V.T) / weakest(U, V)) ** 2 * V
    return Instance(counts(U @ V.T, rng), U.shape[1], U, V, f"{note}, {above:.1f} times the noise")


@drawn(
    "geometric-tail", "synthetic", hard="ten to twenty components, each weaker by the same factor: no step"
)
def geometric_tail(rng: Generator) -> Instance:
    """Norms ‖U_j‖‖V_j‖ from 1 down to 10^-0.7 ... 10^-1.3, the weakest two to three times the noise."""
    n, m, rank = int(rng.integers(250, 451)), int(rng.integers(200, 351)), int(rng.integers(10, 21))
    decades = rng.uniform(0.7, 1.3)
    norms = np.sqrt(n * m) * 10.0 ** -np.linspace(0.0, decades, rank)
    U, V = unit_columns(positive_first(n, rank, rng)) * norms, unit_columns(positive_first(m, rank, rng))
    noise = with_norm(rng.standard_normal((n, m)), weakest(U, V) / rng.uniform(2.0, 3.0))
    return Instance(symmetric(U @ V.T, noise), rank, U, V, f"{decades:.1f} decades")


@drawn(
    "column-units",
    "synthetic",
    hard="columns in very different units, and noise with them: a few columns are nearly all of X",
)
def column_units(rng: Generator) -> Instance:
    """Three to ten half-normal components and noise, then each column times lognormal(0, 1.5)."""
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(80, 251)), int(rng.integers(3, 11))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    noise = with_norm(rng.standard_normal((n, m)), weakest(U, V) / rng.uniform(2.0, 4.0))
    units = rng.lognormal(0.0, 1.5, m)
    note = f"units from {units.min():.2g} to {units.max():.2g}"
    return Instance(symmetric(U @ V.T, noise) * units, rank, U, V * units[:, None], note, (np.ones(n), units))


@drawn("small-sides", "synthetic", hard="20 to 60 rows or columns: few singular values to know noise by")
def small_sides(rng: Generator) -> Instance:
    """Two to six half-normal components, the other side 20 to 500; the weakest 2 to 4 times the noise."""
    sides = int(rng.integers(20, 61)), int(rng.integers(20, 501))
    n, m = sides if rng.random() < 0.5 else sides[::-1]
    rank = int(rng.integers(2, 7))
    U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    above = rng.uniform(2.0, 4.0)
    noise = with_norm(rng.standard_normal((n, m)), weakest(U, V) / above)
    return Instance(symmetric(U @ V.T, noise), rank, U, V, f"{above:.1f} times the noise")


@drawn(
    "exact", "synthetic", hard="no noise at all: what is left is rounding, or a solver that has not converged"
)
def exact(rng: Generator) -> Instance:
    """One to eight components, half-normal or uniform in [0, 1], at 31 x 67 in one matrix of four."""
    n, m = (31, 67) if rng.random() < 0.25 else (int(rng.integers(25, 301)), int(rng.integers(25, 301)))
    rank = int(rng.integers(1, 9))
    if rng.random() < 0.5:
        U, V = half_normal(n, rank, rng), half_normal(m, rank, rng)
    else:
        U, V = rng.random((n, rank)), rng.random((m, rank))
    return Instance(U @ V.T, rank, U, V, "no noise")


@drawn(
    "dense-factors",
    "synthetic",
    hard="factors without zeros, weak noise: iterations converge slowly, components lag behind directions",
)
def dense_factors(rng: Generator) -> Instance:
    """Four to twelve components uniform in [0, 1]; noise of 0.2 to 10 % of the standard deviation of U Vᵀ."""
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(120, 301)), int(rng.integers(4, 13))
    U, V = rng.random((n, rank)), rng.random((m, rank))
    fraction = 10.0 ** rng.uniform(-2.7, -1.0)
    return Instance(bounded(U @ V.T, fraction * (U @ V.T).std(), rng), rank, U, V, f"noise {fraction:.3f}")


@drawn(
    "product-noise",
    "synthetic",
    hard="the variance of the noise is a row effect times a column effect, unlike that of the signal",
)
def product_noise(rng: Generator) -> Instance:
    """Three to eight components; standard deviations a_i b_j, both lognormal(0, 0.5)."""
    n, m, rank = int(rng.integers(150, 401)), int(rng.integers(120, 301)), int(rng.integers(3, 9))
    U, V = positive_first(n, rank, rng), positive_first(m, rank, rng)
    spread = rng.lognormal(0.0, 0.5, (n, 1)) * rng.lognormal(0.0, 0.5, m)
    above = rng.uniform(1.5, 3.0)
    noise = with_norm(spread * rng.standard_normal((n, m)), weakest(U, V) / above)
    return Instance(symmetric(U @ V.T, noise), rank, U, V, f"{above:.1f} times the noise")


NOTHING = "there is nothing beyond the mean, and the loss still falls at every rank"


def constant_mean(X: np.ndarray, mean: float, note: str) -> Instance:
    """Noise around a constant mean."""
    n, m = X.shape
    return Instance(X, 1, np.ones((n, 1)), np.full((m, 1), mean), note)


def draw_shape(rng: Generator) -> tuple[int, int]:
    """Sizes from 80 to 400."""
    return int(rng.integers(80, 401)), int(rng.integers(80, 401))


@drawn("nothing-uniform", "synthetic", hard=NOTHING)
def uniform_noise(rng: Generator) -> Instance:
    """Independent entries, uniform in [0, 1]."""
    return constant_mean(rng.random(draw_shape(rng)), 0.5, "uniform")


@drawn("nothing-poisson", "synthetic", hard=NOTHING)
def poisson_noise(rng: Generator) -> Instance:
    """Independent Poisson counts of one mean, between 1 and 10."""
    size, mean = draw_shape(rng), rng.uniform(1.0, 10.0)
    return constant_mean(rng.poisson(mean, size).astype(np.float64), mean, f"Poisson of mean {mean:.1f}")


@drawn("blocks", "semi", hard="rectangles overlap, and two of them may nearly be the same")
def blocks(rng: Generator) -> Instance:
    """Five to twenty rectangles in 300 to 700 images of 20 to 30 pixels squared."""
    images, side, rank = int(rng.integers(300, 701)), int(rng.integers(20, 31)), int(rng.integers(5, 21))
    V = np.array([rectangle(side, rng) for _ in range(rank)]).T
    U = presences(images, rank, rng.uniform(0.15, 0.35), rng)
    sigma = weakest(U, V) / (rng.uniform(1.5, 3.0) * (images**0.5 + side))
    return Instance(bounded(U @ V.T, sigma, rng), rank, U, V, f"generated parts, noise {sigma:.2g}")


FIGURE_SIDE = 28


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
    torso = np.zeros((FIGURE_SIDE, FIGURE_SIDE))
    torso[10:18, 13:15] = 1.0
    joints = [(10, 11), (10, 16), (17, 11), (17, 16)]
    parts, U = [torso.ravel()], presences(images, 1 + limbs * positions, 1.0, rng)
    for limb in range(limbs):
        outwards = np.pi if limb % 2 == 0 else 0.0
        for position in range(positions):
            angle = outwards + (1 if limb % 2 == 0 else -1) * np.linspace(-1.2, 1.2, positions)[position]
            parts.append(stick(FIGURE_SIDE, joints[limb], angle, 9.0))
        chosen = np.where(rng.random(images) < 0.2, -1, rng.integers(positions, size=images))
        for position in range(positions):
            U[:, 1 + limb * positions + position] *= chosen == position
    V = rng.uniform(2.0, 6.0) * np.array(parts).T
    note = f"generated parts, {limbs} limbs in {positions} positions, {V.max():.1f} counts a pixel"
    return Instance(counts(U @ V.T, rng), len(parts), U, V, note)


@drawn(
    "limbs",
    "semi",
    hard="every limb is in one of its positions: more parts than linear directions, as in Swimmer",
)
def limbs(rng: Generator) -> Instance:
    """Two to five limbs with two to five positions, in all combinations or a random choice; low noise."""
    positions = [int(rng.integers(2, 6))] * int(rng.integers(2, 6))
    every = 60 <= np.prod(positions) <= 700
    U = poses(positions, None if every else int(rng.integers(150, 601)), rng)
    V = limbs_of(positions)
    rank = V.shape[1]
    noise = with_norm(rng.standard_normal((len(U), len(V))), weakest(U, V) / rng.uniform(3.0, 8.0))
    note = (
        f"generated parts, {len(positions)} limbs in {positions[0]} positions, linear rank {linear_rank(U)}"
    )
    return Instance(symmetric(U @ V.T, noise), rank, U, V, note)


def linear_rank(U: Array) -> int:
    """The linear rank."""
    return int(np.linalg.matrix_rank(U))


@drawn(
    "collinear-spectra",
    "semi",
    hard="spectra at cosines above 0.95: the first direction has nearly all the energy, the others little",
)
def collinear_spectra(rng: Generator) -> Instance:
    """Four to six materials that differ by broad absorptions, at 20 to 40 dB."""
    return collinear(absorption_spectra, rng)


@drawn(
    "endmembers",
    "semi",
    hard="real spectra resemble each other, some are dark, and spectra vary from pixel to pixel",
)
def endmembers(rng: Generator) -> Instance:
    """Three to eight materials: those of Samson and Jasper Ridge that differ enough, and generated ones."""
    bands, rank = int(rng.integers(120, 199)), int(rng.integers(3, 9))
    real = distinct(real_spectra(bands), rng, rank)
    spectra = np.array([*real, *(smooth_spectrum(bands, rng) for _ in range(rank - len(real)))]).T
    return scene(spectra, rng, f"{len(real)} real and {rank - len(real)} generated spectra")


@drawn(
    "smooth-spectra",
    "semi",
    hard="smooth, overlapping spectra, few pure pixels, and spectra vary from pixel to pixel",
)
def smooth_spectra(rng: Generator) -> Instance:
    """Three to eight sums of Gaussians."""
    bands, rank = int(rng.integers(100, 201)), int(rng.integers(3, 9))
    return scene(np.array([smooth_spectrum(bands, rng) for _ in range(rank)]).T, rng, "generated spectra")


@drawn(
    "smooth-noise",
    "synthetic",
    hard="noise is correlated along each row, so that no law of independent noise tells where it begins",
)
def smooth_noise(rng: Generator) -> Instance:
    """Two to ten components; noise smoothed over 1 to 4 columns, the weakest component 1.5 to 4 times it."""
    n, m, rank = int(rng.integers(100, 501)), int(rng.integers(80, 301)), int(rng.integers(2, 11))
    U, V = positive_first(n, rank, rng), positive_first(m, rank, rng)
    noise = gaussian_filter1d(rng.standard_normal((n, m)), rng.uniform(1.0, 4.0), axis=1)
    above = rng.uniform(1.5, 4.0)
    X = symmetric(U @ V.T, with_norm(noise, weakest(U, V) / above))
    return Instance(X, rank, U, V, f"{above:.1f} times the noise")


@drawn(
    "varying-spectra",
    "semi",
    hard="spectra vary smoothly from sample to sample by more than the noise",
)
def varying_spectra(rng: Generator) -> Instance:
    """Two to eight spectra, with a smooth deviation per sample; the weakest is 1.5 to 4 times that."""
    samples, bands, rank = int(rng.integers(150, 501)), int(rng.integers(80, 251)), int(rng.integers(2, 9))
    V = np.array([smooth_spectrum(bands, rng) for _ in range(rank)]).T
    U = rng.gamma(0.5, 1.0, (samples, rank))
    M = U @ V.T
    curves = M * gaussian_filter1d(rng.standard_normal((samples, bands)), bands / 20, axis=1)
    above = rng.uniform(1.5, 4.0)
    X = symmetric(M, with_norm(curves, weakest(U, V) / above))
    X = bounded(X, 0.1 * float((X - M).std()), rng)
    return Instance(X, rank, U, V, f"{above:.1f} times the variation")


CHANNELS = 96


@drawn(
    "signatures",
    "semi",
    hard="Poisson counts, tumours with many more mutations than others, one flat signature",
)
def signatures(rng: Generator) -> Instance:
    """Three to ten signatures, one of them flat, each active in 30 to 60 % of 100 to 500 tumours.

    A spiky signature has most of its weight in five to fifteen channels, as most of the published ones do.
    """
    samples, rank = int(rng.integers(100, 501)), int(rng.integers(3, 11))
    U, V = tumours(samples, rank, rng)
    return Instance(counts(U @ V.T, rng), rank, U, V, f"about {U.sum(axis=1).mean():.0f} mutations a tumour")


def tumours(samples: int, rank: int, rng: Generator) -> tuple[Array, Array]:
    """Mutations of each signature in each tumour, and the signatures."""
    spiky = rng.dirichlet(np.full(CHANNELS, rng.uniform(0.08, 0.2)), rank - 1)
    V = np.vstack([spiky, rng.dirichlet(np.full(CHANNELS, 3.0))]).T
    burden = rng.uniform(1500.0, 4000.0)
    active = rng.random((samples, rank)) < rng.uniform(0.3, 0.6, rank)
    active[np.arange(samples), rng.integers(rank, size=samples)] = True
    U = (
        burden
        / rank
        * active
        * rng.lognormal(0.0, 0.7, (samples, rank))
        * rng.lognormal(0.0, 0.3, (samples, 1))
    )
    return U, V


@drawn(
    "dispersed-signatures",
    "semi",
    hard="negative binomial counts: large counts are the noisiest, and tumours differ in their totals",
)
def dispersed_signatures(rng: Generator) -> Instance:
    """Three to eight signatures in 150 to 500 tumours, variance μ + μ²/θ with θ from 2 to 20.

    Drawn again until the weakest component is at least 1.3 times the noise, in comparable units.
    """
    while True:
        samples, rank = int(rng.integers(150, 501)), int(rng.integers(3, 9))
        U, V = tumours(samples, rank, rng)
        U *= rng.lognormal(0.0, 0.5, (samples, 1))
        instance = dispersed(U, V, 2.0 * 10.0 ** rng.random(), rng)
        if visibility(instance) > 1.3:
            return instance


@drawn(
    "topics",
    "semi",
    hard="short documents, frequent terms that every topic uses, topics that share documents",
)
def topics(rng: Generator) -> Instance:
    """Four to fifteen topics over 500 to 1000 terms, in 400 to 1000 documents of 100 to 300 words.

    Topics are Dirichlet around the frequencies of the terms in the BBC news, or around Zipf's law.
    """
    documents, terms, rank = (
        int(rng.integers(400, 1001)),
        int(rng.integers(500, 1001)),
        int(rng.integers(4, 16)),
    )
    base, source = term_frequencies(terms)
    V = rng.dirichlet(np.maximum(rng.uniform(0.05, 0.1) * terms * base, 1e-3), rank).T
    lengths = rng.poisson(rng.uniform(100.0, 300.0), documents) + 20
    U = lengths[:, None] * mixtures(documents, rank, rng.uniform(0.1, 0.3), rng)
    X = np.array(
        [rng.multinomial(length, row / row.sum()) for length, row in zip(lengths, U @ V.T, strict=True)]
    )
    return Instance(X.astype(np.float64), rank, U, V, f"{source}, {lengths.mean():.0f} words a document")


def term_frequencies(terms: int) -> tuple[Array, str]:
    """The frequencies of the most frequent terms, and where they are from."""
    file = find_file("bbc_news.npz")
    if file is None:
        base, source = 1.0 / (np.arange(terms) + 10.0), "Zipf's law"
    else:
        totals = np.asarray(read_csr(file)[0].sum(axis=0)).ravel()
        base, source = np.sort(totals)[::-1][:terms], "real term frequencies (BBC)"
    return base / base.sum(), source
