"""Pictures: the Olivetti faces and the noisy Swimmer, with an image a row and a pixel a column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, floating
from autonmf.datasets.download import obtain
from autonmf.datasets.home import DataHome, find
from autonmf.datasets.stored import read_all
from autonmf.readers import read_matrix

FACE = (64, 64)
PER_SUBJECT = 10
SWIMMER = (32, 32)


def fetch_olivetti(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """The AT&T (Olivetti) faces: 400 images x 4096 pixels, ten of each of 40 people.

    Parameters
    ----------
    data_home : path, optional
        Folder with ``olivetti_faces.npz`` or ``olivettifaces.mat``, and for the download. Default: the folder
        that the environment variable ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download ``olivettifaces.mat`` where neither file is there.
    dtype : {float64, float32}
        Type of the entries.

    Returns
    -------
    Dataset
        `rank` is None: 40 people are no 40 components, and the 10 of the paper counts neither.
        `labels` are the people, and ``image(X[i])`` is a face.
    """
    X, stored = _matrix("olivetti_faces.npz", "olivettifaces.mat", "faces", data_home, download, dtype)
    labels = stored.get("subject", np.arange(len(X)) // PER_SUBJECT)
    return Dataset(
        "olivetti",
        X,
        None,
        "Grey levels 0 to 255 as published.",
        "AT&T Laboratories Cambridge, cropped by S. Roweis; scikit-learn's copy at figshare",
        "free for research; AT&T Laboratories Cambridge asks to be credited",
        labels=labels.astype(np.int64),
        image_shape=FACE,
    )


def fetch_swimmer(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """Swimmer with noise: 256 images x 1024 pixels, sixteen limb positions.

    The figures are those of `load_swimmer`, which builds them in code and knows their parts; their entries
    look like Poisson counts of mean 1 outside and 11 inside a figure.

    Parameters
    ----------
    data_home : path, optional
        Folder with ``swimmer_noisy.npz`` or ``swimmer.mat``, and for the download. Default: the folder that
        the environment variable ``AUTONMF_DATA`` names, then a cache folder of the user's.
    download : bool
        Download ``swimmer.mat`` where neither file is there.
    dtype : {float64, float32}
        Type of the entries.

    Returns
    -------
    Dataset
        ``image(X[i])`` is a figure.
    """
    X, _ = _matrix("swimmer_noisy.npz", "swimmer.mat", "V", data_home, download, dtype)
    return Dataset(
        "swimmer",
        X,
        16,
        "Counts 0 to 24 as published.",
        "Donoho and Stodden (2003), with noise; lanl/T-ELF",
        "BSD-3-Clause (T-ELF)",
        image_shape=SWIMMER,
        image_order="C",
    )


def _matrix(
    npz: str, mat: str, variable: str, data_home: DataHome, download: bool, dtype: DTypeLike
) -> tuple[Array, dict[str, Array]]:
    """Images in rows, and the other arrays of an npz file; a .mat file holds pixels x images."""
    kind = floating(dtype)
    file: Path | None = find(npz, data_home)
    if file is not None:
        stored = read_all(file)
        return stored["X"].astype(kind), stored
    X = read_matrix(obtain(mat, data_home, download), variable=variable).X
    return X.T.astype(kind), {}
