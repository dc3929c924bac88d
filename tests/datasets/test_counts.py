"""Cells, documents, patients and pictures from small files of the published layouts."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.io import mmwrite, savemat

from autonmf.datasets import fetch_bbc, fetch_leukemia, fetch_olivetti, fetch_pbmc3k, fetch_swimmer, fetch_wos
from autonmf.datasets.genomics import make_unique
from autonmf.io import ReadError


def counts(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).poisson(0.7, (rows, columns))


def save_csr(file: Path, X: np.ndarray, **more: Any) -> None:
    parts = sparse.csr_matrix(X.astype(np.uint16))
    np.savez(
        file, data=parts.data, indices=parts.indices, indptr=parts.indptr, shape=np.array(X.shape), **more
    )


def matrix_market(X: np.ndarray) -> bytes:
    stream = io.BytesIO()
    mmwrite(stream, sparse.coo_matrix(X))
    return stream.getvalue()


def tfidf(X: np.ndarray) -> np.ndarray:
    """By the formula of scikit-learn's user guide."""
    weights = X * (np.log((1 + len(X)) / (1 + (X > 0).sum(axis=0))) + 1)
    return weights / np.linalg.norm(weights, axis=1, keepdims=True)


# Cells

GENES = ["A", "B", "A", "C", "A.1", "A"]


