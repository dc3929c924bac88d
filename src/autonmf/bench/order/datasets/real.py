"""Real data with an agreed reference. A reference is no truth: it counts labels, not components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.bench.order.family import Family, Instance, register
from autonmf.bench.order.home import find, need, read
from autonmf.datasets import (
    Dataset,
    fetch_bbc,
    fetch_jasper_ridge,
    fetch_leukemia,
    fetch_pbmc3k,
    fetch_samson,
    fetch_swimmer,
    fetch_wos,
)

Load = Callable[[str], Any]


def fetched(fetch: Callable[..., Dataset], **options: Any) -> Load:
    """X as its loader gives it, a sample a row; nothing is downloaded."""
    return lambda file: fetch(data_home=need(file).parent, download=False, **options).X


def scaled(load: Load) -> Load:
    """X divided by its largest entry."""

    def divided(file: str) -> Array:
        X = np.asarray(load(file), dtype=np.float64)
        return X / float(X.max())

    return divided


def transposed(load: Load) -> Load:
    """X with a feature a row."""
    return lambda file: load(file).T


def stored(file: str) -> Array:
    """X as it is stored."""
    return read(need(file), "X")


def reference(name: str, file: str, load: Load, rank: int, hard: str, *, large: bool = False) -> None:
    """Register a real data set."""

    def generate(seed: int) -> Instance:
        return Instance(load(file), rank, note=f"real data, {file}")

    register(
        Family(
            name, "real", generate, hard, large=large, seeds=(0,), available=lambda: find(file) is not None
        )
    )  # fmt: skip


samson, jasper, leukemia = (
    scaled(transposed(fetched(fetch))) for fetch in (fetch_samson, fetch_jasper_ridge, fetch_leukemia)
)
reference("samson", "samson.npz", samson, 3, "water is dark: a hundredth of the energy of soil")
reference("jasper", "jasper_ridge.npz", jasper, 4, "the road covers few pixels and resembles dirt")
reference("swimmer", "swimmer.npz", scaled(stored), 16, "no noise, linear rank 13, a torso in every image")
noisy = scaled(fetched(fetch_swimmer))
reference("swimmer-noisy", "swimmer_noisy.npz", noisy, 16, "a constant background beside the parts")
reference("leukemia", "leukemia.npz", leukemia, 3, "38 samples, genes of very different level")
abstracts = fetched(fetch_wos)
reference("wos", "wos_sample1000.tsv.gz", abstracts, 7, "short texts: the domains explain a few per cent")
counts, weighted = fetched(fetch_bbc), fetched(fetch_bbc, tfidf=True)
reference("bbc-counts", "bbc_news.npz", counts, 5, "long documents and frequent terms dominate", large=True)
reference("bbc-tfidf", "bbc_news.npz", weighted, 5, "five sections, many topics", large=True)
cells = fetched(fetch_pbmc3k, normalize=True)
reference("pbmc3k", "pbmc3k.npz", cells, 9, "cell types of 1 to 40 % of the cells, zeros", large=True)
