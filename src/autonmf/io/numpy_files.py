"""NumPy's .npy (one array) and .npz (named arrays, or the parts of a SciPy sparse matrix).

NumPy allocates what a header declares before it reads, so the header is compared with the size of the file
first. Arrays of Python objects are refused, since unpickling can run code.
"""

from __future__ import annotations

import os
import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from autonmf._types import Array
from autonmf.io import checks
from autonmf.io.checks import (
    NUMBERS,
    Variable,
    check_matrix,
    check_memory,
    check_sparse,
    choose_variable,
    make_compressed,
    note_others,
    refuse_objects,
)
from autonmf.io.table import ReadError, Table, explain_errors

MAX_HEADER = 10_000
"""Maximum length of a header in bytes, as in NumPy; a damaged file can declare any."""

PARTS_OF_SCIPY = {"format", "shape", "data"}
PARTS_OF_CSR = {"data", "indices", "indptr", "shape"}


def read_npy(file: Path) -> Table:
    """Read the array; a large one is mapped."""
    size = file.stat().st_size
    with explain_errors(file, "a NumPy array"), file.open("rb") as stream:
        if not stream.peek(6).startswith(b"\x93NUMPY"):
            raise ReadError(f"{file} is not a NumPy .npy file despite its name")
        check_matrix(file, *_check_header(file, stream, size))
        if size > checks.KEEP_IN_FILE:
            return Table(np.load(file, mmap_mode="r", allow_pickle=False))
        stream.seek(0)
        return Table(read_array(file, stream, size))


def read_npz(file: Path, variable: str | None = None) -> Table:
    """Read ``variable``; without it a sparse matrix, the array X, or the only matrix."""
    if not zipfile.is_zipfile(file):
        raise ReadError(f"{file} is not an .npz file: it is truncated or of another kind")
    with explain_errors(file, "an .npz file"), zipfile.ZipFile(file) as archive:
        members = {
            info.filename.removesuffix(".npy"): info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }

        def look(name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
            with archive.open(members[name]) as stream:
                return _check_header(Path(f"{name} in {file}"), stream, members[name].file_size)

        def check(*names: str) -> None:
            """Check that arrays fit into memory together."""
            check_memory(file, *((shape, dtype.itemsize) for shape, dtype in map(look, names)))

        def read(name: str) -> Array:
            with archive.open(members[name]) as stream:
                return read_array(Path(f"{name} in {file}"), stream, members[name].file_size)

        def read_matrix(name: str) -> Array:
            check_matrix(Path(f"{name} in {file}"), *look(name))
            check(name)
            return read(name)

        def describe(name: str) -> Variable:
            with archive.open(members[name]) as stream:
                shape, dtype = _read_header(stream)
            if dtype.hasobject:
                return Variable(name, (), "Python objects", numeric=False)
            return Variable(name, shape, str(dtype), numeric=dtype.kind in NUMBERS)

        if variable is None and members.keys() >= PARTS_OF_SCIPY:
            from scipy import sparse

            check(*members)
            return Table(check_sparse(file, sparse.load_npz(file)))
        if variable is None and members.keys() >= PARTS_OF_CSR:
            check(*PARTS_OF_CSR)
            values, indices, indptr, shape = map(read, ("data", "indices", "indptr", "shape"))
            n, m = (int(length) for length in shape)
            by_columns = len(indptr) != n + 1
            return Table(make_compressed(values, indices, indptr, (n, m), by_columns=by_columns))
        if variable is None and "X" in members:
            others = [each.name for each in map(describe, members) if each.is_matrix and each.name != "X"]
            return Table(read_matrix("X"), notes=note_others("array X", others))
        if variable in members:
            return Table(read_matrix(variable))
        chosen = choose_variable(file, [describe(name) for name in members], variable)
        return Table(read_matrix(chosen.name), notes=(f"The matrix is the array {chosen.name}.",))


def read_array(file: Path, stream: IO[bytes], size: int) -> Array:
    """Read the array at the beginning of a stream of ``size`` bytes."""
    shape, dtype = _check_header(file, stream, size)
    check_memory(file, (shape, dtype.itemsize))
    stream.seek(0)
    array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _check_header(file: Path, stream: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the shape and dtype of an array in a stream of ``size`` bytes, which must hold all of it."""
    shape, dtype = _read_header(stream)
    refuse_objects(file, dtype)
    declared, found = prod(shape) * dtype.itemsize, size - stream.tell()
    if declared > found:
        raise ReadError(f"{file} is truncated: it declares {declared} bytes and holds {max(found, 0)}")
    return shape, dtype


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        return _parse_header(stream)
    except (MemoryError, RecursionError):  # of Python's parser
        raise ValueError("its header is nested too deeply") from None


def _parse_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        if version not in ((2, 0), (3, 0)):
            raise ValueError(f"its version is {version}")
        length = int.from_bytes(stream.read(4), "little")
        if length > MAX_HEADER:  # NumPy allocates it before it compares
            raise ValueError(f"its header declares {length} bytes")
        stream.seek(-4, os.SEEK_CUR)
        # 3.0 differs from 2.0 in the names of fields only, and arrays with fields are not matrices.
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    return shape, dtype
