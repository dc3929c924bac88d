"""Make the pictures of the README and the docs: ``python docs/make_figures.py``.

Those of real scenes need their files in the data home (docs/data.md) and are left out without them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator
from scipy.optimize import linear_sum_assignment

from autonmf import AutoNMF, unmix
from autonmf.datasets import (
    DataUnavailableError,
    fetch_jasper_ridge,
    fetch_pbmc3k,
    fetch_samson,
    load_swimmer,
    make_low_rank,
)
from autonmf.metrics import unit_columns
from autonmf.report.components import signal_shares

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#0072B2", "#D55E00"


def drops(ax, model, title):
    evidence = model.rank_estimate_.evidence
    ranks, drop = evidence["rank"][1:], np.maximum(evidence["drop"][1:], 1e-12 * evidence["drop"][1])
    chosen = ranks == model.n_components_
    ax.bar(ranks, drop, color=np.where(ranks <= model.n_components_, BLUE, "#BBBBBB"))
    ax.bar(ranks[chosen], drop[chosen], color=ORANGE)
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=drop.max() * 1e-6)
    ax.annotate(
        f"rank {model.n_components_}",
        (model.n_components_, drop[chosen][0]),
        xytext=(12, 8),
        textcoords="offset points",
        color=ORANGE,
        fontweight="bold",
    )
    ax.set_xlabel("component")
    ax.set_ylabel("what it lowers the loss by")
    ax.set_title(title, loc="left")
    ax.spines[["top", "right"]].set_visible(False)


def readme() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.3), width_ratios=[1, 1, 1.15], layout="constrained")
    X, _, _ = make_low_rank(1000, 400, rank=10, noise=0.3, random_state=0)
    drops(axes[0], AutoNMF(random_state=0).fit(X), "1000 x 400, ten noisy components")
    swimmer = AutoNMF(random_state=0).fit(load_swimmer())
    drops(axes[1], swimmer, "Swimmer, 256 images")
    parts = swimmer.components_.reshape(-1, 32, 32)
    rows = [np.hstack([p / p.max() for p in parts[i : i + 4]]) for i in range(0, len(parts) - 3, 4)]
    axes[2].imshow(np.vstack(rows), cmap="gray_r")
    for line in range(1, 4):
        axes[2].axhline(32 * line - 0.5, color="#BBBBBB", linewidth=0.6)
        axes[2].axvline(32 * line - 0.5, color="#BBBBBB", linewidth=0.6)
    axes[2].set_xticks([])
    axes[2].set_yticks([])
    axes[2].set_title(f"the {len(parts)} parts it found in Swimmer", loc="left")
    figure.savefig(IMAGES / "readme.png", dpi=110)


def stability() -> None:
    X, _, _ = make_low_rank(200, 120, rank=6, noise=0.3, random_state=0)
    model = AutoNMF(random_state=0).fit(X)
    figure, axes = plt.subplots(2, 1, figsize=(8, 5.4), layout="constrained")
    for ax, rank in zip(axes, (6, 9), strict=True):
        model.at_rank(rank, X).component_stability(X).plot(ax)
    figure.savefig(IMAGES / "stability.png", dpi=110)


def tree(cells):
    """The tree of cells up to rank 12."""
    path = AutoNMF(random_state=0).fit(cells.X).path_
    display = path.tree(12).plot(feature_names=cells.feature_names, top_by="specificity")
    display.figure_.savefig(IMAGES / "tree.png", dpi=110)


def match(spectra, weights, scene):
    """Spectra and weights in the order of the reference materials."""
    cosines = unit_columns(scene.V).T @ unit_columns(spectra.T)
    order = linear_sum_assignment(-cosines)[1]
    return spectra[order], weights[:, order]


def unmixing(scene):
    """Spectra and maps of the reference, of unmixing and of an NMF, side by side."""
    model = AutoNMF(scene.rank, random_state=0).fit(scene.X)
    found = unmix(scene.X, init=model)
    shares = signal_shares(model.transform(scene.X), model.components_)
    rows = {
        "reference": (scene.V.T, scene.U, "black"),
        "unmix": (*match(found.endmembers, found.abundances, scene), BLUE),
        "NMF": (*match(model.components_, shares, scene), ORANGE),
    }
    figure, axes = plt.subplots(
        4,
        scene.rank,
        figsize=(1.9 * scene.rank + 0.8, 7.2),
        height_ratios=[0.8, 1, 1, 1],
        layout="constrained",
    )
    for k, name in enumerate(scene.component_names):
        for label, (spectra, _, color) in rows.items():
            style = (0, (4, 2)) if label == "reference" else "-"
            axes[0, k].plot(
                spectra[k] / spectra[k].max(), color=color, linestyle=style, linewidth=1.2, label=label
            )
        axes[0, k].set(title=name, xlabel="band", yticks=[0, 1])
        axes[0, k].spines[["top", "right"]].set_visible(False)
        for row, (label, (_, weights, _)) in enumerate(rows.items(), 1):
            image = axes[row, k].imshow(
                scene.image(weights[:, k]), vmin=0.0, vmax=1.0, interpolation="nearest"
            )
            axes[row, k].set(xticks=[], yticks=[])
            if k == 0:
                axes[row, k].set_ylabel("NMF, share of signal" if label == "NMF" else f"{label}, abundance")
    axes[0, 0].set_ylabel("spectrum / maximum")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.colorbar(image, ax=axes[1:, :], ticks=[0.0, 0.5, 1.0], fraction=0.03, pad=0.02)
    figure.savefig(IMAGES / f"unmixing-{scene.name}.png", dpi=90)


if __name__ == "__main__":
    readme()
    stability()
    pictures = (
        (tree, partial(fetch_pbmc3k, normalize=True)),
        (unmixing, fetch_samson),
        (unmixing, fetch_jasper_ridge),
    )
    for draw, fetch in pictures:
        try:
            draw(fetch(download=False))
        except DataUnavailableError as error:
            print(f"left out: {error}")
