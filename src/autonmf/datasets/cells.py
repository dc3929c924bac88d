"""Single cells: PBMC3K, with a cell a row and a gene a column."""

from __future__ import annotations

import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from autonmf.datasets.dataset import Dataset, floating
from autonmf.datasets.download import obtain
from autonmf.datasets.home import DataHome, find
from autonmf.datasets.stored import csr, read_all
from autonmf.readers import read_matrix
from autonmf.readers.table import ReadError, parsing

TARGET = 1e4
MIN_CELLS = 3
ARCHIVE = "pbmc3k_filtered_gene_bc_matrices.tar.gz"


def fetch_pbmc3k(
    *,
    normalize: bool = False,
    data_home: DataHome = None,
    download: bool = True,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """PBMC3K: 2700 blood cells x 13,714 genes, nine cell types; a CSR matrix of counts.

    Parameters
    ----------
    normalize : bool
        Scale each cell to 10,000 counts and take log(1 + x). Default: the raw counts.
    data_home : path, optional
        Folder with ``pbmc3k.npz`` or ``pbmc3k_filtered_gene_bc_matrices.tar.gz``, the archive of 10x
        Genomics, and for the download. Default: the folder that the environment variable ``AUTONMF_DATA``
        names, then a cache folder of the user's.
    download : bool
        Download the archive where neither file is there. It holds no cell types; its genes that are seen in
        fewer than three cells are left out, as in Seurat's tutorial.
    dtype : {float64, float32}
        Type of the entries.

    Returns
    -------
    Dataset
        `labels` are the cell types of Seurat's tutorial, where the file has them.
    """
    kind = floating(dtype)
    if stored := find("pbmc3k.npz", data_home):
        arrays = read_all(stored)
        X = csr(stored, arrays, kind)
        genes = tuple(map(str, arrays.get("genes", ())))
        labels = arrays["label_code"].astype(np.int64) if "label_code" in arrays else None
        names = tuple(map(str, arrays.get("label_names", ())))
        source = "10x Genomics, with Seurat's cell types; hmumme/scToolbox"
    else:
        X, genes = _archive(obtain(ARCHIVE, data_home, download), kind)
        labels, names, source = None, (), "10x Genomics"
    did = f"Counts as published; genes seen in fewer than {MIN_CELLS} cells left out"
    if normalize:
        X = normalized(X)
        did += f"; each cell scaled to {TARGET:,.0f} counts, then log(1 + x)"
    return Dataset(
        "pbmc3k",
        X,
        9,
        f"{did}.",
        source,
        "CC BY 4.0 (10x Genomics)",
        labels=labels,
        label_names=names,
        feature_names=genes,
    )


def normalized(X: Any) -> Any:
    """Counts with each row scaled to a sum of 10,000, then log(1 + x); an empty row stays empty."""
    totals = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    scale = np.divide(TARGET, totals, out=np.zeros_like(totals), where=totals > 0)
    X = X.copy()
    X.data = np.log1p(X.data * np.repeat(scale, np.diff(X.indptr))).astype(X.dtype)
    return X


def _archive(file: Path, dtype: np.dtype[Any]) -> tuple[Any, tuple[str, ...]]:
    """Counts and gene names of an archive of 10x Genomics, which stores genes x cells."""
    with tempfile.TemporaryDirectory() as folder:
        with parsing(file, "an archive of 10x Genomics"), tarfile.open(file) as archive:
            matrix = Path(folder, "matrix.mtx")
            matrix.write_bytes(_member(file, archive, matrix.name))
            lines = _member(file, archive, "genes.tsv").decode().splitlines()
        X = read_matrix(matrix).X.T
    if len(lines) != X.shape[1]:
        raise ReadError(f"{file} names {len(lines)} genes where its matrix has {X.shape[1]}")
    genes = np.array(unique([line.split("\t")[1] for line in lines]))
    seen = X.getnnz(axis=0) >= MIN_CELLS
    return sparse.csr_matrix(X)[:, seen].astype(dtype), tuple(map(str, genes[seen]))


def _member(file: Path, archive: tarfile.TarFile, name: str) -> bytes:
    for member in archive:
        if member.name.rpartition("/")[2] == name and (content := archive.extractfile(member)):
            return content.read()
    raise ReadError(f"{file} holds no {name}")


def unique(names: list[str]) -> list[str]:
    """The names with .1, .2, ... after those that came before, as R's ``make.unique`` numbers them."""
    taken, seen = set(names), Counter[str]()
    result = []
    for name in names:
        chosen = name
        if seen[name]:
            while (chosen := f"{name}.{seen[name]}") in taken:
                seen[name] += 1
        taken.add(chosen)
        seen[name] += 1
        result.append(chosen)
    return result
