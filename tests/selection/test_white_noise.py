"""A low-energy last component, and white noise beyond it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autonmf import RankEstimate
from autonmf.path import Evidence
from autonmf.selection.automatic import WHITE_NOISE_WEIGHT, rank_probabilities
from autonmf.selection.features import compute_features, end_at, first_white_noise_rank

Choose = Callable[..., RankEstimate]
SHAPE = (300, 150)


def planted(energies: list[float], seed: int, noise: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    U, V = rng.gamma(0.5, 1.0, (300, len(energies))), rng.gamma(0.5, 1.0, (150, len(energies)))
    return np.maximum((U * energies) @ V.T + noise * rng.standard_normal(SHAPE), 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_low_energy_component_is_chosen_or_named(seed: int, choose: Choose) -> None:
    estimate = choose(planted([1, 1, 1, 1, 1, 0.05], seed))
    assert estimate.rank in (5, 6)
    if estimate.rank == 5:
        assert estimate.confidence < 0.9
        assert 6 in estimate.plausible
        assert "X is white noise only beyond 6 directions: look at rank 6 too" in estimate.warnings


def test_no_warning_where_both_alternatives_agree(choose: Choose) -> None:
    estimate = choose(planted([1, 1, 1, 1, 1, 1], 0))
    assert (estimate.rank, estimate.confidence, estimate.warnings) == (6, 0.99, ())


@pytest.fixture
def evidence() -> Evidence:
    """Three components in white noise, by their singular values: what remains is its expected spectrum."""
    rng = np.random.default_rng(0)
    squares = np.linalg.svd(rng.standard_normal(SHAPE), compute_uv=False) ** 2
    spectrum = np.append([40.0, 20.0, 1.0], squares[:27] / squares.sum() * 10.0) / 71.0
    losses = 1.0 - np.cumsum(spectrum)
    ranks = np.arange(1, 26)
    return Evidence(SHAPE, ranks, losses[:25], losses[:25], spectrum, spectrum)


def test_the_first_white_rank(evidence: Evidence) -> None:
    features = compute_features(evidence)
    assert first_white_noise_rank(features) == 3
    other = end_at(features, 3)
    assert (other.log_drop_ratio[:2] == np.log10(2.0)).all()
    assert other.log_drop_ratio[2] >= features.log_drop_ratio[2]
    np.testing.assert_array_equal(other.log_drop_ratio[3:], features.log_drop_ratio[3:])


@pytest.mark.parametrize(("place", "noise_ratio"), [(1, 1.5), (2, 1.1), (4, 1.1), (4, 0.7)])
def test_it_has_to_fall_from_structure_and_to_stay(
    evidence: Evidence, place: int, noise_ratio: float
) -> None:
    """Not if the rank before was noise already, nor if one of those after it is not."""
    features = compute_features(evidence)
    changed = features.noise_ratio.copy()
    changed[place] = noise_ratio
    before = np.append(features.noise_ratio_before[0], changed[:-1])
    assert first_white_noise_rank(features._replace(noise_ratio=changed, noise_ratio_before=before)) is None


def test_both_alternatives_have_their_weights(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    features, visited = compute_features(evidence), evidence.ranks
    both = rank_probabilities(features, visited)
    np.testing.assert_allclose(both.sum(), 1.0)
    at_the_end = rank_probabilities(end_at(features, 3), visited)
    monkeypatch.setattr("autonmf.selection.automatic.first_white_noise_rank", lambda features: None)
    usual, ending = (rank_probabilities(f, visited) for f in (features, end_at(features, 3)))
    np.testing.assert_allclose(both, (1 - WHITE_NOISE_WEIGHT) * usual + WHITE_NOISE_WEIGHT * ending)
    np.testing.assert_allclose(at_the_end, ending)
