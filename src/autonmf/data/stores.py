"""Recognising what lies in a file, before anybody loads it."""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL = 1 << 26
"""Bytes up to which a matrix in a file is simply loaded."""

NEEDED = ("shape", "dtype", "__getitem__")
"""What a matrix has, and a file or a table of several does not."""

_LIBRARIES = ("h5py", "zarr", "anndata")


def is_stored(X: Any) -> bool:
    """Whether X is a matrix in a file: a memory map, an HDF5 or zarr array, a backed AnnData matrix."""
    return isinstance(X, np.memmap) or (_library(X) and all(hasattr(X, name) for name in NEEDED))


def opened(X: Any) -> Any:
    """A stored matrix as what reads it best: an array where it is small or mapped, else `Stored`."""
    if isinstance(X, np.memmap):
        return X.view(np.ndarray) if _usable(X) else Stored(X)
    is_sparse = hasattr(X, "format")  # backed by AnnData
    if not is_sparse and np.prod(X.shape, dtype=float) * np.dtype(X.dtype).itemsize <= SMALL:
        return np.asarray(X[:])
    return Stored(X, by_columns=is_sparse and X.format == "csc")


class Stored:
    """A matrix in a file, and which way it is read."""

    def __init__(self, source: Any, *, by_columns: bool = False) -> None:
        self.source = source
        self.by_columns = by_columns
        self.shape: tuple[int, ...] = tuple(source.shape)
        self.dtype = np.dtype(source.dtype)

    @property
    def lines(self) -> Lines:
        """Its rows, or its columns if it is read by columns."""
        return Lines(self)


class Lines:
    """The lines of a stored matrix, as the rows of a matrix: ``lines[2:5]``."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.shape = stored.shape[::-1] if stored.by_columns else stored.shape
        self.nnz = int(stored.source.indptr[-1]) if hasattr(stored.source, "indptr") else None

    def __getitem__(self, some: slice) -> Any:
        source = self.stored.source
        return source[:, some].T if self.stored.by_columns else source[some]


def _library(X: Any) -> bool:
    return type(X).__module__.split(".")[0] in _LIBRARIES


def _usable(X: np.memmap[Any, Any]) -> bool:
    """Whether products can read the map as it is."""
    contiguous = X.flags.c_contiguous or X.flags.f_contiguous
    return contiguous and X.dtype.isnative and X.dtype in (np.float32, np.float64)
