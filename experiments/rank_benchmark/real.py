"""Real data with an agreed reference. A reference is no truth: it counts labels, not components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autonmf._types import Array
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
from autonmf.datasets.dataset import read_npz
from experiments.rank_benchmark.families import Family, Instance, register
from experiments.shared import find_file, need_file

Load = Callable[[str], Any]


def fetch_with(fetch: Callable[..., Dataset], **options: Any) -> Load:
    """X as its loader gives it, samples in rows; nothing is downloaded."""
    return lambda file: fetch(data_home=need_file(file).parent, download=False, **options).X


def scale_to_one(load: Load) -> Load:
    """X divided by its largest entry."""

    def divide(file: str) -> Array:
        X = np.asarray(load(file), dtype=np.float64)
        return X / float(X.max())

    return divide


def transpose(load: Load) -> Load:
    """X with features in rows."""
    return lambda file: load(file).T


def read_stored(file: str) -> Array:
    """X as it is stored."""
    return read_npz(need_file(file))["X"]


def reference(name: str, file: str, load: Load, rank: int, hard: str, *, large: bool = False) -> None:
    """Register a real data set."""

    def generate(seed: int) -> Instance:
        return Instance(load(file), rank, note=f"real data, {file}")

    def available() -> bool:
        return find_file(file) is not None

    register(Family(name, "real", generate, hard, large=large, seeds=(0,), available=available))


samson, jasper, leukemia = (
    scale_to_one(transpose(fetch_with(fetch))) for fetch in (fetch_samson, fetch_jasper_ridge, fetch_leukemia)
)
reference("samson", "samson.npz", samson, 3, "water is dark: a hundredth of the energy of soil")
reference("jasper", "jasper_ridge.npz", jasper, 4, "the road covers few pixels and resembles dirt")
reference(
    "swimmer",
    "swimmer.npz",
    scale_to_one(read_stored),
    16,
    "no noise, linear rank 13, a torso in every image",
)
noisy = scale_to_one(fetch_with(fetch_swimmer))
reference("swimmer-noisy", "swimmer_noisy.npz", noisy, 16, "a constant background beside the parts")
reference("leukemia", "leukemia.npz", leukemia, 3, "38 samples, genes of very different level")
abstracts = fetch_with(fetch_wos)
reference("wos", "wos_sample1000.tsv.gz", abstracts, 7, "short texts: the domains explain a few per cent")
counts, weighted = fetch_with(fetch_bbc), fetch_with(fetch_bbc, tfidf=True)
reference("bbc-counts", "bbc_news.npz", counts, 5, "long documents and frequent terms dominate", large=True)
reference("bbc-tfidf", "bbc_news.npz", weighted, 5, "five sections, many topics", large=True)
cells = fetch_with(fetch_pbmc3k, normalize=True)
reference("pbmc3k", "pbmc3k.npz", cells, 9, "cell types of 1 to 40 % of the cells, zeros", large=True)
