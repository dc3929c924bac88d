"""NumPy's .npz: named arrays, or the parts of a SciPy sparse matrix."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from autonmf._types import Array
from autonmf.readers.compressed import checked, compressed_matrix
from autonmf.readers.npy import read_array, read_header
from autonmf.readers.table import ReadError, Table, parsing
from autonmf.readers.variables import Variable, choose

SPARSE_PARTS = {"data", "indices", "indptr", "shape"}


def read(file: Path, variable: str | None = None) -> Table:
    """Read ``variable``; without it a sparse matrix, the array X, or the only matrix."""
    if not zipfile.is_zipfile(file):
        raise ReadError(f"{file} is not an .npz file: it is truncated or of another kind")
    with parsing(file, "an .npz file"), zipfile.ZipFile(file) as archive:
        stored = _Arrays(file, archive)
        if variable is None and {"format", "shape", "data"} <= stored.names.keys():
            from scipy import sparse

            for name in stored.names:
                stored.read(name)  # checks what SciPy does not
            return Table(checked(file, sparse.load_npz(file)))
        if variable is None and stored.names.keys() >= SPARSE_PARTS:
            return Table(_from_parts(file, stored))
        if variable is None and "X" in stored.names:
            variable = "X"
        if variable in stored.names:
            return Table(stored.read(variable))
        chosen = choose(file, [stored.described(name) for name in stored.names], variable)
        return Table(stored.read(chosen.name), notes=(f"The matrix is the array {chosen.name}.",))


class _Arrays:
    """The arrays of an archive, each checked before it is read: a small archive can hold a large one."""

    def __init__(self, file: Path, archive: zipfile.ZipFile) -> None:
        self.file, self.archive = file, archive
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        self.names = {info.filename.removesuffix(".npy"): info for info in members}

    def read(self, name: str) -> Array:
        """The array of that name."""
        place = Path(f"{name} in {self.file}")
        with self.archive.open(self.names[name]) as stream:
            return read_array(place, stream, self.names[name].file_size)

    def described(self, name: str) -> Variable:
        """What the header of an array says."""
        with self.archive.open(self.names[name]) as stream:
            shape, dtype = read_header(stream)
        if dtype.hasobject:
            return Variable(name, (), "Python objects", numeric=False)
        return Variable(name, shape, str(dtype), numeric=dtype.kind in "biufc")


def _from_parts(file: Path, stored: _Arrays) -> Any:
    """CSR or CSC, told apart by the number of row or column ends."""
    rows, columns = (int(length) for length in stored.read("shape"))
    indptr = stored.read("indptr")
    by_columns = len(indptr) != rows + 1
    return compressed_matrix(
        stored.read("data"), stored.read("indices"), indptr, (rows, columns), by_columns=by_columns
    )