def write_10x(file: Path, X: np.ndarray, genes: Iterable[str] = GENES) -> None:
    content = {
        "barcodes.tsv": "".join(f"CELL{i}-1\n" for i in range(len(X))).encode(),
        "genes.tsv": "".join(f"ENSG{i}\t{gene}\n" for i, gene in enumerate(genes)).encode(),
        "matrix.mtx": matrix_market(X.T),
    }
    with tarfile.open(file, "w:gz") as archive:
        for name, text in content.items():
            member = tarfile.TarInfo(f"filtered_gene_bc_matrices/hg19/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def cells() -> np.ndarray:
    X = counts(8, 6) + 1
    X[2:, 1] = 0  # B is seen in two cells only
    X[3:, 3] = 0  # C in three
    return X


def test_cells_as_published(server: Any, tmp_path: Path) -> None:
    X = cells()
    write_10x(server.folder / "pbmc3k_filtered_gene_bc_matrices.tar.gz", X)
    data = fetch_pbmc3k(data_home=tmp_path / "home")
    assert data.X.format == "csr"
    assert_array_equal(data.X.toarray(), X[:, [0, 2, 3, 4, 5]])
    assert data.feature_names == ("A", "A.2", "C", "A.1", "A.3")
    assert data.labels is None
    assert data.rank == 9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cells_of_a_data_home(tmp_path: Path, dtype: type) -> None:
    X = cells()
    X[5] = 0  # an empty cell
    save_csr(
        tmp_path / "pbmc3k.npz", X, label_code=np.int16([0, 1, -1, 0, 1, 0, 0, 1]),
        label_names=["B", "NK"], genes=list("abcdef"),
    )  # fmt: skip
    data = fetch_pbmc3k(data_home=tmp_path, dtype=dtype)
    assert data.X.dtype == dtype
    assert_array_equal(data.X.toarray(), X)
    assert data.feature_names == tuple("abcdef")
    assert data.label_names == ("B", "NK")
    assert_array_equal(data.labels, [0, 1, -1, 0, 1, 0, 0, 1])
    logged = fetch_pbmc3k(data_home=tmp_path, normalize=True, dtype=dtype)
    assert logged.X.dtype == dtype
    totals = np.maximum(X.sum(axis=1, keepdims=True), 1)
    assert_allclose(logged.X.toarray(), np.log1p(1e4 * X / totals), rtol=1e-6)
    assert_allclose(np.expm1(logged.X.astype(np.float64).toarray()).sum(axis=1)[[0, 5]], [1e4, 0], rtol=1e-5)
    assert "10,000" in logged.preprocessing
    assert "10,000" not in data.preprocessing


def test_names_become_unique() -> None:
    """The examples of R's help page on make.unique."""
    assert make_unique(["a", "a", "a"]) == ["a", "a.1", "a.2"]
    assert make_unique(["a", "a", "a.2", "a"]) == ["a", "a.1", "a.2", "a.3"]


def test_cells_of_other_archives(tmp_path: Path) -> None:
    file = tmp_path / "pbmc3k_filtered_gene_bc_matrices.tar.gz"
    write_10x(file, cells(), genes=["A", "B"])
    with pytest.raises(ReadError, match="names 2 genes where its matrix has 6"):
        fetch_pbmc3k(data_home=tmp_path)
    with tarfile.open(file, "w:gz"):
        pass
    with pytest.raises(ReadError, match=r"holds no matrix\.mtx"):
        fetch_pbmc3k(data_home=tmp_path)
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(ReadError, match=r"cannot read .*10x"):
        fetch_pbmc3k(data_home=tmp_path)


# Documents

TEXTS = [
    "Neural networks learn; the networks learn slowly",
    "Bridges of steel and \"steel\" networks, 20 per cent",
    "Memory and neural memory in patients",
    "Steel bridges carry patients",
]  # fmt: skip
DOMAINS = ["CS ", "Civil ", "Psychology  ", "Civil "]
TERMS = (
    "20",
    "bridges",
    "carry",
    "cent",
    "learn",
    "memory",
    "networks",
    "neural",
    "patients",
    "slowly",
    "steel",
)
TERM_COUNTS = np.array(
    [
        [0, 0, 0, 0, 2, 0, 2, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 2],
        [0, 0, 0, 0, 0, 2, 0, 1, 1, 0, 0],
        [0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1],
    ]
)


def abstracts() -> str:
    rows = [f"0\t1\t2\t{d}\t area \tkeywords\t{t}\n" for d, t in zip(DOMAINS, TEXTS, strict=True)]
    return "Y1\tY2\tY\tDomain\tarea\tkeywords\tAbstract\n" + "".join(rows)


def write_wos(folder: Path, layout: str) -> None:
    if layout == "gz":
        with gzip.open(folder / "wos_sample1000.tsv.gz", "wt", encoding="utf-8") as stream:
            stream.write(abstracts() + "a line that is too short\n")
    elif layout == "txt":
        (folder / "Data1k.txt").write_text(abstracts(), encoding="utf-8")
    else:
        with zipfile.ZipFile(folder / "WebOfScience.zip", "w") as archive:
            for name, lines in {"X": TEXTS, "Y": ["10", "0", "3", "0"], "YL1": ["0", "1", "2", "1"]}.items():
                archive.writestr(f"WOS5736/{name}.txt", "".join(f"{line}\n" for line in lines))
                archive.writestr(f"WOS11967/{name}.txt", "other\n")


@pytest.mark.parametrize("layout", ["gz", "txt"])
def test_wos_sample(server: Any, tmp_path: Path, layout: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    write_wos(home if layout == "gz" else server.folder, layout)
    data = fetch_wos(min_df=1, max_df=0.9, data_home=home)
    assert data.feature_names == TERMS
    assert_allclose(data.X.toarray(), tfidf(TERM_COUNTS), rtol=1e-12)
    assert data.label_names == ("CS", "Civil", "Psychology")
    assert_array_equal(data.labels, [0, 1, 2, 1])
    assert data.texts == tuple(TEXTS)
    assert data.rank == 7
    fewer = fetch_wos(min_df=2, data_home=home, dtype=np.float32)
    assert fewer.feature_names == ("bridges", "networks", "neural", "patients", "steel")
    assert fewer.X.dtype == np.float32
    assert "at least 2 documents and at most 50% of them" in fewer.preprocessing


def test_wos_5736_as_published(server: Any, tmp_path: Path) -> None:
    write_wos(server.folder, "zip")
    data = fetch_wos(subset="5736", min_df=1, max_df=0.9, data_home=tmp_path / "home")
    assert data.feature_names == TERMS
    assert_allclose(data.X.toarray(), tfidf(TERM_COUNTS), rtol=1e-12)
    assert_array_equal(data.labels, [10, 0, 3, 0])
    assert data.texts == tuple(TEXTS)
    assert data.rank == 11


def test_wos_of_other_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'sample' or '5736', got '46985'"):
        fetch_wos(subset="46985")  # type: ignore[arg-type]
    file = tmp_path / "WebOfScience.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("WOS5736/X.txt", "one\ntwo\n")
        archive.writestr("WOS5736/Y.txt", "1\n")
    with pytest.raises(ReadError, match="2 abstracts and 1 areas"):
        fetch_wos(subset="5736", data_home=tmp_path)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("otherWOS5736/X.txt", "one\n")
    with pytest.raises(ReadError, match=r"holds no WOS5736/X\.txt"):
        fetch_wos(subset="5736", data_home=tmp_path)


@pytest.mark.parametrize("layout", ["npz", "published"])
def test_bbc(server: Any, tmp_path: Path, layout: str) -> None:
    home, X = tmp_path / "home", counts(5, 4) + np.eye(5, 4, dtype=int)
    home.mkdir()
    X[4, 0] = 3
    if layout == "npz":
        save_csr(home / "bbc_news.npz", X, label=np.arange(5), order=5)
    else:
        (server.folder / "bbc.mtx").write_bytes(matrix_market(X.T))
        (server.folder / "bbc.terms").write_text("ad\nsale\nboost\ntime\n")
        (server.folder / "bbc.classes").write_text(
            "%%Clustering hard\n%Clusters 5 business,entertainment,politics,sport,tech\n%Objects\n"
            "0 0\n1 1\n2 2\n4 4\n3 3\n"
        )
    data = fetch_bbc(data_home=home)
    assert data.X.format == "csr"
    assert_array_equal(data.X.toarray(), X)
    assert_array_equal(data.labels, np.arange(5))
    assert data.label_names == ("business", "entertainment", "politics", "sport", "tech")
    assert data.feature_names == (() if layout == "npz" else ("ad", "sale", "boost", "time"))
    weighted = fetch_bbc(data_home=home, tfidf=True)
    assert_allclose(weighted.X.toarray(), tfidf(X), rtol=1e-12)
    assert "tf-idf" in weighted.preprocessing
    assert "tf-idf" not in data.preprocessing
    if layout == "published":
        (home / "bbc.terms").unlink()
        (home / "bbc.terms.download.json").unlink()
        (home / "bbc.terms").write_text("ad\n")
        with pytest.raises(ReadError, match=r"4 terms x 5 documents, where bbc\.terms names 1"):
            fetch_bbc(data_home=home)


def test_damaged_csr(tmp_path: Path) -> None:
    np.savez(tmp_path / "bbc_news.npz", X=np.ones((2, 2)))
    with pytest.raises(ReadError, match="not a CSR matrix: it holds no data, indices, indptr, shape"):
        fetch_bbc(data_home=tmp_path)
    np.savez(tmp_path / "bbc_news.npz", data=[1.0], indices=[9], indptr=[0, 1], shape=[1, 2], label=[0])
    with pytest.raises(ReadError, match=r"cannot read .*bbc_news"):
        fetch_bbc(data_home=tmp_path)


# Patients


def test_leukemia(server: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(20, 6000, (4, 6))
    names = ["ALL_19769_B-cell", "ALL_R11_B-cell", "ALL_9186_T-cell", "AML_12"]
    table = "\r\n".join("\t".join(map(str, row)) for row in X.T)
    (server.folder / "ALL_AML_data.txt").write_text(table + "\r\n", newline="")
    genes = [f"G{i}_at" for i in range(6)]
    described = "".join(f"{gene}\tGene, with a description\r\n" for gene in genes)
    (server.folder / "ALL_AML_genes.txt").write_text("Name\tDescription\r\n" + described, newline="")
    (server.folder / "ALL_AML_samples.txt").write_text("\r\n".join(names) + "\r\n" + 50 * "\0", newline="")
    published = fetch_leukemia(data_home=tmp_path / "published home")
    assert published.feature_names == tuple(genes)

    np.savez(tmp_path / "leukemia.npz", X=X.T.astype(np.float32), label=["B-cell", "B-cell", "T-cell", "AML"])
    for data in (published, fetch_leukemia(data_home=tmp_path)):
        assert data.X.dtype == np.float64
        assert_array_equal(data.X, X)
        assert data.label_names == ("B-cell", "T-cell", "AML")
        assert_array_equal(data.labels, [0, 0, 1, 2])
        assert data.rank == 3

    (server.folder / "ALL_AML_samples.txt").write_text(names[0])
    with pytest.raises(ReadError, match=r"6 genes x 4 samples, where ALL_AML_genes\.txt names 6"):
        fetch_leukemia(data_home=tmp_path / "another home")


# Pictures


@pytest.mark.parametrize("layout", ["npz", "published"])
def test_olivetti(server: Any, tmp_path: Path, layout: str) -> None:
    home, X = tmp_path / "home", np.random.default_rng(0).integers(0, 256, (30, 4096)).astype(np.uint8)
    home.mkdir()
    if layout == "npz":
        np.savez(home / "olivetti_faces.npz", X=X, subject=np.repeat([0, 1, 2], 10), order=-1)
    else:
        savemat(
            server.folder / "olivettifaces.mat", {"faces": X.T, "p": np.ones((4, 4)), "u": np.ones((4, 1))}
        )
    data = fetch_olivetti(data_home=home)
    assert data.X.dtype == np.float64
    assert_array_equal(data.X, X)
    assert_array_equal(data.labels, np.repeat([0, 1, 2], 10))
    assert data.rank is None
    assert_array_equal(data.image(data.X[3]), X[3].reshape(64, 64).T)
    assert fetch_olivetti(data_home=home, dtype="float32").X.dtype == np.float32


@pytest.mark.parametrize("layout", ["npz", "published"])
def test_swimmer(server: Any, tmp_path: Path, layout: str) -> None:
    home, X = tmp_path / "home", counts(6, 1024)
    home.mkdir()
    if layout == "npz":
        np.savez(home / "swimmer_noisy.npz", X=X.astype(np.uint8), order=16)
    else:
        savemat(server.folder / "swimmer.mat", {"V": X.T})
    data = fetch_swimmer(data_home=home)
    assert_array_equal(data.X, X)
    assert data.rank == 16
    assert_array_equal(data.image(data.X[1]), X[1].reshape(32, 32))


def test_no_picture(tmp_path: Path) -> None:
    save_csr(tmp_path / "bbc_news.npz", counts(5, 4), label=np.arange(5))
    with pytest.raises(ValueError, match="bbc holds no images"):
        fetch_bbc(data_home=tmp_path).image(np.ones(4))
