"""Binary files, written by the programs that usually write them."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io, sparse

from autonmf.io import EXTENSIONS, ReadError, read_matrix

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.5], [0.0, 0.0, 6.0]])


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path: Path, dtype: str, order: str) -> None:
    array = X.astype(dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    found = read_matrix(tmp_path / "x.npy").X
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1, "a"]], dtype=object), "holds Python objects"),
        (np.array([["a", "b"]]), "not numbers"),
        (np.array([["2020-01-01"]], dtype="M8"), "not numbers"),
        (np.ones(3), r"1 dimension\(s\), shape 3"),
        (np.ones((2, 3, 4)), "shape 2 x 3 x 4"),
        (np.array(3.0), r"0 dimension\(s\)"),
        (np.zeros(2, dtype=[("a", float)]), "dimension|not numbers"),
    ],
)
def test_npy_refuses(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    np.savez(tmp_path / "x.npz", X=array)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ReadError, match=message):
            read_matrix(tmp_path / name)


def test_npy_that_is_a_pickle(tmp_path: Path) -> None:
    X.dump(tmp_path / "x.npy")
    with pytest.raises(ReadError, match=r"not a NumPy \.npy file"):
        read_matrix(tmp_path / "x.npy")


def test_npz(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    np.savez(file, X)
    np.testing.assert_array_equal(read_matrix(file).X, X)
    np.savez_compressed(file, X=X, Y=2 * X, names=np.array(["a"], dtype=object))
    np.testing.assert_array_equal(read_matrix(file).X, X)
    np.testing.assert_array_equal(read_matrix(file, variable="Y").X, 2 * X)
    np.savez(file, data=X, rank=3, label=np.arange(4), names=np.array(["a"], dtype=object))
    np.testing.assert_array_equal(read_matrix(file).X, X)
    np.savez(file, A=X, B=X)
    with pytest.raises(ReadError, match=r"2 matrices: choose one with --var NAME; .*A \(4 x 3 float64\), B"):
        read_matrix(file)
    with pytest.raises(ReadError, match="no variable 'C'; it holds A"):
        read_matrix(file, variable="C")
    np.savez(file, **{f"v{i}": np.ones(2) for i in range(30)})
    with pytest.raises(ReadError, match=r"no numeric matrix; it holds v0 .* and 18 more"):
        read_matrix(file)
    np.savez(file)
    with pytest.raises(ReadError, match="it holds nothing"):
        read_matrix(file)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_npz(tmp_path: Path, kind: str) -> None:
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix(X).asformat(kind))
    found = read_matrix(tmp_path / "x.npz").X
    assert found.format in ("csr", "csc")
    np.testing.assert_array_equal(found.toarray(), X)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_npz_of_sparse_parts(tmp_path: Path, kind: Any) -> None:
    matrix = kind(X)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    np.savez(tmp_path / "x.npz", **parts, label=np.arange(4))
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.npz").X.toarray(), X)
    overshoot = np.full_like(matrix.indptr, 10**6)
    overshoot[[0, -1]] = 0
    for wrong in ({"indices": matrix.indices + 100}, {"indptr": overshoot}):
        np.savez(tmp_path / "x.npz", **parts | wrong)
        with pytest.raises(ReadError, match="damaged"):  # or else a crash in compiled code
            read_matrix(tmp_path / "x.npz")


@pytest.mark.parametrize("matrix", [X, sparse.coo_matrix(X), sparse.coo_matrix(X > 0)])
@pytest.mark.parametrize("name", ["x.mtx", "x.mtx.gz", "X.MTX"])
def test_matrix_market(tmp_path: Path, matrix: Any, name: str) -> None:
    io.mmwrite(tmp_path / "written.mtx", matrix)
    content = (tmp_path / "written.mtx").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / name).X), dense(matrix))


@pytest.mark.parametrize("storage", ["coordinate", "array"])
def test_symmetric_matrix_market(tmp_path: Path, storage: str) -> None:
    A = X[:3] + X[:3].T
    io.mmwrite(tmp_path / "x.mtx", A if storage == "array" else sparse.coo_matrix(A), symmetry="symmetric")
    assert f"{storage} real symmetric" in (tmp_path / "x.mtx").read_text()
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / "x.mtx").X), A)


@pytest.mark.parametrize("storage", ["coordinate", "array"])
def test_skew_symmetric_matrix_market_is_negative_somewhere(tmp_path: Path, storage: str) -> None:
    A = X[:3] - X[:3].T
    skew = A if storage == "array" else sparse.coo_matrix(A)
    io.mmwrite(tmp_path / "x.mtx", skew, symmetry="skew-symmetric")
    with pytest.raises(ReadError, match=r"x\.mtx is skew-symmetric; a nonnegative matrix is"):
        read_matrix(tmp_path / "x.mtx")


def test_matrix_market_with_null_bytes(tmp_path: Path) -> None:
    """As SciPy writes it with 22 digits or more; its reader ends the program (scipy/scipy#19949)."""
    number = b"3.333333333333333148296163\0\0\0\0"
    content = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 "
    (tmp_path / "x.mtx").write_bytes(content + number + b"\n")
    with pytest.raises(ReadError, match=r"x\.mtx"):
        read_matrix(tmp_path / "x.mtx")
    (tmp_path / "x.mtx").write_bytes(content + number.rstrip(b"\0") + b"\n")
    assert read_matrix(tmp_path / "x.mtx").X.toarray() == 3.333333333333333148296163


@pytest.mark.parametrize(
    "content",
    [
        "1 2 3\n",
        "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n",
        "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 2\n",
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        "%%MatrixMarket matrix coordinate real general\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 99999999999999\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",  # an entry is missing
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",  # outside
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 one\n",
    ],
)
def test_bad_matrix_market(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.mtx").write_text(content)
    with pytest.raises(ReadError, match=r"x\.mtx"):
        read_matrix(tmp_path / "x.mtx")


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("matrix", [X, sparse.csc_matrix(X), X.astype(np.uint8)])
def test_matlab(tmp_path: Path, version: str, matrix: Any) -> None:
    file = tmp_path / "x.mat"
    io.savemat(file, {"V": matrix, "n": 4, "wave": np.arange(9.0), "name": "abc"}, format=version)
    table = read_matrix(file)
    np.testing.assert_array_equal(dense(table.X), dense(matrix))
    assert "V" in table.notes[0]
    np.testing.assert_array_equal(read_matrix(file, variable="wave").X, np.arange(9.0)[None])


def test_matlab_asks_which(tmp_path: Path) -> None:
    file = tmp_path / "x.mat"
    io.savemat(file, {"A": X, "B": X.T, "cube": np.ones((2, 2, 2)), "s": {"a": 1}})
    with pytest.raises(ReadError, match=r"2 matrices: choose one with --var NAME; .*A \(4 x 3 double\), B"):
        read_matrix(file)
    np.testing.assert_array_equal(read_matrix(file, variable="B").X, X.T)
    with pytest.raises(ReadError, match=r"cube .2 x 2 x 2 double. in .* is not a numeric matrix"):
        read_matrix(file, variable="cube")
    with pytest.raises(ReadError, match="no variable 'C'"):
        read_matrix(file, variable="C")


def write_matlab_73(file: Path) -> None:
    """A file as MATLAB's ``save -v7.3`` writes it."""
    h5py = pytest.importorskip("h5py", reason="h5py writes and reads the file")
    matrix = sparse.csc_matrix(X)
    with h5py.File(file, "w", userblock_size=512) as content:

        def put(place: Any, name: str, value: Any, kind: str) -> None:
            place.create_dataset(name, data=value).attrs["MATLAB_class"] = np.bytes_(kind)

        put(content, "V", X.T, "double")
        put(content, "n", [[4.0]], "double")
        put(content, "name", np.array([[97], [98]], dtype=np.uint16), "char")
        content.create_group("#refs#")
        content.create_group("s").attrs["MATLAB_class"] = np.bytes_("struct")
        group = content.create_group("S")
        group.attrs["MATLAB_sparse"] = np.uint64(4)
        group.attrs["MATLAB_class"] = np.bytes_("double")
        for name, part in (("data", matrix.data), ("ir", matrix.indices), ("jc", matrix.indptr)):
            group.create_dataset(name, data=part if name == "data" else part.astype(np.uint64))
    with file.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def test_matlab_73(tmp_path: Path) -> None:
    file = tmp_path / "x.mat"
    write_matlab_73(file)
    with pytest.raises(ReadError, match=r"2 matrices.*S \(4 x 3 sparse\), V \(4 x 3 double\)"):
        read_matrix(file)
    np.testing.assert_array_equal(read_matrix(file, variable="V").X, X)
    np.testing.assert_array_equal(read_matrix(file, variable="S").X.toarray(), X)
    for name in ("name", "s", "missing"):
        with pytest.raises(ReadError, match=name):
            read_matrix(file, variable=name)


@pytest.mark.parametrize("matrix", [X, sparse.csr_matrix(X), sparse.csc_matrix(X)])
def test_h5ad(tmp_path: Path, matrix: Any) -> None:
    anndata = pytest.importorskip("anndata", reason="anndata writes the file")
    pandas = pytest.importorskip("pandas", reason="anndata needs it")
    cells, genes = [f"cell{i}" for i in range(4)], ["a", "b", "ç"]
    adata = anndata.AnnData(matrix, pandas.DataFrame(index=cells), pandas.DataFrame(index=genes))
    adata.layers["counts"] = 2 * matrix
    adata.write_h5ad(tmp_path / "x.h5ad")
    table = read_matrix(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(dense(table.X), X)
    assert (table.row_names, table.column_names) == (cells, genes)
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / "x.h5ad", variable="counts").X), 2 * X)
    with pytest.raises(ReadError, match="no layer 'other'; choose one with --var NAME: counts"):
        read_matrix(tmp_path / "x.h5ad", variable="other")


