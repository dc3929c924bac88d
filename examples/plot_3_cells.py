"""
Gene programmes in single cells
===============================

A gene programme is a set of genes that are active together, and each cell uses a few programmes. NMF finds
both the genes of each programme and the cells that use it.

.. image:: /examples/images/sphx_glr_plot_3_cells_002.png
   :alt: the components that are found below
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
# PBMC3K is a sparse matrix of 2700 blood cells and 13,714 genes. Each cell is scaled to 10,000 counts and
# log-transformed. If the file is not available, cells of five types are generated.


def make_cells(per_type: int = 90, genes: int = 600) -> Dataset:
    """Five cell types; each expresses thirty genes more strongly than a common background."""
    rng = np.random.default_rng(0)
    background = rng.lognormal(0.0, 1.0, genes)
    profiles = np.tile(background, (5, 1))
    for i in range(5):
        profiles[i, 30 * i : 30 * (i + 1)] *= rng.lognormal(2.5, 0.4, 30)
    labels = np.repeat(np.arange(5), per_type)
    rates = profiles[labels] / profiles[labels].sum(axis=1, keepdims=True)
    counts = rng.poisson(rng.lognormal(8.0, 0.3, (len(labels), 1)) * rates)
    X = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
    names = tuple(f"gene {j // 30 + 1}.{j % 30 + 1}" if j < 150 else f"other {j - 149}" for j in range(genes))
    types = tuple(f"type {i}" for i in range(1, 6))
    return Dataset("generated cells", X, 5, "", "", "", labels=labels, label_names=types, feature_names=names)


try:
    cells = fetch_pbmc3k(normalize=True, download=False)
except DataUnavailableError:
    cells = make_cells()
cells

# %%
# The number of programmes
# ------------------------
# Cell types are not sharply separated components. In real cells the evidence changes gradually with the rank,
# which lowers the confidence; take the chosen rank as a starting point.

model = AutoNMF(random_state=0)
W = model.fit_transform(cells.X)
print(model.rank_estimate_)
model.rank_estimate_.plot()
plt.show()

# %%
# Genes of each programme
# -----------------------
# Genes are ranked by specificity rather than weight, because genes that every cell needs have large weights
# in all programmes.

ComponentsDisplay.from_estimator(
    model, cells.X, feature_names=cells.feature_names, n_top=8, top_by="specificity"
).plot()
plt.show()

# %%
# Programmes of each cell type
# ----------------------------
# The image shows the mean use of each programme by the known cell types. A programme with a single large
# value belongs to one type.

if cells.labels is not None:
    use = np.array([W[cells.labels == i].mean(axis=0) for i in range(len(cells.label_names))])
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    image = ax.imshow(use / use.max(axis=0), cmap="viridis", aspect="auto")
    figure.colorbar(image, label="mean use / maximum")
    ax.set_yticks(range(len(cells.label_names)), cells.label_names)
    ax.set_xticks(range(model.n_components_), range(1, model.n_components_ + 1))
    ax.set_xlabel("programme")
    plt.show()
