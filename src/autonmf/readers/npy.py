"""NumPy's .npy: one array."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from autonmf._types import Array
from autonmf.readers.room import check_room
from autonmf.readers.table import ReadError, Table, parsing

PICKLED = (
    "holds Python objects, which are not read since that can run code. Save numbers: array.astype(float)"
)


MAPPED = 1 << 28
"""Bytes from which an array stays in its file, and is read from there when it is used."""


LONGEST_HEADER = 10_000
"""Bytes in which an array is described, as NumPy has it; a damaged file can announce any number."""


def is_small(array: Any) -> bool:
    """Whether an array in a file, of any format, is loaded rather than left there."""
    return bool(prod(map(int, array.shape)) * np.dtype(array.dtype).itemsize <= MAPPED)


def read(file: Path) -> Table:
    """Read the array; one of Python objects is refused, a large one is mapped."""
    with parsing(file, "a NumPy array"), file.open("rb") as stream:
        if not stream.peek(6).startswith(b"\x93NUMPY"):
            raise ReadError(f"{file} is not a NumPy .npy file, whatever its name says")
        if file.stat().st_size > MAPPED:
            check_header(file, stream, file.stat().st_size)
            return Table(np.load(file, mmap_mode="r", allow_pickle=False))
        return Table(read_array(file, stream, file.stat().st_size))


def read_array(file: Path, stream: IO[bytes], size: int) -> Array:
    """The array at the beginning of a stream of ``size`` bytes, which its header must fit."""
    shape, dtype = check_header(file, stream, size)
    check_room(file, shape, dtype.itemsize)
    stream.seek(0)
    array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def check_header(file: Path, stream: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """The shape and the type of numbers that a stream of ``size`` bytes really holds."""
    shape, dtype = read_header(stream)
    if dtype.hasobject:
        raise ReadError(f"{file} {PICKLED}")
    announced, there = prod(shape) * dtype.itemsize, size - stream.tell()
    if announced > there:
        raise ReadError(
            f"{file} is truncated: it announces {announced} bytes of numbers and holds {max(there, 0)}"
        )
    return shape, dtype


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """The shape and the type of the array that follows in a stream."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        if version not in ((2, 0), (3, 0)):
            raise ValueError(f"its version is {version}")
        length = int.from_bytes(stream.read(4), "little")
        if length > LONGEST_HEADER:
            raise ValueError(f"its header announces {length} bytes")
        stream.seek(-4, os.SEEK_CUR)
        # 3.0 differs from 2.0 in the names of fields only, and arrays with fields are no matrices
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    return shape, dtype
