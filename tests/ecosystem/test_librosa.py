"""librosa: `decompose(transformer=AutoNMF())`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from autonmf import AutoNMF

librosa = pytest.importorskip("librosa", reason="librosa is not installed")

NOTES = (20, 45, 70)  # bins of the fundamentals


@pytest.fixture(scope="module")
def spectrogram() -> np.ndarray:
    """Bins x frames: three notes with overtones, struck some times and dying away; noise in proportion."""
    rng = np.random.default_rng(0)
    bins, frames = np.arange(257), np.arange(120)
    spectra = np.stack(
        [sum(np.exp(-0.5 * ((bins - k * note) / 2.0) ** 2) / k for k in (1, 2, 3)) for note in NOTES], axis=1
    )
    played = np.zeros((3, 120))
    for strikes, envelope in zip(((0, 60, 90), (20, 60, 105), (40, 75, 90)), played, strict=True):
        for strike in strikes:
            envelope += np.where(frames >= strike, np.exp(-(frames - strike) / 12.0), 0.0)
    return (spectra @ played) * rng.gamma(100.0, 0.01, size=(257, 120))


@pytest.mark.slow
def test_every_note_is_a_component(spectrogram: np.ndarray) -> None:
    model = AutoNMF(random_state=0)
    spectra, played = librosa.decompose.decompose(spectrogram, transformer=model, sort=True)
    assert model.n_components_ == 3
    assert spectra.shape == (257, 3)
    assert played.shape == (3, 120)
    assert list(spectra.argmax(axis=0)) == list(NOTES), "sorted by their peaks"
    assert np.linalg.norm(spectrogram - spectra @ played) < 0.1 * np.linalg.norm(spectrogram)


def test_without_sorting_it_is_the_estimator(spectrogram: np.ndarray) -> None:
    spectra, played = librosa.decompose.decompose(spectrogram, transformer=AutoNMF(random_state=0))
    model = AutoNMF(random_state=0)
    assert_array_equal(played.T, model.fit_transform(spectrogram.T))
    assert_array_equal(spectra.T, model.components_)


def test_a_fitted_model_on_another_recording(spectrogram: np.ndarray) -> None:
    model = AutoNMF(random_state=0).fit(spectrogram.T)
    later = spectrogram[:, 60:]
    spectra, played = librosa.decompose.decompose(later, transformer=model, fit=False)
    assert_array_equal(spectra, model.components_.T)
    assert_array_equal(played, model.transform(later.T).T)
