"""Arrays from an npz that a stranger may have written: nothing is run, or larger than the file."""

from __future__ import annotations

import io
import math
import os
import tokenize
import zipfile
from typing import IO

import numpy as np
from numpy.lib import format as npy

from autonmf._types import Array

LONGEST_HEADER = 1_000
"""Bytes of a description of an array; ours have about a hundred."""

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Archive:
    """An npz as `numpy.savez` writes it: arrays by name, not compressed.

    Names are looked up, never used as places on the disk. Whatever is wrong is an error that `UNFIT` lists.
    """

    UNFIT = (
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        EOFError,
        OSError,
        RuntimeError,
        SyntaxError,
        tokenize.TokenError,
        zipfile.BadZipFile,
    )

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream)
        members = self._zip.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed, and may hold more than it seems to")
        if sum(member.file_size for member in members) > os.fstat(stream.fileno()).st_size:
            raise ValueError("it claims to hold more than the file has")
        self.names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(self.names)) < len(self.names):
            raise ValueError("it holds two arrays under one name")

    def text(self, name: str) -> str:
        """An array that is one string."""
        array = self._array(name, "U")
        if array.shape != ():
            raise ValueError(f"{name} is no text")
        return str(array)

    def matrix(self, name: str) -> Array:
        """An array that is a matrix of numbers, Fortran-ordered."""
        array = self._array(name, "f")
        if array.ndim != 2 or array.dtype not in (np.float32, np.float64):
            raise ValueError(f"{name} is no matrix in single or double precision")
        return np.asfortranarray(array)

    def _array(self, name: str, kind: str) -> Array:
        content = self._zip.read(f"{name}.npy")
        stream = io.BytesIO(content)
        version = npy.read_magic(stream)
        if version not in HEADERS:
            raise ValueError(f"{name} has an unknown format {version}")
        shape, by_columns, dtype = HEADERS[version](stream, max_header_size=LONGEST_HEADER)
        if dtype.kind != kind or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
            raise ValueError(f"{name} is not what it claims to be")
        flat = np.frombuffer(content, dtype, offset=stream.tell()) if math.prod(shape) else np.empty(0, dtype)
        return flat.copy().reshape(shape, order="F" if by_columns else "C")
