"""NumPy's .npz: named arrays, or the parts of a SciPy sparse matrix."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from autonmf.readers.compressed import checked, compressed_matrix
from autonmf.readers.npy import PICKLED
from autonmf.readers.table import ReadError, Table, parsing
from autonmf.readers.variables import Variable, choose

SPARSE_PARTS = {"data", "indices", "indptr", "shape"}


def read(file: Path, variable: str | None = None) -> Table:
    """Read ``variable``; without it a sparse matrix, the array X, or the only matrix."""
    if not zipfile.is_zipfile(file):
        raise ReadError(f"{file} is not an .npz file: it is truncated or of another kind")
    # NumPy leaves a file open that it opened itself and cannot read.
    with (
        parsing(file, "an .npz file"),
        file.open("rb") as stream,
        np.load(stream, allow_pickle=False) as stored,
    ):
        names = set(stored.files)
        if variable is None and {"format", "shape", "data"} <= names:
            from scipy import sparse

            return Table(checked(sparse.load_npz(stream)))
        if variable is None and names >= SPARSE_PARTS:
            return Table(_from_parts(stored))
        if variable is None and "X" in names:
            variable = "X"
        if variable in names:
            return Table(_array(file, stored, variable))
        chosen = choose(file, [_described(file, stored, name) for name in stored.files], variable)
        return Table(stored[chosen.name], notes=(f"The matrix is the array {chosen.name}.",))


def _from_parts(stored: Any) -> Any:
    """CSR or CSC, told apart by the number of row or column ends."""
    rows, columns = (int(length) for length in stored["shape"])
    indptr = stored["indptr"]
    return compressed_matrix(
        stored["data"], stored["indices"], indptr, (rows, columns), by_columns=len(indptr) != rows + 1
    )


def _array(file: Path, stored: Any, name: str | None) -> Any:
    try:
        return stored[name]
    except ValueError as error:
        if "pickle" in str(error):
            raise ReadError(f"{name} in {file} {PICKLED}") from error
        raise


def _described(file: Path, stored: Any, name: str) -> Variable:
    try:
        array = _array(file, stored, name)
    except ReadError:
        return Variable(name, (), "Python objects", numeric=False)
    return Variable(name, array.shape, str(array.dtype), numeric=array.dtype.kind in "biufc")
