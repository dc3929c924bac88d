"""Spectral images: Samson, Jasper Ridge and Urban, with pixels in rows and bands in columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, check_dtype, read_npz
from autonmf.datasets.fetching import DataHome, fetch_file, find
from autonmf.io.table import ReadError, explain_errors

LICENCE = "none stated; published for research"
SCALED = "Reflectance divided by the largest entry, negative entries set to 0"

SAMSON_BANDS = 156
JASPER_BANDS = 224
URBAN_BANDS = 210
JASPER_REMOVED = "1-3, 108-112, 154-166, 220-224"
URBAN_REMOVED = "1-4, 76, 87, 101-111, 136-153, 198-210"
"""Channels of dense water vapour and atmospheric effects (F. Zhu, arXiv:1708.05125)."""


def fetch_samson(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """Samson: 9025 pixels x 156 bands, three materials (soil, tree, water).

    Parameters
    ----------
    data_home : path, optional
        Folder with ``samson.npz`` or ``Samson.mat``, which holds endmembers but no abundances. Downloads go
        there, too. By default it is the folder that the environment variable ``AUTONMF_DATA`` names, then
        the user's cache folder.
    download : bool
        Whether to download the published files if none are there.
    dtype : {float64, float32}
        Type of the entries of X, and of U and V where they are known.

    Returns
    -------
    Dataset
        ``image(X[:, band])`` is the picture of a band.
    """
    if stored := find("samson.npz", data_home):
        scene = read_npz_scene(stored, ("soil", "tree", "water"))
    else:
        scene = read_matlab_scene(fetch_file("Samson.mat", data_home, download))
    source = "Samson, region of F. Zhu (arXiv:1708.05125); burknipalsson/hu_autoencoders"
    return _make_dataset("samson", scene, 3, source, f"{SCALED}.", _keep_channels(SAMSON_BANDS), dtype)


def fetch_jasper_ridge(
    *,
    full_file: bool = False,
    remove_bands: bool = True,
    truth: bool = True,
    data_home: DataHome = None,
    download: bool = True,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Jasper Ridge: 10,000 pixels x 198 bands, four materials (tree, water, dirt, road).

    Parameters
    ----------
    full_file : bool
        Read the file with all 224 bands (``jasper_ridge_224.npz``, ``jasperRidge2_F224_2.mat``, or
        ``jasperRidge2_F224.hdr`` and ``.img``) instead of the one with 198.
    remove_bands : bool
        Remove the 26 bands of water absorption and noise from the full file: 1-3, 108-112, 154-166 and
        220-224. Otherwise X has 224 columns, as in the paper.
    truth : bool
        Also read endmembers and abundances: ``end4.mat`` next to a .mat or ENVI file.
    data_home, download, dtype
        As in `fetch_samson`; the file is ``jasper_ridge.npz`` or ``jasperRidge2_R198.mat``.

    Returns
    -------
    Dataset
        V is None where all 224 bands are kept: the endmembers have 198.
    """
    if stored := find("jasper_ridge_224.npz" if full_file else "jasper_ridge.npz", data_home):
        scene = read_npz_scene(stored, () if full_file else ("tree", "water", "dirt", "road"), truth)
    else:
        scene = _read_published_jasper(full_file, data_home, download)
        scene = add_truth(scene, fetch_file("end4.mat", data_home, download)) if truth else scene
    bands, done = _keep_channels(JASPER_BANDS, JASPER_REMOVED), f"{SCALED}."
    if full_file and remove_bands:
        scene = _select_channels(scene, bands)
        done = f"Bands {JASPER_REMOVED} removed. {done}"
    elif full_file:
        bands = _keep_channels(JASPER_BANDS)
    source = "Jasper Ridge (AVIRIS), region and truth of F. Zhu (arXiv:1708.05125); " + (
        "danaroth/jasper_ridge" if full_file else "MeiShaohui/Spectral-Variability-Augmented-Sparse-Unmixing"
    )
    return _make_dataset("jasper-ridge", scene, 4, source, done, bands, dtype)


