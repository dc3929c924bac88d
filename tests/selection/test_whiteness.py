"""A faint last component, and noise that is white beyond it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autonmf import RankEstimate
from autonmf.path import Evidence
from autonmf.selection.automatic import ENDS_IN_NOISE, probabilities_of
from autonmf.selection.features import features_of
from autonmf.selection.whiteness import ending_at, first_white

Choose = Callable[..., RankEstimate]
SHAPE = (300, 150)


def planted(energies: list[float], seed: int, noise: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    U, V = rng.gamma(0.5, 1.0, (300, len(energies))), rng.gamma(0.5, 1.0, (150, len(energies)))
    return np.maximum((U * energies) @ V.T + noise * rng.standard_normal(SHAPE), 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_faint_component_is_chosen_or_pointed_at(seed: int, choose: Choose) -> None:
    estimate = choose(planted([1, 1, 1, 1, 1, 0.05], seed))
    assert estimate.rank in (5, 6)
    if estimate.rank == 5:
        assert estimate.confidence < 0.9
        assert 6 in estimate.plausible
        assert "X is white noise beyond 6 directions only: look at rank 6 too" in estimate.warnings


def test_nothing_is_said_where_both_readings_agree(choose: Choose) -> None:
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
    features = features_of(evidence)
    assert first_white(features) == 3
    other = ending_at(features, 3)
    assert (other.step[:2] == np.log10(2.0)).all()
    assert other.step[2] >= features.step[2]
    np.testing.assert_array_equal(other.step[3:], features.step[3:])


@pytest.mark.parametrize(("place", "remainder"), [(1, 1.5), (2, 1.1), (4, 1.1), (4, 0.7)])
def test_it_has_to_fall_from_structure_and_to_stay(evidence: Evidence, place: int, remainder: float) -> None:
    """Not if the rank before was noise already, nor if one of those after it is not."""
    features = features_of(evidence)
    changed = features.remainder.copy()
    changed[place] = remainder
    before = np.append(features.before[0], changed[:-1])
    assert first_white(features._replace(remainder=changed, before=before)) is None


def test_both_readings_have_their_weights(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    features, visited = features_of(evidence), evidence.ranks
    both = probabilities_of(features, visited)
    np.testing.assert_allclose(both.sum(), 1.0)
    at_the_end = probabilities_of(ending_at(features, 3), visited)
    monkeypatch.setattr("autonmf.selection.automatic.first_white", lambda features: None)
    usual, ending = (probabilities_of(f, visited) for f in (features, ending_at(features, 3)))
    np.testing.assert_allclose(both, (1 - ENDS_IN_NOISE) * usual + ENDS_IN_NOISE * ending)
    np.testing.assert_allclose(at_the_end, ending)
