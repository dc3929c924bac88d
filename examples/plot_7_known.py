"""
What else is in my data?
========================

Mutational signatures are patterns of mutations; dozens of them are known. Given some of them, which others do
these tumours show? Known components stay as they are, and the rule counts what the data need beyond them.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import Dataset, DataUnavailableError, fetch_signatures
from autonmf.metrics import unit_columns

# %%
# The catalogue
# -------------
# The data are small insertions and deletions of 83 types in 1119 simulated tumours, with eleven signatures.
# If the file is not available, ten signatures are generated.


def make_catalogue(samples: int = 400, rank: int = 10) -> Dataset:
    """Poisson counts of mutations: spiky signatures, each in half of the tumours."""
    rng = np.random.default_rng(0)
    V = rng.dirichlet(np.full(83, 0.1), rank).T
    U = 300.0 * rng.lognormal(0.0, 0.7, (samples, rank)) * (rng.random((samples, rank)) < 0.5)
    X = rng.poisson(U @ V.T).astype(float)
    return Dataset("generated mutations", X, rank, "", "", "", U=U, V=V)


try:
    catalogue = fetch_signatures(kind="indel", noise="moderate")
except DataUnavailableError:
    catalogue = make_catalogue()
catalogue

# %%
# The number of other signatures
# ------------------------------
# Every other signature is given. Counts are fitted with the Kullback-Leibler loss.

signatures = np.asarray(catalogue.V).T
known, others = signatures[::2], signatures[1::2]
model = AutoNMF(fixed_components=known, beta_loss="kullback-leibler", random_state=0).fit(catalogue.X)
print(model.rank_estimate_)
model.rank_estimate_.plot()
plt.show()

# %%
# What was found
# --------------
# The components beyond the known ones, each beside the signature that it resembles most.

found = model.components_[len(known) :]
found = found / found.sum(axis=1, keepdims=True)
cosines = unit_columns(found.T).T @ unit_columns(others.T)
figure, axes = plt.subplots(len(found), 1, figsize=(7, 1.3 * len(found)), layout="constrained", squeeze=False)
for ax, component, row in zip(axes[:, 0], found, cosines, strict=True):
    ax.bar(np.arange(len(component)) - 0.2, component, 0.4, label="found")
    ax.bar(np.arange(len(component)) + 0.2, others[row.argmax()], 0.4, label="signature")
    ax.set_title(f"cosine {row.max():.3f}", loc="left", fontsize="small")
axes[0, 0].legend(fontsize="small")
axes[-1, 0].set_xlabel("type of mutation")
plt.show()

# %%
# All given, and one that is not there
# ------------------------------------
# With all signatures given, nothing else is needed. One more that is not in the data, here the first one with
# its types in reverse order, is reported.

absent = signatures[:1, ::-1]
complete = AutoNMF(
    fixed_components=np.vstack([signatures, absent]), beta_loss="kullback-leibler", random_state=0
).fit(catalogue.X)
print(complete.rank_estimate_)
weights = complete.transform(catalogue.X) * complete.components_.sum(axis=1)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.bar(np.arange(1, len(weights.T) + 1), weights.sum(axis=0) / weights.sum())
ax.set(xlabel="known component", ylabel="fraction of the mutations")
plt.show()
