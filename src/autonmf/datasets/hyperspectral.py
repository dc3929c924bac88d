"""Spectral images: Samson, Jasper Ridge and Urban, with a pixel a row and a band a column."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, floating
from autonmf.datasets.download import obtain
from autonmf.datasets.home import DataHome, find
from autonmf.datasets.scene import Scene, envi_scene, matlab_scene, stored_scene, with_truth

Ranges: TypeAlias = tuple[tuple[int, int], ...]

LICENCE = "none stated; published for research"
SCALED = "Reflectance divided by the largest entry, negative entries set to 0"

SAMSON_BANDS = 156
JASPER_BANDS = 224
URBAN_BANDS = 210
JASPER_REMOVED = ((1, 3), (108, 112), (154, 166), (220, 224))
URBAN_REMOVED = ((1, 4), (76, 76), (87, 87), (101, 111), (136, 153), (198, 210))
"""Channels of dense water vapour and atmospheric effects (F. Zhu, arXiv:1708.05125), first and last."""


def fetch_samson(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """Samson: 9025 pixels x 156 bands, three materials (soil, tree, water).

    Parameters
    ----------
    data_home : path, optional
        Folder with ``samson.npz`` or ``Samson.mat``, and for the download. Default: the folder that the
        environment variable ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download ``Samson.mat`` where neither file is there. It holds endmembers, but no abundances.
    dtype : {float64, float32}
        Type of the entries of X, U and V.

    Returns
    -------
    Dataset
        ``image(X[:, band])`` is the picture of a band.
    """
    if stored := find("samson.npz", data_home):
        scene = replace(stored_scene(stored), names=("soil", "tree", "water"))
    else:
        scene = matlab_scene(obtain("Samson.mat", data_home, download))
    source = "Samson, region of F. Zhu (arXiv:1708.05125); burknipalsson/hu_autoencoders"
    return _dataset("samson", scene, 3, source, f"{SCALED}.", _kept(SAMSON_BANDS), dtype)


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
        220-224. Without this X has the 224 columns that the paper states.
    truth : bool
        Read endmembers and abundances, too: ``end4.mat`` beside a .mat or ENVI file.
    data_home : path, optional
        Folder with ``jasper_ridge.npz`` or ``jasperRidge2_R198.mat``, and for the download. Default: the
        folder that the environment variable ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download what is not there.
    dtype : {float64, float32}
        Type of the entries of X, U and V.

    Returns
    -------
    Dataset
        V is None where all 224 bands are kept: the endmembers have 198.
    """
    kept = _kept(JASPER_BANDS, JASPER_REMOVED)
    stored = find("jasper_ridge_224.npz" if full_file else "jasper_ridge.npz", data_home)
    if stored:
        names = () if full_file else ("tree", "water", "dirt", "road")
        scene = replace(stored_scene(stored), names=names)
    else:
        scene = _jasper_file(full_file, data_home, download)
        scene = with_truth(scene, obtain("end4.mat", data_home, download)) if truth else scene
    did = f"{SCALED}."
    if full_file and remove_bands:
        scene = _select(scene, kept)
        did = f"Bands {_ranges(JASPER_REMOVED)} removed. {did}"
    scene = scene if truth else replace(scene, M=None, A=None)
    bands = kept if remove_bands or not full_file else _kept(JASPER_BANDS)
    source = "Jasper Ridge (AVIRIS), region and truth of F. Zhu (arXiv:1708.05125); " + (
        "danaroth/jasper_ridge" if full_file else "MeiShaohui/Spectral-Variability-Augmented-Sparse-Unmixing"
    )
    return _dataset("jasper-ridge", scene, 4, source, did, bands, dtype)


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
        Read endmembers and abundances, too: ``end4_groundTruth.mat`` beside ``Urban_R162.mat``.
    data_home : path, optional
        Folder with ``urban.npz`` or ``Urban_R162.mat``, and for the download. Default: the folder that the
        environment variable ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download what is not there.
    dtype : {float64, float32}
        Type of the entries of X, U and V; X takes 122 MB as float64.

    Returns
    -------
    Dataset
        Its 162 bands are what is left of 210 after the removal of water absorption and noise.
    """
    stored = find("urban.npz", data_home)
    if stored:
        scene = stored_scene(stored)
    else:
        scene = matlab_scene(obtain("Urban_R162.mat", data_home, download))
        scene = with_truth(scene, obtain("end4_groundTruth.mat", data_home, download)) if truth else scene
    scene = scene if truth else replace(scene, M=None, A=None)
    scene = replace(scene, names=scene.names or ("asphalt", "grass", "tree", "roof"))
    source = "Urban (HYDICE), truth of F. Zhu (arXiv:1708.05125); danaroth/urban"
    did = f"Bands {_ranges(URBAN_REMOVED)} of {URBAN_BANDS} removed by the publisher. {SCALED}."
    return _dataset("urban", scene, 4, source, did, _kept(URBAN_BANDS, URBAN_REMOVED), dtype)


def _jasper_file(full_file: bool, data_home: DataHome, download: bool) -> Scene:
    if not full_file:
        return matlab_scene(obtain("jasperRidge2_R198.mat", data_home, download))
    if by_hand := find("jasperRidge2_F224_2.mat", data_home):
        return matlab_scene(by_hand)
    header, image = (obtain(f"jasperRidge2_F224.{end}", data_home, download) for end in ("hdr", "img"))
    return envi_scene(header, image)


def _dataset(
    name: str, scene: Scene, rank: int, source: str, did: str, bands: Array, dtype: DTypeLike
) -> Dataset:
    kind = floating(dtype)
    X = scene.Y.T.astype(kind)  # one copy, in the memory order of the file: the transpose is free
    np.maximum(X, 0.0, out=X)
    X /= X.max()
    M = None if scene.M is None or len(scene.M) != X.shape[1] else scene.M
    return Dataset(
        name,
        X,
        rank,
        did,
        source,
        LICENCE,
        U=None if scene.A is None else scene.A.T.astype(kind),
        V=None if M is None else M.astype(kind),
        component_names=scene.names if scene.M is not None or scene.A is not None else (),
        bands=bands if len(bands) == X.shape[1] else None,
        image_shape=scene.image_shape,
    )


def _select(scene: Scene, channels: Array) -> Scene:
    """The scene with these channels only, counted from 1."""
    if len(scene.Y) != JASPER_BANDS:
        raise ValueError(f"the full file of Jasper Ridge has {JASPER_BANDS} bands, this one {len(scene.Y)}")
    rows = channels - 1
    M = scene.M[rows] if scene.M is not None and len(scene.M) == JASPER_BANDS else scene.M
    return replace(scene, Y=scene.Y[rows], M=M)


def _kept(count: int, removed: Ranges = ()) -> Array:
    """The channels from 1 to count that are not removed."""
    gone = {channel for first, last in removed for channel in range(first, last + 1)}
    return np.array([channel for channel in range(1, count + 1) if channel not in gone])


def _ranges(removed: Ranges) -> str:
    return ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in removed)
