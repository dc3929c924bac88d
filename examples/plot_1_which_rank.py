"""
Which rank, and why
===================

``AutoNMF`` chooses the number of components and reports the evidence for it and its confidence. This example
shows data with a clear rank, data without one, and data that are only noise.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import make_low_rank

# %%
# A clear rank
# ------------
# The data have six components and some noise.

X, _, _ = make_low_rank(300, 200, rank=6, noise=0.3, random_state=0)
clear = AutoNMF(random_state=0).fit(X)
print(clear.rank_estimate_)

# %%
# The path visits every rank, from an upper bound down to one. The loss always decreases as components are
# added, because more components can also fit more noise. The right rank is where additional components
# explain no more than noise would.

clear.path_.plot()
plt.show()

# %%
# The first panel shows how much each component lowers the loss: the first six do so clearly, the others
# hardly at all. The second panel compares the strongest pattern that so many components leave with the
# largest that noise alone would show: bars stand for what is above noise, and nothing is from rank six on.
# The last panel combines the evidence into a probability for each rank.

clear.rank_estimate_.plot()
plt.show()

# %%
# An unclear rank
# ---------------
# The energies of twelve components decay until they vanish in the noise of the counts. The chosen rank is
# where noise begins, but the last component is hardly above it: the confidence is low, and the warning says
# why. Plausible ranks are shaded.

rng = np.random.default_rng(0)
strengths = np.geomspace(1.0, 0.05, 12)
U, V = rng.gamma(0.5, size=(300, 12)), rng.gamma(0.5, size=(200, 12))
X = rng.poisson(4.0 * (U * strengths) @ V.T).astype(float)
unclear = AutoNMF(random_state=0).fit(X)
print(unclear.rank_estimate_)
print(f"confidence: {unclear.rank_estimate_.confidence:.2f}")
unclear.rank_estimate_.plot()
plt.show()

# %%
# Use what you know about the data to decide. Any other rank of the path is available without fitting again.

other = unclear.at_rank(unclear.n_components_ + 1, X)
print(f"rank {unclear.n_components_}: error {unclear.reconstruction_err_:.1f}")
print(f"rank {other.n_components_}: error {other.reconstruction_err_:.1f}")

# %%
# Only noise
# ----------
# These are Poisson counts with a constant rate. The chosen rank is one: the single component is the mean
# level.

X = rng.poisson(5.0, size=(300, 200)).astype(float)
nothing = AutoNMF(random_state=0).fit(X)
print(nothing.rank_estimate_)
nothing.rank_estimate_.plot()
plt.show()

# %%
# How to use the estimate
# -----------------------
# - **A confidence of 0.9 or more and one plausible rank**: use this rank.
# - **The warning that the data do not determine one rank**: they have structure at every scale, like texts
#   and faces, or components that are hardly above the noise. The rank sets the resolution. Start from the
#   chosen rank and compare others that are reasonable with ``at_rank``. ``fit`` issues an
#   ``UncertainRankWarning`` too, which can be filtered.
# - **The warning that the rank is at the bound**: raise ``max_rank``.
# - **The warning "no structure beyond rank one"**: a factorisation with more components would fit noise.
#
# :doc:`/selection` explains how the rule weighs the evidence, and how often it is right.
