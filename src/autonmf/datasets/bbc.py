"""BBC news, with an article a row and a term a column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, floating
from autonmf.datasets.download import obtain
from autonmf.datasets.home import DataHome, find
from autonmf.datasets.stored import csr, read_all
from autonmf.datasets.tfidf import WEIGHTED, weighted
from autonmf.readers import read_matrix
from autonmf.readers.table import ReadError, parsing

SECTIONS = ("business", "entertainment", "politics", "sport", "tech")


def fetch_bbc(
    *,
    tfidf: bool = False,
    data_home: DataHome = None,
    download: bool = True,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """BBC news: 2225 articles x 9635 terms, five sections; a CSR matrix of counts.

    Parameters
    ----------
    tfidf : bool
        Weight the counts. Default: the counts, in which long articles and frequent terms dominate.
    data_home : path, optional
        Folder with ``bbc_news.npz`` or the three files ``bbc.mtx``, ``bbc.terms`` and ``bbc.classes``, and
        for the download. Default: the folder that the environment variable ``AUTONMF_DATA`` names, then a
        cache folder of the user's.
    download : bool
        Download the three files where nothing is there; only they hold the terms.
    dtype : {float64, float32}
        Type of the entries.

    Returns
    -------
    Dataset
    """
    kind = floating(dtype)
    terms: tuple[str, ...] = ()
    if stored := find("bbc_news.npz", data_home):
        arrays = read_all(stored)
        X, labels = csr(stored, arrays, kind), arrays["label"].astype(np.int64)
    else:
        matrix, named, classes = (
            obtain(f"bbc.{end}", data_home, download) for end in ("mtx", "terms", "classes")
        )
        X = sparse.csr_matrix(read_matrix(matrix).X.T).astype(kind)
        terms = tuple(named.read_text("utf-8").split())
        labels = _clusters(classes)
        if X.shape != (len(labels), len(terms)):
            raise ReadError(
                f"{matrix} has {X.shape[1]} terms x {X.shape[0]} documents, where {named.name} names "
                f"{len(terms)} and {classes.name} {len(labels)}"
            )
    did = "Counts as published: stemmed, stop words and terms of fewer than three occurrences left out"
    return Dataset(
        "bbc",
        weighted(X) if tfidf else X,
        5,
        f"{did}; {WEIGHTED}." if tfidf else f"{did}.",
        "Greene and Cunningham (2006); mohit3011/Document-Classification-and-Clustering",
        "the BBC owns the articles; published for research",
        labels=labels,
        label_names=SECTIONS,
        feature_names=terms,
    )


def _clusters(file: Path) -> Array:
    """The class of each document: a line each with its number and that of its class."""
    lines = [line.split() for line in file.read_text("utf-8").splitlines() if not line.startswith("%")]
    with parsing(file, "a list of classes"):
        pairs = sorted((int(document), int(section)) for document, section in lines if document)
    return np.array([section for _, section in pairs], dtype=np.int64)
