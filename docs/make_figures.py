"""Make the pictures of the README and the docs: ``python docs/make_figures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import fetch_pbmc3k, load_swimmer, make_low_rank

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#0072B2", "#D55E00"


def drops(ax, model, title):
    evidence = model.rank_estimate_.evidence
    ranks, drop = evidence["rank"][1:], np.maximum(evidence["drop"][1:], 1e-12 * evidence["drop"][1])
    chosen = ranks == model.n_components_
    ax.bar(ranks, drop, color=np.where(ranks <= model.n_components_, BLUE, "#BBBBBB"))
    ax.bar(ranks[chosen], drop[chosen], color=ORANGE)
    ax.set_yscale("log")
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


def tree() -> None:
    """Needs the file of PBMC3K in the data home."""
    cells = fetch_pbmc3k(normalize=True)
    path = AutoNMF(random_state=0).fit(cells.X).path_
    display = path.tree(12).plot(feature_names=cells.feature_names, top_by="specificity")
    display.figure_.savefig(IMAGES / "tree.png", dpi=110)


if __name__ == "__main__":
    readme()
    stability()
    tree()
