"""
Notes in a recording
====================

The spectrogram of a solo instrument is approximately a sum over notes, each the product of a spectrum and a
loudness over time. NMF separates the notes, and the rank is the number of different notes.

.. image:: /examples/images/sphx_glr_plot_6_audio_003.png
   :alt: the components that are found below
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import stft

from autonmf import AutoNMF
from autonmf.plotting import ComponentsDisplay

# %%
# The recording
# -------------
# We synthesise forty seconds of five notes with eight harmonics each, two or three at a time. X is the
# magnitude of its short-time Fourier transform, with one row per frame and one column per frequency.

RATE = 8000
KEYS = {"C4": 261.63, "E4": 329.63, "G4": 392.00, "A4": 440.00, "D5": 587.33}


def synthesise(seconds: float = 40.0, length: float = 0.6) -> np.ndarray:
    """Notes that swell and fade, two or three at about the same time."""
    rng = np.random.default_rng(0)
    time = np.arange(0.0, length, 1.0 / RATE)
    envelope = np.sin(np.pi * time / length) ** 2
    sound = 0.002 * rng.standard_normal(int(seconds * RATE))
    for beat in np.arange(0.0, seconds - 2.0 * length, 0.4):
        for pitch in rng.choice(list(KEYS.values()), rng.integers(2, 4), replace=False):
            phases = 2.0 * np.pi * rng.random(8)
            note = sum(np.sin(2.0 * np.pi * h * pitch * time + phases[h - 1]) / h**1.5 for h in range(1, 9))
            start = int((beat + rng.uniform(0.0, 0.2)) * RATE)
            sound[start : start + len(time)] += rng.uniform(0.5, 1.0) * envelope * note
    return sound


frequencies, times, transformed = stft(synthesise(), RATE, nperseg=1024, noverlap=512)
X = np.abs(transformed).T
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.pcolormesh(times, frequencies, 20.0 * np.log10(X.T + 1e-5), cmap="magma", vmin=-80.0, rasterized=True)
ax.set(xlabel="time (s)", ylabel="frequency (Hz)")
plt.show()

# %%
# The number of notes
# -------------------
# Where notes share a harmonic, their magnitudes add only on average. The magnitude of the background noise is
# nowhere zero, so that it looks like a component of its own. The confidence is low for both reasons; the loss
# has a break after five notes and the background.

model = AutoNMF(random_state=0).fit(X)
print(model.rank_estimate_)
model.rank_estimate_.plot()
plt.show()

# %%
# Spectra
# -------
# We leave the background out: the path has every rank, and with X the solution is polished. Each column is a
# component. The lowest strong line is the fundamental frequency.

notes = model.at_rank(len(KEYS), X)
ComponentsDisplay.from_estimator(notes, X, frequencies=frequencies).plot()
plt.show()

for component in notes.components_:
    pitch = frequencies[component.argmax()]
    name = min(KEYS, key=lambda key: abs(KEYS[key] - pitch))
    print(f"{pitch:6.1f} Hz: {name}")

# %%
# Activations
# -----------

W = notes.transform(X)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for j, weights in enumerate(W.T):
    ax.fill_between(times, j, j + 0.9 * weights / weights.max(), linewidth=0.0)
ax.set(xlabel="time (s)", ylabel="component", yticks=range(len(W.T)), yticklabels=range(1, len(W.T) + 1))
plt.show()
