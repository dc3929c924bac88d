"""Spectral scenes as they are published: bands x pixels, the pixels down the columns of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.datasets.envi import read_envi
from autonmf.datasets.stored import read_all
from autonmf.readers.table import ReadError, parsing

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


def stored_scene(file: Path) -> Scene:
    """The scene of an npz file of a data home."""
    stored = read_all(file)
    if missing := [key for key in ("X", "image_shape") if key not in stored]:
        raise ReadError(f"{file} is no spectral scene: it holds no {', '.join(missing)}")
    rows, columns = (int(size) for size in stored["image_shape"])
    Y = _facing(file, stored["X"], rows * columns, axis=1)
    return Scene(Y, (rows, columns), stored.get("endmembers"), stored.get("abundances"))


def matlab_scene(file: Path) -> Scene:
    """The scene of a .mat file: a matrix, the size of the image and perhaps endmembers."""
    found = _variables(file, [*MATRIX, *ROWS, *COLUMNS, "GT"])
    Y = np.asarray(_first(file, found, MATRIX))
    rows, columns = (int(np.asarray(_first(file, found, names)).item()) for names in (ROWS, COLUMNS))
    Y = _facing(file, Y, rows * columns, axis=1)
    M = _facing(file, np.asarray(found["GT"]), len(Y), axis=0) if "GT" in found else None
    return Scene(Y, (rows, columns), M)


def envi_scene(header: Path, image: Path) -> Scene:
    """The scene of an ENVI image."""
    cube = read_envi(header, image)
    lines, samples, bands = cube.shape
    return Scene(cube.transpose(2, 1, 0).reshape(bands, lines * samples), (lines, samples))


def with_truth(scene: Scene, file: Path) -> Scene:
    """The scene with the endmembers M, the abundances A and their names from a .mat file."""
    found = _variables(file, ["M", "A", NAMES])
    M, A = (np.asarray(_first(file, found, [key])) for key in ("M", "A"))
    A = _facing(file, A, scene.Y.shape[1], axis=1)
    names = tuple(_words(found.get(NAMES)))
    return replace(scene, M=M, A=A, names=names if len(names) == len(A) else ())


def _variables(file: Path, names: Sequence[str]) -> dict[str, Any]:
    from scipy.io import loadmat

    with parsing(file, "a MATLAB file"):
        found: dict[str, Any] = loadmat(str(file), appendmat=False, variable_names=list(names))
        return found


def _first(file: Path, found: dict[str, Any], names: Sequence[str]) -> Any:
    for name in names:
        if name in found:
            return found[name]
    raise ReadError(f"{file} has no variable {' or '.join(names)}")


def _facing(file: Path, matrix: Array, size: int, axis: int) -> Array:
    """The matrix or its transpose, whichever has this size along the axis."""
    if matrix.ndim == 2 and matrix.shape[axis] == size:
        return matrix
    if matrix.ndim == 2 and matrix.shape[1 - axis] == size:
        return matrix.T
    raise ReadError(f"{file}: a matrix of shape {matrix.shape} has no axis of {size}")


def _words(cell: Any) -> list[str]:
    """The words of a MATLAB cell array."""
    if cell is None:
        return []
    return [str(np.asarray(item).ravel()[0]).strip() for item in np.asarray(cell).ravel()]
