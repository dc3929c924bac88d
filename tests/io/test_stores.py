"""Matrices in HDF5 files and zarr folders: found among others, and left in their file if they are large."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autonmf.data import Stored, as_data
from autonmf.io import ReadError, checks, normalize, read_matrix

h5py = pytest.importorskip("h5py", reason="h5py writes and reads the files")

X = np.random.default_rng(0).random((12, 7))


def hdf5(file: Path, **arrays: Any) -> Path:
    with h5py.File(file, "w") as content:
        for name, array in arrays.items():
            content[name.replace("__", "/")] = array
    return file


def zarr(folder: Path, **arrays: Any) -> Path:
    library = pytest.importorskip("zarr", reason="zarr writes and reads the folder")
    group = library.open_group(str(folder), mode="w")
    for name, array in arrays.items():
        group[name.replace("__", "/")] = array
    return folder


WRITERS = {"x.h5": hdf5, "X.HDF5": hdf5, "x.zarr": zarr}


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest, tmp_path: Path):
    """Write arrays to a file of each kind."""
    return lambda **arrays: WRITERS[request.param](tmp_path / request.param, **arrays)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every matrix counts as a large one."""
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
def test_the_only_matrix(write, dtype: str) -> None:
    table = read_matrix(write(group__X=X.astype(dtype), axis=np.arange(7)))
    np.testing.assert_array_equal(table.X, X.astype(dtype))
    assert isinstance(table.X, np.ndarray)
    assert table.X.dtype == np.dtype(dtype)
    assert "group/X" in " ".join(table.notes)


def test_one_of_several(write) -> None:
    file = write(A=X, group__B=2 * X, v=np.arange(3.0))
    for name in ("group/B", "/group/B"):
        np.testing.assert_array_equal(read_matrix(file, variable=name).X, 2 * X)
    with pytest.raises(
        ReadError, match=r"2 matrices: choose one with --var NAME; it holds A \(12 x 7 float64"
    ):
        read_matrix(file)
    for wrong in ("C", "group", "B"):
        with pytest.raises(ReadError, match=rf"no variable '{wrong}'; it holds A .*group/B"):
            read_matrix(file, variable=wrong)
    with pytest.raises(ReadError, match=r"v \(3 float64\) in .* is not a numeric matrix"):
        read_matrix(file, variable="v")


def test_no_matrix(write) -> None:
    with pytest.raises(
        ReadError, match=r"no numeric matrix; it holds cube \(2 x 3 x 4 float64\), v \(5 int64\)"
    ):
        read_matrix(write(v=np.arange(5), cube=np.ones((2, 3, 4))))
    with pytest.raises(ReadError, match="it holds nothing"):
        read_matrix(write())


def test_text_is_no_matrix(tmp_path: Path) -> None:
    names = np.array([["a", "b"]], dtype="S1")
    file = hdf5(tmp_path / "x.h5", names=names, null=h5py.Empty("f8"))
    with pytest.raises(ReadError, match=r"no numeric matrix; it holds names \(1 x 2 text\), null \(scalar"):
        read_matrix(file)
    with pytest.raises(ReadError, match="not a numeric matrix"):
        read_matrix(file, variable="names")


@pytest.mark.parametrize("variable", [None, "X"])
def test_a_zarr_array_has_no_names(tmp_path: Path, variable: str | None) -> None:
    library = pytest.importorskip("zarr", reason="zarr writes and reads the folder")
    library.save_array(str(tmp_path / "x.zarr"), X)
    if variable is None:
        np.testing.assert_array_equal(read_matrix(tmp_path / "x.zarr").X, X)
        return
    with pytest.raises(ReadError, match="leave out the variable name 'X'"):
        read_matrix(tmp_path / "x.zarr", variable=variable)


def test_what_is_no_zarr_folder(tmp_path: Path) -> None:
    library = pytest.importorskip("zarr", reason="zarr writes and reads the folder")
    folder = tmp_path / "x.zarr"
    with pytest.raises(ReadError, match="does not exist"):
        read_matrix(folder)
    folder.mkdir()
    with pytest.raises(ReadError, match="is an empty folder"):
        read_matrix(folder)
    (folder / "notes.txt").write_text("nothing")
    with pytest.raises(ReadError, match="as a zarr folder"):
        read_matrix(folder)
    (tmp_path / "file.zarr").write_text("nothing")
    with pytest.raises(ReadError, match=r"is a file; \.zarr has to be a folder"):
        read_matrix(tmp_path / "file.zarr")
    library.save_array(str(tmp_path / "v.zarr"), np.arange(3.0))
    with pytest.raises(ReadError, match=r"1 dimension\(s\), shape 3"):
        read_matrix(tmp_path / "v.zarr")


@pytest.mark.usefixtures("large")
def test_a_large_matrix_stays_in_its_file(write) -> None:
    found = read_matrix(write(X=X, axis=np.arange(7))).X
    assert isinstance(found, Stored)
    assert type(found.source).__module__.split(".")[0] in ("h5py", "zarr")
    for matrix, expected in ((found, X), (found.T, X.T), (found.T.T, X)):
        assert (matrix.shape, matrix.dtype, len(matrix)) == (expected.shape, X.dtype, len(expected))
        np.testing.assert_array_equal(matrix[2:4], expected[2:4])
        np.testing.assert_array_equal(matrix[:, 3], expected[:, 3])
        np.testing.assert_array_equal(np.asarray(matrix), expected)
        np.testing.assert_array_equal(np.asarray(matrix, dtype=np.float32), expected.astype(np.float32))
        np.testing.assert_allclose(as_data(matrix).right(np.eye(expected.shape[1])), expected)
        np.testing.assert_allclose(normalize(matrix, "max"), expected / expected.max())


@pytest.mark.usefixtures("large")
def test_its_file_is_open_for_as_long_as_it_is_used(tmp_path: Path) -> None:
    file = hdf5(tmp_path / "x.h5", X=X)
    turned = read_matrix(file).X.T
    gc.collect()
    np.testing.assert_array_equal(turned[:], X.T)
    with pytest.raises(OSError, match="already open"):
        h5py.File(file, "w")
    del turned
    gc.collect()
    h5py.File(file, "w").close()


def test_a_small_one_leaves_its_file_closed(tmp_path: Path) -> None:
    table = read_matrix(hdf5(tmp_path / "x.h5", X=X))
    h5py.File(tmp_path / "x.h5", "w").close()
    np.testing.assert_array_equal(table.X, X)


@pytest.mark.usefixtures("large")
def test_large_ones_of_other_programs(tmp_path: Path) -> None:
    matlab = read_matrix(hdf5(tmp_path / "x.mat", X=X.T)).X
    cells = read_matrix(hdf5(tmp_path / "x.h5ad", X=X)).X
    for found in (matlab, cells):
        assert isinstance(found, Stored)
        np.testing.assert_array_equal(found[3:5], X[3:5])
        np.testing.assert_allclose(as_data(found).right(np.eye(7)), X)


@pytest.mark.usefixtures("large")
def test_loading_needs_room(write, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_matrix(write(X=X)).X
    monkeypatch.setattr(checks, "get_memory", lambda: 600)
    with pytest.raises(ReadError, match=r"12 x 7 numbers, which take 672 bytes; this computer has 600 bytes"):
        np.asarray(found)
    np.testing.assert_array_equal(found[:2], X[:2])
