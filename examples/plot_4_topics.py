"""
Topics in texts
===============

A document is about a few topics, and a topic is a set of words. Here the matrix is sparse, with tf-idf
weights.
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
# A thousand abstracts of the Web of Science, from seven domains. Where the file is not there, documents
# about four subjects are generated.

SUBJECTS = {
    "kitchen": "oven flour butter sugar salt recipe bake knife onion garlic soup pan",
    "garden": "soil seed rain flower tree root leaf spade bee grass compost bloom",
    "sea": "wave tide boat sail harbour fish salt storm anchor reef whale shore",
    "sky": "star moon cloud rain storm comet orbit planet dawn night lens light",
}


def generated_documents(size: int = 400) -> Dataset:
    """Documents of one or two subjects, with words that every document uses."""
    rng = np.random.default_rng(0)
    common = ["the", "a", "of", "and", "to", "in", "is", "it", "with", "for", "on", "as"]
    words = sorted({word for text in SUBJECTS.values() for word in text.split()} | set(common))
    topics = np.array([[1.0 * (word in text.split()) for word in words] for text in SUBJECTS.values()])
    topics *= rng.gamma(2.0, size=topics.shape)
    topics /= topics.sum(axis=1, keepdims=True)
    plain = np.array([1.0 * (word in common) for word in words])
    shares = rng.dirichlet(np.full(len(topics), 0.15), size)
    rates = 0.5 * shares @ topics + 0.5 * plain / plain.sum()
    counted = np.array([rng.multinomial(120, row) for row in rates])
    X = TfidfTransformer().fit_transform(counted)
    return Dataset("generated documents", X, len(SUBJECTS), "", "", "", feature_names=tuple(words))


try:
    documents = fetch_wos(download=False)
except DataUnavailableError:
    documents = generated_documents()
documents

# %%
# How many topics
# ---------------
# Real texts have topics within topics. Then the loss keeps falling without an elbow, the confidence is low,
# and the rank is a choice of resolution: the rule gives the rank where the gains begin to flatten, and a
# warning.

model = AutoNMF(random_state=0).fit(documents.X)
print(model.rank_estimate_)
print(f"confidence: {model.rank_estimate_.confidence:.2f}")
model.rank_estimate_.plot()
plt.show()

# %%
# The words of each topic
# -----------------------


def show_topics(fitted: AutoNMF) -> None:
    """The words that weigh most, with bars for their weights."""
    ComponentsDisplay.from_estimator(fitted, feature_names=documents.feature_names, n_top=8).plot()
    plt.show()


show_topics(model)

# %%
# A finer resolution
# ------------------
# The path has every rank already. The domains that the abstracts were taken from are seven; what does that
# rank look like? Given X, the solution is polished.

finer = model.at_rank(max(documents.rank, model.n_components_ + 1), documents.X)
show_topics(finer)
