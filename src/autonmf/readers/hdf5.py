"""What the two HDF5-based formats share: opening a file and reading names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autonmf.readers.room import check_room
from autonmf.readers.table import optional, parsing


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
