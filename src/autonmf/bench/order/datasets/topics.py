"""Documents drawn as in latent Dirichlet allocation."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.bench.order.factors import Generator, mixtures
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.home import find, read_csr


@drawn(
    "topics",
    "semi",
    hard="short documents, frequent terms that every topic uses, topics that share documents",
)
def topics(rng: Generator) -> Instance:
    """Four to fifteen topics over 500 to 1000 terms, in 400 to 1000 documents of 100 to 300 words.

    Topics are Dirichlet around the frequencies of the terms in the BBC news, or around Zipf's law.
    """
    documents, terms, rank = (
        int(rng.integers(400, 1001)),
        int(rng.integers(500, 1001)),
        int(rng.integers(4, 16)),
    )
    base, source = term_frequencies(terms)
    V = rng.dirichlet(np.maximum(rng.uniform(0.05, 0.1) * terms * base, 1e-3), rank).T
    lengths = rng.poisson(rng.uniform(100.0, 300.0), documents) + 20
    U = lengths[:, None] * mixtures(documents, rank, rng.uniform(0.1, 0.3), rng)
    X = np.array(
        [rng.multinomial(length, row / row.sum()) for length, row in zip(lengths, U @ V.T, strict=True)]
    )
    return Instance(X.astype(np.float64), rank, U, V, f"{source}, {lengths.mean():.0f} words a document")


def term_frequencies(terms: int) -> tuple[Array, str]:
    """The frequencies of the most frequent terms, and where they are from."""
    file = find("bbc_news.npz")
    if file is None:
        base, source = 1.0 / (np.arange(terms) + 10.0), "Zipf's law"
    else:
        totals = np.asarray(read_csr(file).sum(axis=0)).ravel()
        base, source = np.sort(totals)[::-1][:terms], "real term frequencies (BBC)"
    return base / base.sum(), source
