"""
Gene programmes in single cells
===============================

Each cell uses a few programmes, each a set of genes that are active together. NMF finds both: which genes
belong to a programme, and which cells use it.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import Dataset, DataUnavailableError, fetch_pbmc3k
from autonmf.plotting import ComponentsDisplay

# %%
# The cells
# ---------
# PBMC3K: 2700 blood cells and 13,714 genes, a sparse matrix, each cell scaled to 10,000 counts and
# log-transformed. Where the file is not there, cells of five types are generated.


def generated_cells(per_type: int = 90, genes: int = 600) -> Dataset:
    """Five types of cell; each raises thirty genes above a background that all share."""
    rng = np.random.default_rng(0)
    background = rng.lognormal(0.0, 1.0, genes)
    profiles = np.tile(background, (5, 1))
    for i in range(5):
        profiles[i, 30 * i : 30 * (i + 1)] *= rng.lognormal(2.5, 0.4, 30)
    labels = np.repeat(np.arange(5), per_type)
    rates = profiles[labels] / profiles[labels].sum(axis=1, keepdims=True)
    counted = rng.poisson(rng.lognormal(8.0, 0.3, (len(labels), 1)) * rates)
    X = np.log1p(1e4 * counted / counted.sum(axis=1, keepdims=True))
    names = tuple(f"gene {j // 30 + 1}.{j % 30 + 1}" if j < 150 else f"other {j - 149}" for j in range(genes))
    types = tuple(f"type {i}" for i in range(1, 6))
    return Dataset("generated cells", X, 5, "", "", "", labels=labels, label_names=types, feature_names=names)


try:
    cells = fetch_pbmc3k(normalize=True, download=False)
except DataUnavailableError:
    cells = generated_cells()
cells

# %%
# How many programmes
# -------------------
# Cell types are no clean-cut components: in real cells the evidence bends rather than steps, and the answer
# says so. It is a place to start from.

model = AutoNMF(random_state=0)
W = model.fit_transform(cells.X)
print(model.rank_estimate_)
model.rank_estimate_.plot()
plt.show()

# %%
# Which genes
# -----------
# By specificity rather than by weight: genes that every cell needs are large everywhere and tell nothing.

ComponentsDisplay.from_estimator(
    model, cells.X, feature_names=cells.feature_names, n_top=8, top_by="specificity"
).plot()
plt.show()

# %%
# Which cells
# -----------
# The mean use of each programme by the known cell types. A programme of one bright square belongs to one
# type.

if cells.labels is not None:
    use = np.array([W[cells.labels == i].mean(axis=0) for i in range(len(cells.label_names))])
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.imshow(use / use.max(axis=0), cmap="viridis", aspect="auto")
    ax.set_yticks(range(len(cells.label_names)), cells.label_names)
    ax.set_xticks(range(model.n_components_), range(1, model.n_components_ + 1))
    ax.set_xlabel("programme")
    plt.show()
