"""
Which rank, and why
===================

The number of components is a judgement from evidence. ``AutoNMF`` shows the evidence, answers, and says how
sure it is. This page shows what a clear answer looks like, what an unclear one looks like, and what no
answer looks like.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import make_low_rank

# %%
# A clear answer
# --------------
# Six components and some noise.

X, _, _ = make_low_rank(300, 200, rank=6, noise=0.3, random_state=0)
clear = AutoNMF(random_state=0).fit(X)
print(clear.rank_estimate_)

# %%
# One path visits every rank, from an upper bound down to one. At each, the loss says how much of the data
# is left unexplained. The best possible loss always falls as components are added: the question is where it
# stops falling *for a reason*.

clear.path_.plot()
plt.show()

# %%
# Look at what each component adds. The first six add much; the seventh adds next to nothing, and so does
# every one after it. The middle panel compares the next direction of the data with noise of the same energy:
# beyond six it *is* noise. The last panel is the verdict, a probability for each rank.

clear.rank_estimate_.plot()
plt.show()

# %%
# An unclear answer
# -----------------
# Twelve components whose energies decay, from strong to nearly invisible. There is no step to see, only a
# bend. The rank that is given is where the gains begin to flatten; the shaded ranks are all plausible, and
# the warnings say why.

rng = np.random.default_rng(0)
strengths = np.geomspace(1.0, 0.05, 12)
U, V = rng.gamma(0.5, size=(300, 12)), rng.gamma(0.5, size=(200, 12))
X = rng.poisson(4.0 * (U * strengths) @ V.T).astype(float)
unclear = AutoNMF(random_state=0).fit(X)
print(unclear.rank_estimate_)
print(f"confidence {unclear.rank_estimate_.confidence:.2f}; plausible: {unclear.rank_estimate_.plausible}")
unclear.rank_estimate_.plot()
plt.show()

# %%
# You know more about the data than the matrix does. To look at a neighbour, ask for it: nothing is fitted
# again.

other = unclear.at_rank(unclear.n_components_ + 1, X)
print(f"rank {unclear.n_components_}: error {unclear.reconstruction_err_:.1f}")
print(f"rank {other.n_components_}: error {other.reconstruction_err_:.1f}")

# %%
# Nothing to find
# ---------------
# Counts around one level, and no structure. The answer is one component, which is the level itself.

X = rng.poisson(5.0, size=(300, 200)).astype(float)
nothing = AutoNMF(random_state=0).fit(X)
print(nothing.rank_estimate_)
nothing.rank_estimate_.plot()
plt.show()

# %%
# When to believe it
# ------------------
# - **Confidence of 0.9 or more, one plausible rank**: take it.
# - **Low confidence, "no elbow"**: the data have structure at every scale, as texts and faces have. The
#   rank is a choice of resolution. Start from the one given, and compare neighbours with ``at_rank``.
# - **"At the bound"**: raise ``max_rank``.
# - **"No structure beyond rank one"**: a factorisation will still return components, and they will mean
#   nothing.
#
# How the rule weighs the evidence, and how often it is right: :doc:`/selection`.