def _read_published_jasper(full_file: bool, data_home: DataHome, download: bool) -> Scene:
    if not full_file:
        return read_matlab_scene(fetch_file("jasperRidge2_R198.mat", data_home, download))
    if by_hand := find("jasperRidge2_F224_2.mat", data_home):
        return read_matlab_scene(by_hand)
    header, image = (fetch_file(f"jasperRidge2_F224.{end}", data_home, download) for end in ("hdr", "img"))
    return read_envi_scene(header, image)


def fetch_urban(
    *,
    truth: bool = True,
    data_home: DataHome = None,
    download: bool = True,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Urban: 94,249 pixels x 162 bands, four materials (asphalt, grass, tree, roof).

    Parameters
    ----------
    truth : bool
        Also read endmembers and abundances: ``end4_groundTruth.mat`` next to ``Urban_R162.mat``.
    data_home, download, dtype
        As in `fetch_samson`; the file is ``urban.npz`` or ``Urban_R162.mat``.

    Returns
    -------
    Dataset
        Its 162 bands remain of 210 after the removal of water absorption and noise.
    """
    names = ("asphalt", "grass", "tree", "roof")
    if stored := find("urban.npz", data_home):
        scene = read_npz_scene(stored, names, truth)
    else:
        scene = read_matlab_scene(fetch_file("Urban_R162.mat", data_home, download))
        if truth:
            scene = add_truth(scene, fetch_file("end4_groundTruth.mat", data_home, download), names)
    source = "Urban (HYDICE), truth of F. Zhu (arXiv:1708.05125); danaroth/urban"
    done = f"Bands {URBAN_REMOVED} of {URBAN_BANDS} removed by the publisher. {SCALED}."
    return _make_dataset("urban", scene, 4, source, done, _keep_channels(URBAN_BANDS, URBAN_REMOVED), dtype)


def _make_dataset(
    name: str, scene: Scene, rank: int, source: str, done: str, bands: Array, dtype: DTypeLike
) -> Dataset:
    kind = check_dtype(dtype)
    X = scene.Y.T.astype(kind)  # a copy in the memory order of the file
    np.maximum(X, 0.0, out=X)
    X /= X.max()
    M = None if scene.M is None or len(scene.M) != X.shape[1] else scene.M
    return Dataset(
        name,
        X,
        rank,
        done,
        source,
        LICENCE,
        U=None if scene.A is None else scene.A.T.astype(kind),
        V=None if M is None else M.astype(kind),
        component_names=scene.names if scene.M is not None or scene.A is not None else (),
        bands=bands if len(bands) == X.shape[1] else None,
        image_shape=scene.image_shape,
    )


def _select_channels(scene: Scene, channels: Array) -> Scene:
    """Select channels, counted from 1."""
    if len(scene.Y) != JASPER_BANDS:
        raise ValueError(f"the full file of Jasper Ridge has {JASPER_BANDS} bands, this one {len(scene.Y)}")
    rows = channels - 1
    M = scene.M[rows] if scene.M is not None and len(scene.M) == JASPER_BANDS else scene.M
    return replace(scene, Y=scene.Y[rows], M=M)


def _keep_channels(count: int, removed: str = "") -> Array:
    """List the channels from 1 to count that are not removed."""
    kept = np.ones(count, dtype=bool)
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", removed):
        kept[int(first) - 1 : int(last or first)] = False
    return np.flatnonzero(kept) + 1


# Published scenes: bands x pixels, with the pixels down the columns of the image

MATRIX = ("Y", "V")
ROWS = ("nRow", "lines", "H")
COLUMNS = ("nCol", "cols", "W")
NAMES = "cood"  # as the files of F. Zhu spell it


@dataclass(frozen=True)
class Scene:
    """A spectral image, and its reference endmembers and abundances where they are known."""

    Y: Array  # bands x pixels
    image_shape: tuple[int, int]
    M: Array | None = None  # bands x endmembers
    A: Array | None = None  # endmembers x pixels
    names: tuple[str, ...] = ()


def read_npz_scene(file: Path, names: tuple[str, ...], truth: bool = True) -> Scene:
    """Read the scene of an npz file of a data home."""
    stored = read_npz(file, ("X", "image_shape"), "a spectral scene")
    rows, columns = (int(size) for size in stored["image_shape"])
    Y = _orient(file, stored["X"], rows * columns, axis=1)
    M, A = (stored.get(name) if truth else None for name in ("endmembers", "abundances"))
    return Scene(Y, (rows, columns), M, A, names)


def read_matlab_scene(file: Path) -> Scene:
    """Read the scene of a .mat file: a matrix, the size of the image and perhaps endmembers."""
    Y, *sizes, truth = _load_variables(file, (MATRIX, ROWS, COLUMNS), "GT")
    rows, columns = (int(size.item()) for size in sizes)
    Y = _orient(file, Y, rows * columns, axis=1)
    return Scene(Y, (rows, columns), _orient(file, truth, len(Y), axis=0) if truth.size else None)


def add_truth(scene: Scene, file: Path, names: tuple[str, ...] = ()) -> Scene:
    """Add the endmembers M, the abundances A and their names, if it has them, from a .mat file."""
    M, A, cells = _load_variables(file, (["M"], ["A"]), NAMES)
    A = _orient(file, A, scene.Y.shape[1], axis=1)
    found_names = tuple(str(np.asarray(cell).ravel()[0]).strip() for cell in cells.ravel())
    return replace(scene, M=M, A=A, names=found_names if len(found_names) == len(A) else names)


def _load_variables(file: Path, needed: Sequence[Sequence[str]], optional: str) -> list[Array]:
    """Load the first existing variable of each group, and an optional one, which is empty if missing."""
    from scipy.io import loadmat

    names = [*(name for group in needed for name in group), optional]
    with explain_errors(file, "a MATLAB file"):
        found: dict[str, Any] = loadmat(str(file), appendmat=False, variable_names=names)
    for group in needed:
        if found.keys().isdisjoint(group):
            raise ReadError(f"{file} has no variable {' or '.join(group)}")
    chosen = [next(found[name] for name in group if name in found) for group in needed]
    return [np.asarray(variable) for variable in (*chosen, found.get(optional, ()))]


def _orient(file: Path, matrix: Array, size: int, axis: int) -> Array:
    """Transpose the matrix if that is needed for it to have this size along the axis."""
    if matrix.ndim == 2 and matrix.shape[axis] == size:
        return matrix
    if matrix.ndim == 2 and matrix.shape[1 - axis] == size:
        return matrix.T
    raise ReadError(f"{file}: a matrix of shape {matrix.shape} has no axis of {size}")


# ENVI images: a header of text (.hdr) next to raw numbers (.img)

TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
"""NumPy's name of each real ENVI data type."""

INTERLEAVES = {
    "bsq": ("bands", "lines", "samples"),
    "bil": ("lines", "bands", "samples"),
    "bip": ("lines", "samples", "bands"),
}
"""The axes of the file, slowest first."""

_FIELD = re.compile(r"^[ \t]*([^=\n{}]+?)[ \t]*=[ \t]*(\{[^}]*\}|[^\n]*)", re.MULTILINE)


def read_envi_scene(header: Path, image: Path) -> Scene:
    """Read the scene of an ENVI image."""
    text = header.read_text(encoding="latin-1")
    if not text.startswith("ENVI"):
        raise ReadError(f"{header} is not an ENVI header: its first line must say ENVI")
    fields = {name.strip().lower(): value.strip() for name, value in _FIELD.findall(text)}
    with explain_errors(header, "an ENVI header"):
        sizes = {axis: int(fields[axis]) for axis in ("lines", "samples", "bands")}
        axes = INTERLEAVES[fields["interleave"].lower()]
        order = ">" if int(fields.get("byte order", "0")) else "<"
        kind = np.dtype(order + TYPES[int(fields["data type"])])
        offset = int(fields.get("header offset", "0"))
    shape = tuple(sizes[axis] for axis in axes)
    expected = offset + int(np.prod(shape)) * kind.itemsize
    if (actual := image.stat().st_size) != expected:
        raise ReadError(f"{image} has {actual} bytes where {header.name} declares {expected}")
    cube = np.fromfile(image, dtype=kind, offset=offset).reshape(shape)
    Y = cube.transpose([axes.index(axis) for axis in ("bands", "samples", "lines")])
    return Scene(Y.reshape(len(Y), -1), (sizes["lines"], sizes["samples"]))
