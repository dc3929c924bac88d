"""Pictures: the Olivetti faces and Swimmer, with images in rows and pixels in columns."""

from __future__ import annotations

from itertools import product
from typing import Literal, overload

import numpy as np
from numpy.typing import DTypeLike

from autonmf._types import Array
from autonmf.datasets.dataset import Dataset, check_dtype, read_npz
from autonmf.datasets.fetching import DataHome, fetch_file, find
from autonmf.io import read_matrix

PER_SUBJECT = 10


def fetch_olivetti(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """The AT&T (Olivetti) faces: 400 images x 4096 pixels, ten of each of 40 people.

    Parameters
    ----------
    data_home, download, dtype
        As in `fetch_samson`; the file is ``olivetti_faces.npz`` or ``olivettifaces.mat``.

    Returns
    -------
    Dataset
        `rank` is None: there is no agreed number of components (40 people; the paper uses 10).
        `labels` are the people, and ``image(X[i])`` is a face.
    """
    X, stored = _read_images("olivetti_faces.npz", "olivettifaces.mat", "faces", data_home, download, dtype)
    labels = stored.get("subject", np.arange(len(X)) // PER_SUBJECT)
    return Dataset(
        "olivetti",
        X,
        None,
        "Grey levels 0 to 255 as published.",
        "AT&T Laboratories Cambridge, cropped by S. Roweis; scikit-learn's copy at figshare",
        "free for research; AT&T Laboratories Cambridge asks to be credited",
        labels=labels.astype(np.int64),
        image_shape=(64, 64),
    )


def fetch_swimmer(
    *, data_home: DataHome = None, download: bool = True, dtype: DTypeLike = np.float64
) -> Dataset:
    """Swimmer with noise: 256 images x 1024 pixels, sixteen limb positions.

    The figures are those of `load_swimmer`, which also returns their parts; their entries
    look like Poisson counts of mean 1 outside and 11 inside a figure.

    Parameters
    ----------
    data_home, download, dtype
        As in `fetch_samson`; the file is ``swimmer_noisy.npz`` or ``swimmer.mat``.

    Returns
    -------
    Dataset
        ``image(X[i])`` is a figure.
    """
    X, _ = _read_images("swimmer_noisy.npz", "swimmer.mat", "V", data_home, download, dtype)
    return Dataset(
        "swimmer",
        X,
        16,
        "Counts 0 to 24 as published.",
        "Donoho and Stodden (2003), with noise; lanl/T-ELF",
        "BSD-3-Clause (T-ELF)",
        image_shape=(SIDE, SIDE),
        image_order="C",
    )


def _read_images(
    npz: str, mat: str, variable: str, data_home: DataHome, download: bool, dtype: DTypeLike
) -> tuple[Array, dict[str, Array]]:
    """Read images in rows, and the other arrays of an npz file; a .mat file holds pixels x images."""
    kind = check_dtype(dtype)
    if file := find(npz, data_home):
        stored = read_npz(file)
        return stored["X"].astype(kind), stored
    X = read_matrix(fetch_file(mat, data_home, download), variable=variable).X
    return X.T.astype(kind), {}


SIDE = 32  # pixels of a square image
LIMB = 5  # pixels of a limb, beyond its joint
TORSO_ROW = 15
# A limb starts at its joint (row, column) and points outwards, diagonally outwards, straight or inwards.
LIMBS = {
    "left leg": ((16, 10), [(0, -1), (1, -1), (1, 0), (1, 1)]),
    "left arm": ((14, 10), [(0, -1), (-1, -1), (-1, 0), (-1, 1)]),
    "right leg": ((16, 21), [(0, 1), (1, 1), (1, 0), (1, -1)]),
    "right arm": ((14, 21), [(0, 1), (-1, 1), (-1, 0), (-1, -1)]),
}


@overload
def load_swimmer(*, return_parts: Literal[False] = False) -> Array: ...
@overload
def load_swimmer(*, return_parts: Literal[True]) -> tuple[Array, Array]: ...
def load_swimmer(*, return_parts: bool = False) -> Array | tuple[Array, Array]:
    """Build the noise-free Swimmer images (Donoho and Stodden, 2003) in code.

    Stick figures with four limbs, each in one of four positions.

    Parameters
    ----------
    return_parts : bool
        Also return the 17 parts.

    Returns
    -------
    X : ndarray of shape (256, 1024)
        One image of 32 x 32 zeros and ones per row, for every combination of the limb positions.
    parts : ndarray of shape (17, 1024)
        The sixteen limb positions and the torso, which is in every image. ``X`` is the sum of five
        parts in each row. Its nonnegative rank is 16, since the torso can be divided among the four
        positions of a limb; its linear rank is 13.

    Examples
    --------
    >>> X, parts = load_swimmer(return_parts=True)
    >>> X.shape, int(X[0].sum()), len(parts)
    ((256, 1024), 36, 17)
    """
    limbs = [
        _draw([(row + step * down, column + step * right) for step in range(1, LIMB + 1)])
        for (row, column), directions in LIMBS.values()
        for down, right in directions
    ]
    torso = [(TORSO_ROW, column) for column in range(10, 22)] + [joint for joint, _ in LIMBS.values()]
    parts = np.array([*limbs, _draw(torso)])
    # The first limb turns fastest.
    choices = np.array(list(product(range(4), repeat=4)))[:, ::-1] + 4 * np.arange(4)
    X = parts[choices].sum(axis=1) + parts[-1]
    return (X, parts) if return_parts else X


def _draw(pixels: list[tuple[int, int]]) -> Array:
    image = np.zeros((SIDE, SIDE))
    image[tuple(zip(*pixels, strict=True))] = 1.0
    return image.ravel()
