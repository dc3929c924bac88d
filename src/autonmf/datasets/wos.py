"""Web of Science abstracts, with a document a row and a term a column."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, codes, floating
from autonmf.datasets.download import obtain
from autonmf.datasets.home import DataHome, find
from autonmf.datasets.stored import csr, read_all
from autonmf.datasets.tfidf import WEIGHTED, weighted, weighted_texts
from autonmf.readers.table import ReadError, parsing

LICENCE = "CC BY 4.0 (Kowsari et al., 2017)"


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
        Terms in fewer documents than the one, or in a larger share than the other, are left out. The paper
        does not say how it came to its 20,082 terms.
    data_home : path, optional
        Folder with ``wos_sample1000.tsv.gz`` or ``Data1k.txt``, for the 5736 with ``wos_5736.npz`` or
        ``WebOfScience.zip``, and for the download. Default: the folder that the environment variable
        ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download ``Data1k.txt`` (1.5 MB) or ``WebOfScience.zip`` (60 MB) where neither file is there.
    dtype : {float64, float32}
        Type of the entries.

    Returns
    -------
    Dataset
        ``wos_5736.npz`` holds counts, which are only weighted: `min_df` and `max_df` do not apply to it.
    """
    kind = floating(dtype)
    if subset == "sample":
        return _thousand(min_df, max_df, data_home, download, kind)
    if subset != "5736":
        raise ValueError(f"subset must be 'sample' or '5736', got {subset!r}")
    return _five_thousand(min_df, max_df, data_home, download, kind)


def _thousand(
    min_df: int, max_df: float, data_home: DataHome, download: bool, dtype: np.dtype[Any]
) -> Dataset:
    stored = find("wos_sample1000.tsv.gz", data_home)
    texts, domains = _table(stored or obtain("Data1k.txt", data_home, download))
    labels, names = codes(domains)
    X, terms, did = weighted_texts(texts, min_df, max_df, dtype)
    return Dataset(
        "wos-sample",
        X,
        7,
        did,
        "Kowsari et al. (2017), 1000 abstracts; harouzie/kltn",
        LICENCE,
        labels=labels,
        label_names=names,
        feature_names=terms,
        texts=tuple(texts),
    )


def _five_thousand(
    min_df: int, max_df: float, data_home: DataHome, download: bool, dtype: np.dtype[Any]
) -> Dataset:
    texts: list[str] = []
    if stored := find("wos_5736.npz", data_home):
        arrays = read_all(stored)
        X, did = weighted(csr(stored, arrays, dtype)), f"Counts as stored; {WEIGHTED}."
        labels, terms = arrays.get("label"), tuple(map(str, arrays.get("terms", ())))
    else:
        texts, labels = _archive(obtain("WebOfScience.zip", data_home, download))
        X, terms, did = weighted_texts(texts, min_df, max_df, dtype)
    return Dataset(
        "wos-5736",
        X,
        11,
        did,
        "Kowsari et al. (2017), WOS-5736; Mendeley Data 9rw3vkcfy4, version 6",
        LICENCE,
        labels=labels,
        feature_names=terms,
        texts=tuple(texts),
    )


def _table(file: Path) -> tuple[list[str], list[str]]:
    """Abstracts and domains of a table with tabs, whose quotation marks are text."""
    opened = gzip.open if file.suffix == ".gz" else open
    with (
        parsing(file, "a table of abstracts"),
        opened(file, "rt", encoding="utf-8", errors="replace", newline="") as stream,
    ):
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = next(rows)
        text, domain = header.index("Abstract"), header.index("Domain")
        kept = [row for row in rows if len(row) > max(text, domain)]
    return [row[text] for row in kept], [row[domain].strip() for row in kept]


def _archive(file: Path) -> tuple[list[str], Array]:
    """Abstracts and areas of WOS-5736 in the archive of Mendeley Data."""
    with parsing(file, "an archive of Web of Science abstracts"), zipfile.ZipFile(file) as archive:
        texts = _lines(file, archive, "WOS5736/X.txt")
        areas = np.array([int(line) for line in _lines(file, archive, "WOS5736/Y.txt")], dtype=np.int64)
    if len(texts) != len(areas):
        raise ReadError(f"{file} holds {len(texts)} abstracts and {len(areas)} areas")
    return texts, areas


def _lines(file: Path, archive: zipfile.ZipFile, end: str) -> list[str]:
    name = next((name for name in archive.namelist() if f"/{name}".endswith(f"/{end}")), None)
    if name is None:
        raise ReadError(f"{file} holds no {end}")
    with io.TextIOWrapper(archive.open(name), encoding="utf-8", errors="replace") as stream:
        return [line.rstrip("\n") for line in stream]
