"""Documents: BBC news and Web of Science abstracts, with documents in rows and terms in columns."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, check_dtype, encode_labels, read_csr
from autonmf.datasets.fetching import DataHome, fetch_file, find
from autonmf.io import normalize, read_matrix
from autonmf.io.table import ReadError, explain_errors

SECTIONS = ("business", "entertainment", "politics", "sport", "tech")
WEIGHTED = "tf-idf with smoothed natural idf, rows of unit length"


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
        Weight the counts by tf-idf. In raw counts, the default, long articles and frequent terms dominate.
    data_home, download, dtype
        As in `fetch_samson`; the files are ``bbc_news.npz``, or ``bbc.mtx``, ``bbc.terms`` and
        ``bbc.classes``, which alone hold the terms.
    """
    kind = check_dtype(dtype)
    terms: tuple[str, ...] = ()
    if stored := find("bbc_news.npz", data_home):
        X, arrays = read_csr(stored, kind)
        labels = arrays["label"].astype(np.int64)
    else:
        matrix, named, classes = (
            fetch_file(f"bbc.{end}", data_home, download) for end in ("mtx", "terms", "classes")
        )
        X = sparse.csr_matrix(read_matrix(matrix).X.T).astype(kind)
        terms = tuple(named.read_text("utf-8").split())
        labels = _read_classes(classes)
        if X.shape != (len(labels), len(terms)):
            raise ReadError(
                f"{matrix} has {X.shape[1]} terms x {X.shape[0]} documents, where {named.name} names "
                f"{len(terms)} and {classes.name} {len(labels)}"
            )
    done = "Counts as published: stemmed, stop words and terms of fewer than three occurrences left out"
    return Dataset(
        "bbc",
        normalize(X, "tfidf") if tfidf else X,
        5,
        f"{done}; {WEIGHTED}." if tfidf else f"{done}.",
        "Greene and Cunningham (2006); mohit3011/Document-Classification-and-Clustering",
        "the BBC owns the articles; published for research",
        labels=labels,
        label_names=SECTIONS,
        feature_names=terms,
    )


def _read_classes(file: Path) -> Array:
    """Read the class of each document from lines with its number and that of its class."""
    lines = [line.split() for line in file.read_text("utf-8").splitlines() if not line.startswith("%")]
    with explain_errors(file, "a list of classes"):
        pairs = sorted((int(document), int(section)) for document, section in lines if document)
    return np.array([section for _, section in pairs], dtype=np.int64)


def fetch_wos(
    *,
    subset: Literal["sample", "5736"] = "sample",
    min_df: int = 5,
    max_df: float = 0.5,
    data_home: DataHome = None,
    download: bool = True,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Web of Science abstracts as tf-idf: 1000 of seven domains, or WOS-5736 of eleven areas.

    Parameters
    ----------
    subset : {"sample", "5736"}
        A sample of 1000 abstracts, or the 5736 that the paper uses.
    min_df, max_df : int and float
        Terms in fewer documents than `min_df`, or in a larger fraction than `max_df`, are left out. The paper
        does not say how it arrived at 20,082 terms.
    data_home, download, dtype
        As in `fetch_samson`; the file is ``wos_sample1000.tsv.gz`` or ``Data1k.txt`` (1.5 MB), for the 5736
        ``WebOfScience.zip`` (60 MB).
    """
    kind = check_dtype(dtype)
    if subset not in ("sample", "5736"):
        raise ValueError(f"subset must be 'sample' or '5736', got {subset!r}")
    if subset == "sample":
        rank, source = 7, "Kowsari et al. (2017), 1000 abstracts; harouzie/kltn"
        stored = find("wos_sample1000.tsv.gz", data_home)
        texts, domains = _read_table(stored or fetch_file("Data1k.txt", data_home, download))
        labels, names = encode_labels(domains)
    else:
        rank, source = 11, "Kowsari et al. (2017), WOS-5736; Mendeley Data 9rw3vkcfy4, version 6"
        texts, labels = _read_archive(fetch_file("WebOfScience.zip", data_home, download))
        names = ()
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english", min_df=min_df, max_df=max_df, dtype=kind)
    X = sparse.csr_matrix(vectorizer.fit_transform(texts))
    return Dataset(
        f"wos-{subset}",
        X,
        rank,
        "Lower-case words of two letters or more without scikit-learn's English stop words, in at least "
        f"{min_df} documents and at most {max_df:.0%} of them; {WEIGHTED}.",
        source,
        "CC BY 4.0 (Kowsari et al., 2017)",
        labels=labels,
        label_names=names,
        feature_names=tuple(map(str, vectorizer.get_feature_names_out())),
        texts=tuple(texts),
    )


def _read_table(file: Path) -> tuple[list[str], list[str]]:
    """Read abstracts and domains from a table with tabs, whose quotation marks are text."""
    opened = gzip.open if file.suffix == ".gz" else open
    with (
        explain_errors(file, "a table of abstracts"),
        opened(file, "rt", encoding="utf-8", errors="replace", newline="") as stream,
    ):
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = next(rows)
        text, domain = header.index("Abstract"), header.index("Domain")
        kept = [row for row in rows if len(row) > max(text, domain)]
    return [row[text] for row in kept], [row[domain].strip() for row in kept]


def _read_archive(file: Path) -> tuple[list[str], Array]:
    """Read abstracts and areas of WOS-5736 from the archive of Mendeley Data."""
    with explain_errors(file, "an archive of Web of Science abstracts"), zipfile.ZipFile(file) as archive:
        texts = _read_lines(file, archive, "WOS5736/X.txt")
        areas = np.array([int(line) for line in _read_lines(file, archive, "WOS5736/Y.txt")], dtype=np.int64)
    if len(texts) != len(areas):
        raise ReadError(f"{file} holds {len(texts)} abstracts and {len(areas)} areas")
    return texts, areas


def _read_lines(file: Path, archive: zipfile.ZipFile, end: str) -> list[str]:
    name = next((name for name in archive.namelist() if f"/{name}".endswith(f"/{end}")), None)
    if name is None:
        raise ReadError(f"{file} holds no {end}")
    with io.TextIOWrapper(archive.open(name), encoding="utf-8", errors="replace") as stream:
        return [line.rstrip("\n") for line in stream]