def test_h5ad_without_x(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata", reason="anndata writes the file")
    pandas = pytest.importorskip("pandas", reason="anndata needs it")
    anndata.AnnData(obs=pandas.DataFrame(index=["a"])).write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(ReadError, match="has no X; it has no layers"):
        read_matrix(tmp_path / "x.h5ad")


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_h5ad_of_other_versions(tmp_path: Path, kind: str) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py writes and reads the file")
    matrix = sparse.csr_matrix(X).asformat(kind)
    with h5py.File(tmp_path / "x.h5ad", "w") as content:
        group = content.create_group("X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = kind, matrix.shape
        for part in ("data", "indices", "indptr"):
            group.create_dataset(part, data=getattr(matrix, part))
        # Before 0.7 a data frame was one array of records; since 0.11 names may be nullable.
        content["obs"] = np.array([(f"c{i}".encode(),) for i in range(4)], dtype=[("index", "S2")])
        names = content.create_group("var/_index")
        names["values"] = np.array([b"a", b"b", b"c"])
    table = read_matrix(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert (table.row_names, table.column_names) == (["c0", "c1", "c2", "c3"], ["a", "b", "c"])
    with h5py.File(tmp_path / "x.h5ad", "r+") as content:
        del content["var"]
        content["X"].attrs["h5sparse_format"] = "unknown"
    with pytest.raises(ReadError, match="X is stored as unknown"):
        read_matrix(tmp_path / "x.h5ad")


def test_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas writes the file")
    pytest.importorskip("pyarrow", reason="pyarrow reads the file")
    file = tmp_path / "x.parquet"
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(file)
    table = read_matrix(file)
    np.testing.assert_array_equal(table.X, X)
    assert (table.row_names, table.column_names) == (None, ["a", "b", "c"])
    frame.set_axis(["r0", "r1", "r2", "r3"]).to_parquet(file)
    assert read_matrix(file).row_names == ["r0", "r1", "r2", "r3"]
    frame.set_axis([7, 8, 9, 11]).to_parquet(file)
    table = read_matrix(file)
    assert (table.X.shape, table.row_names) == ((4, 3), ["7", "8", "9", "11"])
    frame.assign(a=["x", "y", "z", "w"]).to_parquet(file)
    assert read_matrix(file).row_names == ["x", "y", "z", "w"]
    frame.assign(a=pandas.Categorical(["x", "y", "x", "y"]), b=[True, False, True, True]).to_parquet(file)
    table = read_matrix(file)
    assert (table.row_names, table.X[:, 0].tolist()) == (["x", "y", "x", "y"], [1, 0, 1, 1])
    frame.assign(b=pandas.array([1, None, 2, 3], dtype="Int64")).to_parquet(file)
    assert np.isnan(read_matrix(file).X[1, 1])
    frame.assign(c="text").to_parquet(file)
    with pytest.raises(ReadError, match="1 of 3 columns hold"):
        read_matrix(file)


def test_parquet_from_polars(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars writes the file")
    pytest.importorskip("pyarrow", reason="pyarrow reads the file")
    polars.DataFrame({"id": ["a", "b"], "x": [1, 2], "y": [0.5, None]}).write_parquet(tmp_path / "x.parquet")
    table = read_matrix(tmp_path / "x.parquet")
    np.testing.assert_array_equal(table.X, [[1, 0.5], [2, np.nan]])
    assert (table.row_names, table.column_names) == (["a", "b"], ["x", "y"])


@pytest.mark.parametrize(
    ("library", "name"), [("h5py", "x.h5ad"), ("h5py", "x.h5"), ("pyarrow", "x.parquet")]
)
def test_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, name: str) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(ReadError, match=rf"needs {library}.*pip install 'autonmf\[io\]'"):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize("extension", [extension for extension in EXTENSIONS if extension != ".zarr"])
def test_no_file_empty_file_folder(tmp_path: Path, extension: str) -> None:
    file = tmp_path / f"x{extension}"
    with pytest.raises(ReadError, match="does not exist"):
        read_matrix(file)
    file.touch()
    with pytest.raises(ReadError, match="is empty"):
        read_matrix(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(ReadError, match="is a folder"):
        read_matrix(file)


def test_unknown_extension(tmp_path: Path) -> None:
    for name in ("x.pdf", "x", "x.npy.gz"):
        (tmp_path / name).write_text("1")
        with pytest.raises(ReadError, match=r"unknown kind: its extension must be one of \.csv, .*\.h5ad"):
            read_matrix(tmp_path / name)
    with pytest.raises(ReadError, match="is a folder"):
        read_matrix(tmp_path)
    with pytest.raises(ReadError, match="does not exist"):
        read_matrix(tmp_path / "nothing")


def test_options_of_other_formats(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ReadError, match="leave out the variable name 'V'"):
        read_matrix(tmp_path / "x.npy", variable="V")
    with pytest.raises(ReadError, match="leave out the choice of a header"):
        read_matrix(tmp_path / "x.npy", header=True)


def test_transpose(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("g,a,b,c\nr1,1,2,3\nr2,4,5,6\n")
    turned = read_matrix(tmp_path / "x.csv").T
    assert (turned.row_names, turned.column_names) == (["a", "b", "c"], ["r1", "r2"])
    np.testing.assert_array_equal(turned.X, [[1, 4], [2, 5], [3, 6]])
