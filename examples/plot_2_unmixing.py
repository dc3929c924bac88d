"""
Hyperspectral unmixing
======================

A spectral camera sees a spectrum in every pixel, and a pixel of ten metres holds several materials.
Unmixing finds the spectra of the materials and how much of each is in every pixel. How many there are,
nobody says.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from autonmf import AutoNMF
from autonmf.datasets import Dataset, DataUnavailableError, fetch_samson
from autonmf.metrics import recovery_error
from autonmf.plotting import ComponentsDisplay

# %%
# The scene
# ---------
# Samson: 95 x 95 pixels, 156 bands, with soil, trees and water. Where the file is not there, a scene is
# generated: three smooth spectra, one of them dark, that are mixed in smooth patches.


def generated_scene(side: int = 48, bands: int = 120) -> Dataset:
    """Three materials in soft patches; the third is water, which is dark."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, bands)
    soil = 0.2 + 0.7 * x
    tree = 0.1 * np.exp(-(((x - 0.3) / 0.06) ** 2)) + 0.85 / (1.0 + np.exp(-(x - 0.6) / 0.03))
    water = 0.12 * np.exp(-3.0 * x)
    patches = np.array([gaussian_filter(rng.standard_normal((side, side)), 6.0).ravel() for _ in range(3)])
    shares = np.exp(6.0 * patches / patches.std())
    U, V = (shares / shares.sum(axis=0)).T, np.array([soil, tree, water]).T
    X = np.maximum(U @ V.T + 0.002 * rng.standard_normal((side * side, bands)), 0.0)
    return Dataset(
        "generated scene", X, 3, "", "", "", U, V, ("soil", "tree", "water"), image_shape=(side, side)
    )


try:
    scene = fetch_samson(download=False)  # download=True fetches the file
except DataUnavailableError:
    scene = generated_scene()
scene

# %%
# How many materials
# ------------------
# Water is dark: it has a hundredth of the energy of soil, which hides it. The rule looks at a copy of the
# data with rows and columns of even size as well, where it stands out.

model = AutoNMF(random_state=0).fit(scene.X)
print(model.rank_estimate_)
print(f"confidence: {model.rank_estimate_.confidence:.2f}")
model.rank_estimate_.plot()
plt.show()

# %%
# What they are
# -------------
# A spectrum and a map for each. ``order="F"`` because the pixels go down the columns of this image.

ComponentsDisplay.from_estimator(
    model, scene.X, map_shape=scene.image_shape, order="F", axis_label="band"
).plot()
plt.show()

# %%
# How near they are
# -----------------
# A factorisation knows spectra up to their scale and order only. ``recovery_error`` matches them with the
# reference first; zero is perfect, and :math:`\sqrt{2r}` the worst for nonnegative spectra.

if scene.V is not None and model.n_components_ == scene.rank:
    print(f"recovery error of the spectra: {recovery_error(scene.V, model.components_.T):.3f}")

# %%
# The dashed lines are the reference, each beside the component that resembles it most. Where no pixel is
# pure, a component may hold a share of another: the count is easier to know than the exact spectra.

if scene.V is not None:
    unit = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    figure, axes = plt.subplots(1, scene.rank, figsize=(7.4, 2.2), sharex=True, layout="constrained")
    for ax, reference, name in zip(axes, scene.V.T, scene.component_names, strict=True):
        found = unit[np.argmax(unit @ reference)]
        ax.plot(found / found.max())
        ax.plot(reference / reference.max(), color="black", linestyle="--", linewidth=1.0)
        ax.set(title=name, xlabel="band", yticks=[0, 1])
    plt.show()
