"""The features of a rank against a slow computation by their definitions, with the rule's fixed numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import rank_path
from autonmf.data.noise import WhitenedSpectrum
from autonmf.datasets import make_low_rank
from autonmf.path import Evidence
from autonmf.selection.features import Features, compute_features

# The rule's numbers, written out: a rule with others is another rule.
FLOOR, NEGLIGIBLE, HIGH_RANK = 0.25, 1e-6, 25
ELBOW_RANGE = 0.8
EXACT = 1e-9
NOISE_LIMIT, FIRST, LAG = 1.3, 10.0, 2.0


def random_evidence(seed: int, largest: int, *, gaps: bool = False) -> Evidence:
    """A made-up path: noisy losses, an elbow somewhere, a spectrum with a few values more than ranks."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, largest + 1)
    if gaps:
        ranks = np.unique(np.append(rng.choice(ranks, max(largest // 2, 1), replace=False), largest))
    elbow = rng.integers(1, largest + 1)

    def spectrum() -> np.ndarray:
        values = np.sort(rng.random(largest + 5))[::-1] * np.where(np.arange(largest + 5) < elbow, 20.0, 1.0)
        return rng.uniform(0.6, 0.95) * values / values.sum()

    def losses(spectrum: np.ndarray) -> np.ndarray:
        best = 1.0 - np.cumsum(spectrum)[ranks - 1]
        return np.minimum(best * rng.uniform(1.0, 1.2, len(ranks)), 1.0)

    shape, of_Y = (2 * largest + 30, largest + 10), spectrum()
    return Evidence(shape, ranks, losses(of_Y), of_Y, WhitenedSpectrum(shape, spectrum(), seed % 2 == 1))


def slow_losses(evidence: Evidence, losses: np.ndarray, spectrum: np.ndarray) -> list[float]:
    """ℓ₀ = 1, the visited ones, straight between them; ℓ₁, if need be, and one more by the spectrum."""
    known = {0: 1.0, 1: 1.0 - spectrum[0]}
    known |= {int(k): float(loss) for k, loss in zip(evidence.ranks, losses, strict=True)}
    result: list[float] = []
    for k in range(int(evidence.ranks[-1]) + 1):
        below = max(j for j in known if j <= k)
        above = min(j for j in known if j >= k)
        part = (k - below) / (above - below) if above > below else 0.0
        value = known[below] + part * (known[above] - known[below])
        result.append(min([value, *result]))
    beyond = spectrum[len(result) - 1] if len(spectrum) >= len(result) else 0.0
    return [*result, result[-1] - beyond]


def drops_of(losses: list[float]) -> list[float]:
    """d₁, d₂, ... up to one beyond the largest rank."""
    return [before - after for before, after in pairwise(losses)]


def at(values: np.ndarray, index: int) -> float:
    return float(values[index]) if index < len(values) else 0.0


def slow_drop_ratios(drops: list[float], spectrum: np.ndarray) -> list[float]:
    largest = len(drops) - 1
    floor = FLOOR * at(spectrum, largest - 1) + NEGLIGIBLE
    ratios = []
    for k in range(1, largest + 1):
        if k < HIGH_RANK:
            ratios.append((drops[k - 1] + floor) / (drops[k] + floor))
        else:
            ratios.append((at(spectrum, k - 1) + floor) / (at(spectrum, k) + floor))
    return ratios


def slow_edge(n: int, m: int) -> float:
    """The 95 % quantile of the largest squared singular value of noise, by Johnstone's (2001) constants."""
    a, b = math.sqrt(n - 0.5), math.sqrt(m - 0.5)
    return (a + b) ** 2 + 0.98 * (a + b) * (1 / a + 1 / b) ** (1 / 3)


def slow_linear_ratio(whitened: WhitenedSpectrum, k: int) -> float:
    """σ²_{k+1} over the edge of the noise that k directions leave; zero where nothing is left."""
    n, m = whitened.shape[0] - k, whitened.shape[1] - k
    left = 1.0 - sum(whitened.squares[:k])
    if left <= EXACT or min(n, m) <= 0:
        return 0.0
    return at(whitened.squares, k) / (left / (n * m) * slow_edge(n, m))


def slow_noise_ratios(evidence: Evidence, drops: list[float]) -> list[float]:
    """After 0, 1, ... components: by directions or, from the first that is noise on, by components."""
    largest = len(drops) - 1
    ratios = [slow_linear_ratio(evidence.whitened, k) for k in range(largest + 1)]
    known = len(evidence.whitened.squares)
    first = next((k for k in range(known) if slow_linear_ratio(evidence.whitened, k) <= 1.0), known)
    for k in range(max(first, 1), min(largest + 1, HIGH_RANK)):
        lag = drops[k] / max(at(evidence.spectrum, k), NEGLIGIBLE) / LAG
        ratios[k] = max(ratios[k], lag)
    return [max(ratios[0], FIRST) if evidence.whitened.clipped else ratios[0], *ratios[1:]]


def slow_falls(ratios: list[float]) -> list[float]:
    """Decades from each noise ratio to the next, where that is noise: below 1 it is, above 1.3 not.

    Where it first falls below 1.3 they are 0.2 at least.
    """
    falls, reached = [], False
    for before, after in pairwise(ratios):
        part = min(max((NOISE_LIMIT - after) / (NOISE_LIMIT - 1.0), 0.0), 1.0)
        fall = part * max(math.log10(max(before, 1.0)) - math.log10(max(after, 1.0)), 0.0)
        crosses = before > NOISE_LIMIT >= after
        falls.append(max(fall, 0.2) if crosses and not reached else fall)
        reached |= crosses
    return falls


def line_misfit(ranks: list[int], heights: list[float]) -> float:
    """Σ (1/k)(height - line)² about the line that NumPy fits with these weights."""
    if len(ranks) <= 2:
        return 0.0
    weights = 1.0 / np.array(ranks)
    line = np.polyfit(ranks, heights, 1, w=np.sqrt(weights))
    return float(np.sum(weights * (np.array(heights) - np.polyval(line, ranks)) ** 2))


def slow_elbow_fits(drops: list[float]) -> dict[int, float]:
    """The elbow fit at each rank that has one; ``drops`` has one for each rank."""
    ranks = list(range(2, int(ELBOW_RANGE * len(drops)) + 1))
    heights = [math.sqrt(drops[k - 1]) for k in ranks]
    highest = max(heights)
    heights = [height / highest for height in heights]
    total = sum(1.0 / k for k in ranks)
    fits = {}
    for i in range(1, len(ranks) - 1):
        misfit = line_misfit(ranks[:i], heights[:i]) + line_misfit(ranks[i:], heights[i:])
        fits[ranks[i - 1]] = -0.5 * math.log10(misfit / total + 0.01**2)
    return fits


def check_all_but_elbows(evidence: Evidence, features: Features) -> None:
    largest = int(evidence.ranks[-1])
    losses = slow_losses(evidence, evidence.losses, evidence.spectrum)
    drops = drops_of(losses)
    assert_array_equal(features.rank, np.arange(1, largest + 1))
    assert_allclose(features.loss, np.maximum(losses[1:-1], 0.0), rtol=1e-12)
    assert_allclose(features.drop, drops[:-1], atol=1e-14)
    assert_allclose(features.drop_ratio, slow_drop_ratios(drops, evidence.spectrum), rtol=1e-6)
    ratios = slow_noise_ratios(evidence, drops)
    assert_allclose(features.noise_ratio, ratios[1:], rtol=1e-9)
    assert_allclose(features.noise_ratio_before, ratios[:-1], rtol=1e-9)
    assert_allclose(features.fall, slow_falls(ratios), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("largest", [1, 2, 3, 5, 8, 20, 24, 25, 26, 40, 50])
def test_features_by_their_definitions(largest: int, gaps: bool) -> None:
    for seed in range(5):
        evidence = random_evidence(seed, largest, gaps=gaps)
        check_all_but_elbows(evidence, compute_features(evidence))


@pytest.mark.parametrize("largest", [8, 9, 10, 20, 33, 50])
def test_elbow_fits_by_the_lines_that_numpy_fits(largest: int) -> None:
    for seed in range(5):
        evidence = random_evidence(seed, largest)
        features = compute_features(evidence)
        expected = slow_elbow_fits(features.drop.tolist())
        least = min(expected.values())
        assert_allclose(features.elbow, [expected.get(k, least) for k in features.rank], rtol=1e-7)


@pytest.mark.parametrize("shape", [(12, 12), (12, 30), (30, 12), (13, 13), (14, 13)])
def test_as_many_ranks_as_rows_or_columns(shape: tuple[int, int]) -> None:
    """Beyond as many directions as rows or columns nothing is left."""
    for seed in range(3):
        evidence = random_evidence(seed, 12)
        whitened = WhitenedSpectrum(shape, evidence.whitened.squares)
        evidence = replace(evidence, shape=shape, whitened=whitened)
        check_all_but_elbows(evidence, compute_features(evidence))
        assert (whitened.ratios[min(shape) :] == 0.0).all()


def test_features_of_real_paths(low_rank: np.ndarray) -> None:
    for X in (low_rank, make_low_rank(40, 90, rank=8, noise=0.5, random_state=1)[0]):
        evidence = rank_path(X, equilibrate=True, random_state=0).evidence
        assert evidence is not None
        check_all_but_elbows(evidence, compute_features(evidence))
        assert compute_features(evidence).elbow.argmax() + 1 in evidence.ranks


def test_two_lines_fit_where_they_meet() -> None:
    """Roots of the drops on two lines that part after rank 6: they fit there, and nowhere else."""
    k = np.arange(1, 21)
    heights = np.where(k <= 6, 1.0 - 0.1 * k, 0.2 - 0.008 * k)
    drops = heights**2 / np.sum(heights**2) * 0.9
    losses = 1.0 - np.cumsum(drops)
    fits = compute_features(Evidence((60, 50), k, losses, drops, WhitenedSpectrum((60, 50), drops))).elbow
    assert fits.argmax() + 1 == 6
    assert_allclose(fits[5], 2.0, rtol=1e-3)
    assert np.delete(fits, 5).max() < 1.9


def test_a_drop_before_none_is_finitely_larger() -> None:
    losses = np.array([0.5, 0.3, 1e-12, 1e-12, 1e-12, 2e-12, 1e-12, 1e-12])
    spectrum = np.array([0.5, 0.25, 0.25])
    whitened = WhitenedSpectrum((30, 20), spectrum)
    ratio = compute_features(Evidence((30, 20), np.arange(1, 9), losses, spectrum, whitened)).drop_ratio
    assert 1e5 < ratio[2] < np.inf
    assert_allclose(ratio[3:-1], 1.0)


# Noise and its edge


NOISES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "Poisson": lambda rng, shape: rng.poisson(3.0, shape).astype(float),
    "clipped": lambda rng, shape: np.maximum(rng.standard_normal(shape), 0.0),
}


def evidence_by_svd(X: np.ndarray, largest: int) -> Evidence:
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    squares /= squares.sum()
    losses = 1.0 - np.cumsum(squares)[:largest]
    spectrum = squares[: largest + 10]
    whitened = WhitenedSpectrum(X.shape, spectrum)
    return Evidence(X.shape, np.arange(1, largest + 1), losses, spectrum, whitened)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shape", [(200, 100), (400, 400), (1000, 100), (100, 1000)])
def test_noise_ends_at_its_edge(shape: tuple[int, int], noise: str) -> None:
    """About one for noise, beyond the mean, which is rank one; and less as more of the noise is fitted."""
    evidence = evidence_by_svd(NOISES[noise](np.random.default_rng(0), shape), 8)
    features = compute_features(evidence)
    assert 0.85 < evidence.whitened.ratios[0 if noise == "normal" else 1] < 1.1
    assert (features.noise_ratio > 0.8).all()
    assert (features.noise_ratio[1:] < 1.05).all()


@pytest.mark.parametrize("shape", [(200, 100), (400, 400), (1000, 100)])
def test_noise_ends_at_its_edge_along_a_path(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(1).random(shape)
    evidence = rank_path(X, max_rank=10, engine="direct", equilibrate=True, random_state=0).evidence
    assert evidence is not None
    assert 0.85 < compute_features(evidence).noise_ratio[0] < 1.15


def test_structure_stands_out_of_the_edge_until_it_is_explained() -> None:
    X = make_low_rank(200, 100, rank=5, random_state=0)[0]
    features = compute_features(evidence_by_svd(X, 12))
    assert (features.noise_ratio_before[:5] > 10).all()
    assert (features.noise_ratio[5:] < 1.2).all()
    assert_array_equal(features.noise_ratio_before[1:], features.noise_ratio[:-1])


def test_nothing_left_is_like_noise() -> None:
    """Rounding errors have no edge."""
    X = make_low_rank(40, 30, rank=3, noise=0.0, random_state=0)[0]
    features = compute_features(evidence_by_svd(X, 10))
    assert (features.noise_ratio[2:] < 1e-6).all()
    assert (features.noise_ratio[:2] > 1.5).all()


def test_what_components_cannot_do_is_not_noise() -> None:
    """Two directions explain all but noise, but it takes four components to do it."""
    shape, losses = (60, 40), np.array([0.5, 0.3, 0.2, 0.1, 0.098, 0.096, 0.094, 0.092])
    spectrum = np.append([0.5, 0.4], np.full(10, 0.002))
    evidence = Evidence(shape, np.arange(1, 9), losses, spectrum, WhitenedSpectrum(shape, spectrum))
    assert evidence.whitened.count_above() == 2
    features = compute_features(evidence)
    assert_allclose(features.noise_ratio[1:3], 0.1 / 0.002 / 2.0)
    assert (features.noise_ratio[3:] < 1.0).all()
    assert features.fall.argmax() + 1 == 4
