"""MATLAB's .mat: versions 4 to 7 by `matlab4` and `matlab5`, version 7.3 (HDF5) through h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from autonmf.readers.compressed import compressed_matrix
from autonmf.readers.hdf5 import is_group, kept, loaded, opened_hdf5, text
from autonmf.readers.kinds import HDF5, LONGEST
from autonmf.readers.table import Table, parsing
from autonmf.readers.variables import Variable, choose

NUMBERS = {
    "double",
    "single",
    "logical",
    "sparse",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
"""MATLAB's classes of numbers."""


def read(file: Path, variable: str | None = None) -> Table:
    """Read ``variable``; without it the only matrix of numbers."""
    with file.open("rb") as stream:
        start = stream.read(LONGEST)
    if start.startswith((b"MATLAB 7.3", HDF5)) or start[512:] == HDF5:
        return _read_hdf5(file, variable)
    return _read_classic(file, variable)


def _read_classic(file: Path, variable: str | None) -> Table:
    from autonmf.readers import matlab4, matlab5

    with parsing(file, "a MATLAB file"):
        with file.open("rb") as stream:
            version = matlab4 if b"\0" in stream.read(4) else matlab5  # later ones begin with text
        found = list(version.stored(file))
        chosen = choose(file, [item.variable for item in found], variable)
        return Table(next(item for item in found if item.variable is chosen).read(), notes=_note(chosen))


def _read_hdf5(file: Path, variable: str | None) -> Table:
    with opened_hdf5(file, "a MATLAB 7.3 file") as content:
        found = [_described(name, item) for name, item in content.items() if not name.startswith("#")]
        chosen = choose(file, found, variable)
        item = content[chosen.name]
        # MATLAB writes column by column.
        X = _sparse(file, item) if is_group(item) else kept(file, item, turned=True)
        return Table(X, notes=_note(chosen))


def _described(name: str, item: Any) -> Variable:
    """A variable of a version 7.3 file, its shape as MATLAB shows it."""
    kind = text(item.attrs.get("MATLAB_class", ""))
    if is_group(item):
        if "MATLAB_sparse" not in item.attrs:
            return Variable(name, (), kind or "struct", numeric=False)
        shape = (int(item.attrs["MATLAB_sparse"]), len(item["jc"]) - 1)
        return Variable(name, shape, "sparse", numeric=True)
    empty = bool(item.attrs.get("MATLAB_empty", 0))
    numeric = item.dtype.kind in "biuf" and (not kind or kind in NUMBERS) and not empty
    return Variable(name, item.shape[::-1], kind or str(item.dtype), numeric)


def _sparse(file: Path, group: Any) -> Any:
    shape = (int(group.attrs["MATLAB_sparse"]), len(group["jc"]) - 1)
    if "data" not in group:  # no entry but zeros
        return compressed_matrix(np.empty(0), np.empty(0), loaded(file, group["jc"]), shape, by_columns=True)
    values, indices, indptr = (loaded(file, group[name]) for name in ("data", "ir", "jc"))
    return compressed_matrix(values, indices, indptr, shape, by_columns=True)


def _note(chosen: Variable) -> tuple[str]:
    return (f"The matrix is the variable {chosen.name}.",)
