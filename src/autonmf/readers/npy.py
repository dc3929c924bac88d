"""NumPy's .npy: one array."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autonmf.readers.table import ReadError, Table, parsing

PICKLED = (
    "holds Python objects, which are not read since that can run code. Save numbers: array.astype(float)"
)


def read(file: Path) -> Table:
    """Read the array; one of Python objects is refused."""
    with parsing(file, "a NumPy array"), file.open("rb") as stream:
        if not stream.peek(6).startswith(b"\x93NUMPY"):
            raise ReadError(f"{file} is not a NumPy .npy file, whatever its name says")
        try:
            return Table(np.load(stream, allow_pickle=False))
        except ValueError as error:
            if "pickle" in str(error):
                raise ReadError(f"{file} {PICKLED}") from error
            raise
