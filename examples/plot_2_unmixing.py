"""
Hyperspectral unmixing
======================

A hyperspectral image has a spectrum in every pixel, and a pixel several metres wide contains several
materials. Unmixing estimates the spectra of the materials and their abundances in every pixel. The number
of materials is usually unknown.

.. image:: /examples/images/sphx_glr_plot_2_unmixing_002.png
   :alt: the components that are found below
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import linear_sum_assignment

from autonmf import AutoNMF, unmix
from autonmf.datasets import Dataset, DataUnavailableError, fetch_samson
from autonmf.metrics import unit_columns

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
# Spectra and abundances
# ----------------------
# The components of the NMF are not the spectra of materials yet: many sets of spectra fit equally well.
# ``unmix`` looks for spectra that are mixtures of a few nearly pure pixels, and for abundances that sum to
# one in every pixel. ``order="F"`` is needed because the pixels of this image are in column-major order.

materials = unmix(scene.X, init=model)
print(materials)
materials.plot(image_shape=scene.image_shape, order="F")
plt.show()

# %%
# Comparison with the reference
# -----------------------------
# Spectra and abundances are matched with the reference by the angle between spectra. The shares of signal,
# which are the weights of the NMF divided by their sum, are a poor substitute for abundances.


def compare(name, spectra, abundances):
    """Print how far an estimate is from the reference; return its order."""
    cosines = unit_columns(scene.V).T @ unit_columns(spectra.T)
    reference, order = linear_sum_assignment(-cosines)
    angle = np.degrees(np.arccos(cosines[reference, order])).mean()
    error = np.sqrt(np.mean((abundances[:, order] - scene.U) ** 2))
    print(f"{name}: mean angle {angle:.1f} degrees, error of the abundances {error:.3f}")
    return order


comparable = scene.U is not None and model.n_components_ == scene.rank
if comparable:
    amounts = model.transform(scene.X) * model.components_.sum(axis=1)
    shares = amounts / amounts.sum(axis=1, keepdims=True)
    nmf = compare("NMF", model.components_, shares)
    ours = compare("unmix", materials.endmembers, materials.abundances)

# %%
# Dashed lines are the reference spectra. Without pure pixels the endmembers would contain a fraction of other
# materials.

if comparable:
    figure, axes = plt.subplots(1, scene.rank, figsize=(7.4, 2.4), sharex=True, layout="constrained")
    for k, ax in enumerate(axes):
        for label, spectrum in (("unmix", materials.endmembers[ours[k]]), ("NMF", model.components_[nmf[k]])):
            ax.plot(spectrum / spectrum.max(), label=label)
        ax.plot(
            scene.V[:, k] / scene.V[:, k].max(),
            color="black",
            linestyle="--",
            linewidth=1.0,
            label="reference",
        )
        ax.set(title=scene.component_names[k], xlabel="band", yticks=[0, 1])
    axes[0].set_ylabel("spectrum / maximum")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    plt.show()
