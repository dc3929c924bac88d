"""Columns that describe rows, names that occur twice, and files that hold more than one matrix."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from autonmf.io import ReadError, Table, read_matrix

TABLE = "gene,chrom,length,a,b\ng1,chrX,10,1,2\ng2,chr2,20,3,4\ng3,chrX,30,5,6\n"


def read(folder: Path, text: str, *annotations: str, name: str = "x.csv", **options: bool) -> Table:
    (folder / name).write_text(text, encoding="utf-8")
    return read_matrix(folder / name, annotations=annotations, **options)


@pytest.mark.parametrize("wanted", [("chrom", "length"), ("2", "3"), ("2-3",), ("length", "2")])
def test_columns_are_kept_apart(tmp_path: Path, wanted: tuple[str, ...]) -> None:
    table = read(tmp_path, TABLE, *wanted)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])
    assert table.row_names == ["g1", "g2", "g3"]
    assert table.column_names == ["a", "b"]
    assert table.annotations == {"chrom": ["chrX", "chr2", "chrX"], "length": ["10", "20", "30"]}
    assert "chrom" in table.notes[-1]
    assert table.T.annotations == {}


def test_another_column_names_the_rows(tmp_path: Path) -> None:
    """The first column that is left, where it holds names."""
    table = read(tmp_path, TABLE, "gene", "length")
    assert table.row_names == ["chrX", "chr2", "chrX"]
    assert table.notes[-1] == "One row name occurs more than once, such as 'chrX'."


def test_the_header_of_r_is_one_cell_shorter(tmp_path: Path) -> None:
    table = read(tmp_path, "chrom,a,b\ng1,X,1,2\ng2,Y,3,4\ng3,Y,5,6\n", "chrom")
    assert table.annotations == {"chrom": ["X", "Y", "Y"]}
    assert (table.row_names, table.column_names) == (["g1", "g2", "g3"], ["a", "b"])
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])


def test_without_a_header_columns_have_numbers(tmp_path: Path) -> None:
    table = read(tmp_path, "1,u,2,\n3,v,4,\n5,u,6,\n", "2")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])
    assert table.annotations == {"column 2": ["u", "v", "u"]}


def test_errors_count_the_columns_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"line 3, column 4 \(a\): 'x' is not a number.*--annotations 4"):
        read(tmp_path, TABLE.replace("20,3", "20,x"), "2-3")
    with pytest.raises(ReadError, match="line 3: 4 cells where 5 are expected"):
        read(tmp_path, TABLE.replace("20,3", "20"), "2-3")
    with pytest.raises(ReadError, match="no column 'colour'; its first line holds 'gene', 'chrom'"):
        read(tmp_path, TABLE, "colour")
    with pytest.raises(ReadError, match="no column '9'"):
        read(tmp_path, TABLE, "9")
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with pytest.raises(ReadError, match="no annotation columns: leave out 'a'"):
        read_matrix(tmp_path / "x.npy", annotations=["a"])


def test_columns_of_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = pandas.DataFrame({"gene": ["g1", "g2"], "a": [1.0, 2.0], "kind": ["u", "v"]})
    frame.to_parquet(tmp_path / "x.parquet", index=False)
    with pytest.raises(ReadError, match=r"\(kind\). Leave them out with --annotations"):
        read_matrix(tmp_path / "x.parquet")
    table = read_matrix(tmp_path / "x.parquet", annotations="kind")
    assert table.annotations == {"kind": ["u", "v"]}
    assert (table.row_names, table.column_names) == (["g1", "g2"], ["a"])
    with pytest.raises(ReadError, match="no column 'sort'; its columns: gene, a, kind"):
        read_matrix(tmp_path / "x.parquet", annotations=["sort"])


def test_names_that_occur_twice_are_noted(tmp_path: Path) -> None:
    table = read(tmp_path, "gene,a,b,a,b\ng1,1,2,3,4\ng2,3,4,5,6\ng2,5,6,7,8\n")
    assert table.notes[1:] == (
        "One row name occurs more than once, such as 'g2'.",
        "2 column names occur more than once, such as 'a'.",
    )


# Thousands


@pytest.mark.parametrize("number", ["1.234,5", "1.234.567,8", "1 234,5", "1'234,5", "1\u00a0234,5"])
def test_a_number_with_thousands_is_not_a_header(tmp_path: Path, number: str) -> None:
    """It was taken for one, and the row was lost."""
    with pytest.raises(ReadError, match=r"line 1, column 1: .* Remove the separators between thousands"):
        read(tmp_path, f"{number};2,5;3,1\n1,5;2,5;3,1\n1,5;2,7;3,4\n")
    with pytest.raises(ReadError, match=r"line 2, column 1: .* Remove the separators between thousands"):
        read(tmp_path, f"1,5;2,5;3,1\n{number};2,5;3,1\n1,5;2,7;3,4\n")


def test_points_in_one_line_and_commas_in_another(tmp_path: Path) -> None:
    """1.234 may be a thousand."""
    with pytest.raises(ReadError, match=r"line 2: both decimal points and decimal commas. Use one, and no"):
        read(tmp_path, "1.234;2.345\n1,5;2,5\n")


# Several matrices


def test_the_array_that_was_taken_is_named(tmp_path: Path) -> None:
    X = np.ones((3, 2))
    np.savez(tmp_path / "x.npz", X=X, Y=X, names=np.array(["a", "b"]), weights=np.ones(3))
    assert read_matrix(tmp_path / "x.npz").notes == (
        "The matrix is the array X; --var NAME takes another: Y.",
    )
    np.savez(tmp_path / "x.npz", X=X, weights=np.ones(3))
    assert read_matrix(tmp_path / "x.npz").notes == ()


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = np.arange(6.0).reshape(3, 2)
    whole = anndata.AnnData(sparse.csr_matrix(np.arange(9.0).reshape(3, 3)))
    whole.var_names = ["g1", "g2", "g3"]
    adata = anndata.AnnData(X, layers={"counts": 2 * X})
    adata.raw = whole
    adata.var_names = ["g1", "g2"]
    adata.obs["batch"] = [1, 2, 2]
    adata.obs["type"] = pandas.Categorical(["T", "B", None])
    adata.write_h5ad(tmp_path / "x.h5ad")
    return tmp_path / "x.h5ad"


def test_layers_are_named(cells: Path) -> None:
    table = read_matrix(cells)
    assert table.notes == ("The matrix is the X of the file; --var NAME takes another: counts, raw.",)
    assert read_matrix(cells, variable="counts").notes == ()
    raw = read_matrix(cells, variable="raw")
    np.testing.assert_array_equal(raw.X.toarray(), np.arange(9.0).reshape(3, 3))
    assert raw.column_names == ["g1", "g2", "g3"]
    with pytest.raises(ReadError, match="no layer 'other'; choose one with --var NAME: counts, raw"):
        read_matrix(cells, variable="other")


def test_columns_of_obs(cells: Path) -> None:
    table = read_matrix(cells, annotations=["type", "batch"])
    assert table.annotations == {"type": ["T", "B", ""], "batch": ["1", "2", "2"]}
    with pytest.raises(ReadError, match=r"no column 'sex' in obs; its columns: _index, batch, type"):
        read_matrix(cells, annotations=["sex"])


# 10x Genomics, and files that are not read


@pytest.mark.parametrize("old", [False, True])
def test_folder_of_10x(tmp_path: Path, old: bool) -> None:
    """Version 2 writes plain files and genes.tsv, version 3 zipped ones and features.tsv."""
    X = sparse.coo_matrix(np.array([[1, 0, 2], [0, 3, 0]]))  # cells x genes
    io.mmwrite(tmp_path / "matrix.mtx", X.T)
    kind = "" if old else "\tGene Expression"
    features = "".join(f"ENSG{i}\t{symbol}{kind}\n" for i, symbol in enumerate("ABA"))
    (tmp_path / ("genes.tsv" if old else "features.tsv")).write_text(features)
    (tmp_path / "barcodes.tsv").write_text("AAAC-1\nAAAG-1\n")
    for file in [] if old else list(tmp_path.iterdir()):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    table = read_matrix(tmp_path)
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
    assert (table.row_names, table.column_names) == (["AAAC-1", "AAAG-1"], ["A", "B", "A"])
    assert table.notes[0] == "Read as counts of 10x Genomics, cells x genes."
    (alone,) = read_matrix(tmp_path / ("matrix.mtx" if old else "matrix.mtx.gz")).notes
    assert alone == f"For cells x genes with their names, pass the folder: {tmp_path}."
    with pytest.raises(ReadError, match="holds one matrix only"):
        read_matrix(tmp_path, variable="X")
    next(tmp_path.glob("barcodes*")).unlink()
    with pytest.raises(ReadError, match=r"is a folder; name one file in it, or a folder of 10x Genomics"):
        read_matrix(tmp_path)


def test_folder_of_10x_that_does_not_match(tmp_path: Path) -> None:
    io.mmwrite(tmp_path / "matrix.mtx", sparse.coo_matrix(np.ones((3, 2))))
    (tmp_path / "features.tsv").write_text("a\nb\nc\n")
    (tmp_path / "barcodes.tsv").write_text("x\n")
    with pytest.raises(ReadError, match="1 barcodes and 3 features do not match the matrix of 2 cells and 3"):
        read_matrix(tmp_path)


def test_file_of_10x(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    X = sparse.csr_matrix(np.array([[1, 0, 2], [0, 3, 0]]))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)
        group["shape"], group["barcodes"] = (3, 2), [b"AAAC-1", b"AAAG-1"]
        group["features/name"] = [b"A", b"B", b"C"]
    table = read_matrix(tmp_path / "x.h5")
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
    assert (table.row_names, table.column_names) == (["AAAC-1", "AAAG-1"], ["A", "B", "C"])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("x.xlsx", "Excel file: save the sheet as CSV"),
        ("x.XLS", "Excel"),
        ("x.hspy", "HyperSpy file: in"),
    ],
)
def test_files_of_other_programs_have_a_way_out(tmp_path: Path, name: str, advice: str) -> None:
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(ReadError, match=advice):
        read_matrix(tmp_path / name)


def test_an_excel_file_with_another_name(tmp_path: Path) -> None:
    for name in ("x.csv", "x.npz"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for part in ("docProps/app.xml", "[Content_Types].xml"):  # in any order
                archive.writestr(part, "<x/>")
        with pytest.raises(ReadError, match="is an Excel file: save the sheet as CSV"):
            read_matrix(tmp_path / name)
