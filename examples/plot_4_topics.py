"""
Topics in texts
===============

A document is about a few topics, and a topic is described by its words. The data are a sparse matrix of
tf-idf weights.

.. image:: /examples/images/sphx_glr_plot_4_topics_002.png
   :alt: the components that are found below
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from autonmf import AutoNMF
from autonmf.datasets import Dataset, DataUnavailableError, fetch_wos
from autonmf.plotting import ComponentsDisplay

# %%
# The documents
# -------------
# The data are 1000 abstracts from the Web of Science, from seven domains. If the file is not available,
# documents about four subjects are generated.

SUBJECTS = {
    "kitchen": "oven flour butter sugar salt recipe bake knife onion garlic soup pan",
    "garden": "soil seed rain flower tree root leaf spade bee grass compost bloom",
    "sea": "wave tide boat sail harbour fish salt storm anchor reef whale shore",
    "sky": "star moon cloud rain storm comet orbit planet dawn night lens light",
}


def make_documents(size: int = 400) -> Dataset:
    """Documents about one or two subjects, with common words in all of them."""
    rng = np.random.default_rng(0)
    common = ["the", "a", "of", "and", "to", "in", "is", "it", "with", "for", "on", "as"]
    words = sorted({word for text in SUBJECTS.values() for word in text.split()} | set(common))
    topics = np.array([[1.0 * (word in text.split()) for word in words] for text in SUBJECTS.values()])
    topics *= rng.gamma(2.0, size=topics.shape)
    topics /= topics.sum(axis=1, keepdims=True)
    plain = np.array([1.0 * (word in common) for word in words])
    mixture = rng.dirichlet(np.full(len(topics), 0.15), size)
    rates = 0.5 * mixture @ topics + 0.5 * plain / plain.sum()
    counts = np.array([rng.multinomial(120, row) for row in rates])
    X = TfidfTransformer().fit_transform(counts)
    return Dataset("generated documents", X, len(SUBJECTS), "", "", "", feature_names=tuple(words))


try:
    documents = fetch_wos(download=False)
except DataUnavailableError:
    documents = make_documents()
documents

# %%
# The number of topics
# --------------------
# Real texts have topics within topics: patterns above noise go on, and the confidence is low. The rank sets
# the resolution. The rule chooses the rank where the loss begins to fall more slowly, and warns.

model = AutoNMF(random_state=0).fit(documents.X)
print(model.rank_estimate_)
print(f"confidence: {model.rank_estimate_.confidence:.2f}")
model.rank_estimate_.plot()
plt.show()

# %%
# Words of each topic
# -------------------


def show_topics(fitted: AutoNMF) -> None:
    """Plot the words with the largest weights."""
    ComponentsDisplay.from_estimator(fitted, feature_names=documents.feature_names, n_top=8).plot()
    plt.show()


show_topics(model)

# %%
# A higher rank
# -------------
# The path already has every rank. The abstracts are from seven domains, so we also look at rank seven, or
# at the next higher rank if that is larger. Because X is passed, the solution is polished.

finer = model.at_rank(max(documents.rank, model.n_components_ + 1), documents.X)
show_topics(finer)
