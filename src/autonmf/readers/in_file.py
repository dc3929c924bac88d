"""A matrix that stays in its file: fits read it block by block, and NumPy loads it if it is asked to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Stored
from autonmf.readers.room import check_room


class InFile(Stored):
    """An HDF5 or zarr array as a matrix; the file is open for as long as this is used.

    Parameters
    ----------
    file : Path
        What messages call it.
    array : h5py.Dataset or zarr.Array
        Two-dimensional.
    turned : bool
        The matrix is the transpose of the array, and read by columns.
    """

    ndim = 2

    def __init__(self, file: Path, array: Any, *, turned: bool = False) -> None:
        super().__init__(_Turned(array) if turned else array, by_columns=turned)
        self.file, self.array, self.turned = file, array, turned

    @property
    def T(self) -> InFile:
        """The transpose, in the file as well."""
        return InFile(self.file, self.array, turned=not self.turned)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, some: Any) -> Array:
        return np.asarray(self.source[some])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        check_room(self.file, self.shape, self.dtype.itemsize)
        whole = np.ascontiguousarray(self[:, :])
        return whole if dtype is None else whole.astype(dtype, copy=False)


class _Turned:
    """The transpose of an array in a file."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape: tuple[int, ...] = tuple(array.shape)[::-1]
        self.dtype = array.dtype

    def __getitem__(self, some: Any) -> Array:
        rows, columns = some if isinstance(some, tuple) else (some, slice(None))
        return np.asarray(self.array[columns, rows]).T
