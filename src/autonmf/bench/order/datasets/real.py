"""Real data with an agreed reference. A reference is no truth: it counts labels, not components."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.bench.order.family import Family, Instance, register
from autonmf.bench.order.home import find, need, read, read_csr

TARGET = 1e4


def dense(file: str) -> Array:
    """X as stored, divided by its largest entry."""
    X = read(need(file), "X").astype(np.float64)
    scaled: Array = X / X.max()
    return scaled


def counts(file: str) -> Any:
    """Counts as stored, CSR."""
    return read_csr(need(file))


def weighted_counts(file: str) -> Any:
    """tf-idf of counts: natural idf with smoothing, rows of unit norm (scikit-learn's defaults)."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return sparse.csr_matrix(TfidfTransformer().fit_transform(counts(file)))


def expression(file: str) -> Any:
    """Each cell scaled to 10,000 counts, then log(1 + x)."""
    X = counts(file)
    X = sparse.csr_matrix(sparse.diags(TARGET / np.asarray(X.sum(axis=1)).ravel()) @ X)
    X.data = np.log1p(X.data)
    return X


def abstracts(file: str) -> Any:
    """tf-idf of the abstracts: English stop words out, terms in at least 5 and at most half of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    with gzip.open(need(file), "rt", encoding="utf-8", errors="replace", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        column = next(rows).index("Abstract")
        texts = [row[column] for row in rows if len(row) > column]
    return sparse.csr_matrix(TfidfVectorizer(stop_words="english", min_df=5, max_df=0.5).fit_transform(texts))


def reference(
    name: str, file: str, load: Callable[[str], Any], rank: int, hard: str, *, large: bool = False
) -> None:
    """Register a real data set."""

    def generate(seed: int) -> Instance:
        return Instance(load(file), rank, note=f"real data, {file}")

    register(
        Family(
            name, "real", generate, hard, large=large, seeds=(0,), available=lambda: find(file) is not None
        )
    )  # fmt: skip


reference("samson", "samson.npz", dense, 3, "water is dark: a hundredth of the energy of soil")
reference("jasper", "jasper_ridge.npz", dense, 4, "the road covers few pixels and resembles dirt")
reference("swimmer", "swimmer.npz", dense, 16, "no noise, linear rank 13, a torso in every image")
reference("swimmer-noisy", "swimmer_noisy.npz", dense, 16, "a constant background beside the parts")
reference("leukemia", "leukemia.npz", dense, 3, "38 samples, genes of very different level")
reference("wos", "wos_sample1000.tsv.gz", abstracts, 7, "short texts: the domains explain a few per cent")
reference("bbc-counts", "bbc_news.npz", counts, 5, "long documents and frequent terms dominate", large=True)
reference("bbc-tfidf", "bbc_news.npz", weighted_counts, 5, "five sections, many topics", large=True)
reference("pbmc3k", "pbmc3k.npz", expression, 9, "cell types of 1 to 40 % of the cells, zeros", large=True)
