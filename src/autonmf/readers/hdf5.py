"""What the HDF5-based formats share: opening a file, reading names and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from autonmf.readers import npy
from autonmf.readers.room import check_room
from autonmf.readers.table import ReadError, optional, parsing


@contextmanager
def opened_hdf5(file: Path, kind: str) -> Iterator[Any]:
    """The open file; errors name ``kind``."""
    h5py = optional("h5py", file)
    with parsing(file, kind), h5py.File(file, "r") as content:
        yield content


def text(value: Any) -> str:
    """A name, which HDF5 may hand out as bytes."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def is_group(item: Any) -> bool:
    """Whether an HDF5 item is a folder rather than an array."""
    return hasattr(item, "keys")


def loaded(file: Path, item: Any) -> Any:
    """All numbers of an HDF5 array, which may announce more than the file holds."""
    check_room(file, item.shape, item.dtype.itemsize)
    return item[()]


def kept(file: Path, item: Any, *, turned: bool = False) -> Any:
    """The numbers of an HDF5 array, or of its transpose; a large matrix stays in its file.

    That file is opened once more, and closed when nobody holds the matrix any longer.
    """
    if len(item.shape) != 2 or item.dtype.kind not in "biuf" or npy.is_small(item):
        X = loaded(file, item)
        return np.ascontiguousarray(X.T) if turned else X
    if not item.is_virtual and item.id.get_storage_size() == 0:
        raise ReadError(f"{file} announces {' x '.join(map(str, item.shape))} numbers and holds none of them")
    from autonmf.readers.in_file import InFile

    return InFile(file, optional("h5py", file).File(file, "r")[item.name], turned=turned)
