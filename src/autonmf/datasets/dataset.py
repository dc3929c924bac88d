"""`Dataset`, which loaders return, and the npz files of a data home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from autonmf._types import Array
from autonmf.io import read_matrix
from autonmf.io.table import ReadError, explain_errors


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data matrix with samples in rows, and what is known about it.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The nonnegative data; samples are pixels, cells, documents, images or patients.
    rank : int or None
        The reference number of components, or None. It counts materials, cell types or sections, and is
        not necessarily the true number of components.
    preprocessing : str
        What the loader did to the published numbers.
    source, licence : str
        Who published the data, and under what terms.
    U : ndarray of shape (n_samples, rank) or None
        Reference weights (abundances).
    V : ndarray of shape (n_features, rank) or None
        Reference components (endmember spectra), so that X is about U Vᵀ up to the scale of the components.
    component_names : tuple of str
        Names of the columns of U and V.
    labels : ndarray of int of shape (n_samples,) or None
        The class of each sample, or -1.
    label_names : tuple of str
        Name of each class.
    feature_names : tuple of str
        Names of the columns of X (genes, terms).
    texts : tuple of str
        The documents.
    bands : ndarray of int of shape (n_features,) or None
        Channel of the sensor, counted from 1, of each column of X.
    image_shape : tuple of int or None
        Rows and columns of an image: of all samples (spectral data) or of one sample (pictures).
    image_order : {"C", "F"}
        Whether pixels are ordered along the rows ("C") or down the columns ("F") of an image.
    """

    name: str
    X: Any
    rank: int | None
    preprocessing: str
    source: str
    licence: str
    U: Array | None = None
    V: Array | None = None
    component_names: tuple[str, ...] = ()
    labels: Array | None = None
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    bands: Array | None = None
    image_shape: tuple[int, int] | None = None
    image_order: Literal["C", "F"] = "F"

    def image(self, pixels: Array) -> Array:
        """Reshape pixels to an image: a column of X or U of spectral data, a row of X of pictures."""
        if self.image_shape is None:
            raise ValueError(f"{self.name} holds no images")
        return np.reshape(np.asarray(pixels), self.image_shape, order=self.image_order)

    def __repr__(self) -> str:
        n, m = self.X.shape
        return f"<Dataset {self.name}: {n} x {m}, reference rank {self.rank}>"


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Check that a dtype is float64 or float32."""
    asked = np.dtype(dtype)
    if asked not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be float64 or float32, got {asked}")
    return asked


def encode_labels(names: list[str]) -> tuple[Array, tuple[str, ...]]:
    """Number classes by first appearance; also return the name of each number."""
    order = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] for name in names], dtype=np.int64), tuple(order)


def read_npz(file: Path, needed: Sequence[str] = (), kind: str = "an npz file") -> dict[str, Array]:
    """Read all arrays of an npz file; a `ReadError` if one of ``needed`` is missing."""
    with explain_errors(file, kind), np.load(file, allow_pickle=False) as loaded:
        stored = dict(loaded)
    if missing := [name for name in needed if name not in stored]:
        raise ReadError(f"{file} is not {kind}: it holds no {', '.join(missing)}")
    return stored


def read_csr(file: Path, dtype: DTypeLike = np.float64) -> tuple[Any, dict[str, Array]]:
    """Read a sparse matrix from its parts in an npz file; also return all arrays of the file."""
    stored = read_npz(file, ("data", "indices", "indptr", "shape"), "a CSR matrix")
    return read_matrix(file).X.astype(dtype), stored
