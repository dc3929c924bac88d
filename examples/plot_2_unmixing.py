"""
Hyperspectral unmixing
======================

A hyperspectral image has a spectrum in every pixel, and a pixel several metres wide contains several
materials. Unmixing estimates the spectra of the materials and their abundances in every pixel. The number
of materials is usually unknown.
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
# The Samson scene has 95 x 95 pixels and 156 bands, with soil, trees and water. If the file is not
# available, a similar scene is generated: three smooth spectra, one of them of low energy, mixed in smooth
# patches.


def make_scene(side: int = 48, bands: int = 120) -> Dataset:
    """Three materials in smooth patches; the third, water, has low energy."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, bands)
    soil = 0.2 + 0.7 * x
    tree = 0.1 * np.exp(-(((x - 0.3) / 0.06) ** 2)) + 0.85 / (1.0 + np.exp(-(x - 0.6) / 0.03))
    water = 0.12 * np.exp(-3.0 * x)
    patches = np.array([gaussian_filter(rng.standard_normal((side, side)), 6.0).ravel() for _ in range(3)])
    abundances = np.exp(6.0 * patches / patches.std())
    U, V = (abundances / abundances.sum(axis=0)).T, np.array([soil, tree, water]).T
    X = np.maximum(U @ V.T + 0.002 * rng.standard_normal((side * side, bands)), 0.0)
    return Dataset(
        "generated scene", X, 3, "", "", "", U, V, ("soil", "tree", "water"), image_shape=(side, side)
    )


try:
    scene = fetch_samson(download=False)  # download=True fetches the file
except DataUnavailableError:
    scene = make_scene()
scene

# %%
# The number of materials
# -----------------------
# Water is dark and has a hundredth of the energy of soil. The rule therefore also looks at the equilibrated
# data, with rows and columns scaled to comparable norm, where low-energy components stand out.

model = AutoNMF(random_state=0).fit(scene.X)
print(model.rank_estimate_)
print(f"confidence: {model.rank_estimate_.confidence:.2f}")
model.rank_estimate_.plot()
plt.show()

# %%
# Spectra and abundance maps
# --------------------------
# ``order="F"`` is needed because the pixels of this image are in column-major order.

ComponentsDisplay.from_estimator(
    model, scene.X, map_shape=scene.image_shape, order="F", axis_label="band"
).plot()
plt.show()

# %%
# Comparison with the reference
# -----------------------------
# A factorisation determines the spectra only up to scale and order. ``recovery_error`` matches them with the
# reference first. Zero is perfect, and :math:`\sqrt{2r}` is the maximum for nonnegative spectra.

if scene.V is not None and model.n_components_ == scene.rank:
    print(f"recovery error of the spectra: {recovery_error(scene.V, model.components_.T):.3f}")

# %%
# Dashed lines are the reference spectra, solid lines the most similar components. If no pixel is pure, a
# component may contain a fraction of another material, so the number of materials is easier to find than
# their exact spectra.

if scene.V is not None:
    unit = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    figure, axes = plt.subplots(1, scene.rank, figsize=(7.4, 2.2), sharex=True, layout="constrained")
    for ax, reference, name in zip(axes, scene.V.T, scene.component_names, strict=True):
        found = unit[np.argmax(unit @ reference)]
        ax.plot(found / found.max())
        ax.plot(reference / reference.max(), color="black", linestyle="--", linewidth=1.0)
        ax.set(title=name, xlabel="band", yticks=[0, 1])
    axes[0].set_ylabel("reflectance / maximum")
    plt.show()
