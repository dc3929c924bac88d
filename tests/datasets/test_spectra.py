"""Samson, Jasper Ridge and Urban from small files of the published layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.io import savemat

from autonmf.datasets import Dataset, DataUnavailableError, fetch_jasper_ridge, fetch_samson, fetch_urban
from autonmf.io import ReadError

ROWS, COLUMNS = 3, 4
REMOVED = {1, 2, 3, *range(108, 113), *range(154, 167), *range(220, 225)}


def scene(bands: int, seed: int = 0) -> np.ndarray:
    """Bands x pixels in the numbers of a sensor."""
    return np.random.default_rng(seed).integers(1, 5000, (bands, ROWS * COLUMNS)).astype(np.uint16)


def truth(bands: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.random((bands, rank)), rng.dirichlet(np.ones(rank), ROWS * COLUMNS).T


def cell(*names: str) -> np.ndarray:
    return np.array([[name] for name in names], dtype=object)


def write_envi(folder: Path, Y: np.ndarray, interleave: str, order: str, offset: int = 0) -> None:
    """The image as another program would write it, from the values of each line, sample and band."""
    cube = np.array(
        [[Y[:, column * ROWS + row] for column in range(COLUMNS)] for row in range(ROWS)]
    )  # lines x samples x bands
    axes = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}[interleave]
    raw = cube.transpose(axes).astype(f"{order}u2").tobytes()
    (folder / "jasperRidge2_F224.img").write_bytes(b"x" * offset + raw)
    (folder / "jasperRidge2_F224.hdr").write_text(
        f"ENVI\ndescription = {{\n  samples = 1, a trap\n}}\nsamples = {COLUMNS}\nlines   = {ROWS}\n"
        f"bands = {len(Y)}\nheader offset = {offset}\nfile type = ENVI Standard\ndata type = 12\n"
        f"interleave = {interleave}\nbyte order = {int(order == '>')}\nwavelength = {{\n 0.4,\n 0.5}}\n"
    )


def check_scene(data: Dataset, Y: np.ndarray, dtype: type = np.float64) -> None:
    """Pixels in rows, scaled to a maximum of one, and each at its place in the image."""
    assert data.X.dtype == dtype
    assert_array_equal(data.X, Y.T.astype(dtype) / dtype(Y.max()))
    band, row, column = len(Y) // 2, 2, 1
    picture = data.image(data.X[:, band])
    assert picture.shape == (ROWS, COLUMNS)
    assert picture[row, column] == data.X[column * ROWS + row, band]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samson_of_a_data_home(tmp_path: Path, dtype: type) -> None:
    Y, (M, A) = scene(156), truth(156, 3)
    np.savez(tmp_path / "samson.npz", X=Y, endmembers=M, abundances=A, image_shape=(ROWS, COLUMNS), order=3)
    data = fetch_samson(data_home=tmp_path, download=False, dtype=dtype)
    check_scene(data, Y, dtype)
    assert_array_equal(data.U, A.T.astype(dtype))
    assert_array_equal(data.V, M.astype(dtype))
    assert data.component_names == ("soil", "tree", "water")
    assert_array_equal(data.bands, np.arange(1, 157))
    assert data.rank == 3
    assert repr(data) == "<Dataset samson: 12 x 156, reference rank 3>"


@pytest.mark.parametrize("transposed", [False, True])
def test_samson_as_published(server: Any, tmp_path: Path, transposed: bool) -> None:
    Y, (M, _) = scene(156), truth(156, 3)
    matrix = Y.T if transposed else Y
    savemat(server.folder / "Samson.mat", {"Y": matrix, "lines": ROWS, "cols": COLUMNS, "GT": M.T})
    data = fetch_samson(data_home=tmp_path / "home")
    check_scene(data, Y)
    assert data.U is None
    assert_array_equal(data.V, M)
    assert data.component_names == ()


def test_jasper_ridge_as_published(server: Any, tmp_path: Path) -> None:
    Y, (M, A) = scene(198), truth(198, 4)
    savemat(server.folder / "jasperRidge2_R198.mat", {"Y": Y, "nRow": ROWS, "nCol": COLUMNS, "nBand": 198})
    names = ("1-Tree", "2-Water", "3-Dirt", "4-Road")
    savemat(server.folder / "end4.mat", {"M": M, "A": A, "cood": cell(*names)})
    data = fetch_jasper_ridge(data_home=tmp_path / "home")
    check_scene(data, Y)
    assert_array_equal(data.U, A.T)
    assert_array_equal(data.V, M)
    assert data.component_names == names
    assert data.rank == 4
    assert set(data.bands) == set(range(1, 225)) - REMOVED
    without = fetch_jasper_ridge(data_home=tmp_path / "home", truth=False)
    assert without.U is None
    assert without.V is None
    assert without.component_names == ()


def write_full(folder: Path, layout: str, Y: np.ndarray) -> None:
    """The 224-band scene with its truth, of 198 bands."""
    M, A = truth(198, 4)
    if layout == "npz":
        shape = (ROWS, COLUMNS)
        np.savez(folder / "jasper_ridge_224.npz", X=Y, endmembers=M, abundances=A, image_shape=shape)
        return
    savemat(folder / "end4.mat", {"M": M, "A": A})
    if layout == "mat":
        savemat(folder / "jasperRidge2_F224_2.mat", {"Y": Y, "nRow": ROWS, "nCol": COLUMNS})
    else:
        write_envi(folder, Y, *layout.split())


LAYOUTS = ["npz", "mat", *(f"{interleave} {order}" for interleave in ("bsq", "bil", "bip") for order in "<>")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_jasper_ridge_with_all_bands(tmp_path: Path, layout: str) -> None:
    Y = scene(224)
    Y[:, 0] = np.arange(1, 225)  # the first pixel tells the bands apart
    Y[0, 1], Y[100, 2] = 60_000, 50_000  # the largest entry is in a band that is removed
    write_full(tmp_path, layout, Y)
    M, A = truth(198, 4)
    full = fetch_jasper_ridge(full_file=True, remove_bands=False, data_home=tmp_path, download=False)
    check_scene(full, Y)
    assert full.X.shape == (12, 224)
    assert_array_equal(full.U, A.T)
    assert full.V is None
    assert_array_equal(full.bands, np.arange(1, 225))
    assert "removed" not in full.preprocessing

    data = fetch_jasper_ridge(full_file=True, data_home=tmp_path, download=False)
    kept = [band for band in range(1, 225) if band not in REMOVED]
    assert len(kept) == 198
    check_scene(data, Y[np.array(kept) - 1])
    assert_array_equal(np.rint(data.X[0] * 50_000), kept)
    assert_array_equal(data.bands, kept)
    assert_array_equal(data.V, M)
    assert "Bands 1-3, 108-112, 154-166, 220-224 removed" in data.preprocessing


def test_jasper_ridge_with_all_bands_is_downloaded(server: Any, tmp_path: Path) -> None:
    Y = scene(224)
    write_full(server.folder, "bil <", Y)
    data = fetch_jasper_ridge(full_file=True, remove_bands=False, data_home=tmp_path / "home")
    check_scene(data, Y)
    assert sorted(server.asked) == ["end4.mat", "jasperRidge2_F224.hdr", "jasperRidge2_F224.img"]


def test_negative_reflectance(tmp_path: Path) -> None:
    Y = np.array([[-3.0, 1.0], [4.0, 2.0]])
    np.savez(tmp_path / "urban.npz", X=Y, image_shape=(1, 2))
    assert_array_equal(fetch_urban(data_home=tmp_path).X, [[0.0, 1.0], [0.25, 0.5]])


@pytest.mark.parametrize("layout", ["npz", "mat"])
def test_urban(tmp_path: Path, layout: str) -> None:
    Y, (M, A) = scene(162), truth(162, 4)
    if layout == "npz":
        shape = (ROWS, COLUMNS)
        np.savez(tmp_path / "urban.npz", X=Y, endmembers=M, abundances=A, image_shape=shape)
    else:
        savemat(tmp_path / "Urban_R162.mat", {"Y": Y, "nRow": ROWS, "nCol": COLUMNS, "nBand": 162})
        savemat(tmp_path / "end4_groundTruth.mat", {"M": M, "A": A})
    data = fetch_urban(data_home=tmp_path, download=False)
    check_scene(data, Y)
    assert data.rank == 4
    assert_array_equal(data.U, A.T)
    assert_array_equal(data.V, M)
    assert data.component_names == ("asphalt", "grass", "tree", "roof")
    removed = {*range(1, 5), 76, 87, *range(101, 112), *range(136, 154), *range(198, 211)}
    assert set(data.bands) == set(range(1, 211)) - removed
    assert len(data.bands) == 162


def test_urban_without_truth(tmp_path: Path) -> None:
    savemat(tmp_path / "Urban_R162.mat", {"Y": scene(162), "nRow": ROWS, "nCol": COLUMNS})
    with pytest.raises(DataUnavailableError, match="end4_groundTruth"):
        fetch_urban(data_home=tmp_path, download=False)
    assert fetch_urban(data_home=tmp_path, download=False, truth=False).V is None


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"nRow": ROWS, "nCol": COLUMNS}, "no variable Y or V"),
        ({"Y": scene(5), "nCol": COLUMNS}, "no variable nRow"),
        ({"Y": scene(5), "nRow": 7, "nCol": 7}, "no axis of 49"),
        ({"Y": np.ones((2, 3, 4)), "nRow": 2, "nCol": 3}, "no axis of 6"),
    ],
)
def test_other_variables(tmp_path: Path, variables: dict, words: str) -> None:
    savemat(tmp_path / "Urban_R162.mat", variables)
    with pytest.raises(ReadError, match=rf"Urban_R162\.mat.*{words}"):
        fetch_urban(data_home=tmp_path, truth=False)


def test_damaged_files(tmp_path: Path) -> None:
    (tmp_path / "Urban_R162.mat").write_bytes(b"<html>not found</html>" * 20)
    with pytest.raises(ReadError, match=r"cannot read .*Urban_R162"):
        fetch_urban(data_home=tmp_path, truth=False)
    write_envi(tmp_path, scene(224), "bsq", "<")
    image = tmp_path / "jasperRidge2_F224.img"
    image.write_bytes(image.read_bytes()[:-1])
    with pytest.raises(ReadError, match=r"has 5375 bytes where .*declares 5376"):
        fetch_jasper_ridge(full_file=True, truth=False, data_home=tmp_path)
    (tmp_path / "jasperRidge2_F224.hdr").write_text("samples = 3\n")
    with pytest.raises(ReadError, match="must say ENVI"):
        fetch_jasper_ridge(full_file=True, truth=False, data_home=tmp_path)
    write_envi(tmp_path, scene(10), "bsq", "<", offset=7)
    with pytest.raises(ValueError, match="224 bands, this one 10"):
        fetch_jasper_ridge(full_file=True, truth=False, data_home=tmp_path)
    np.savez(tmp_path / "samson.npz", Y=1)
    with pytest.raises(ReadError, match=r"samson\.npz.*no X, image_shape"):
        fetch_samson(data_home=tmp_path)


def test_only_floating_point(tmp_path: Path) -> None:
    np.savez(tmp_path / "samson.npz", X=scene(5), image_shape=(ROWS, COLUMNS))
    with pytest.raises(ValueError, match="float64 or float32, got int64"):
        fetch_samson(data_home=tmp_path, dtype=np.int64)
