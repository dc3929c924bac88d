"""AnnData's .h5ad: X or one of the layers, with the names of cells and genes.

Only the matrix and the names are read, through h5py: nothing else of a large file is touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autonmf.readers.compressed import compressed_matrix
from autonmf.readers.hdf5 import is_group, kept, loaded, opened_hdf5, text
from autonmf.readers.table import ReadError, Table


def read(file: Path, variable: str | None = None) -> Table:
    """Read X, or the layer called ``variable``."""
    with opened_hdf5(file, "an .h5ad file") as content:
        matrix = _find(file, content, variable)
        X = _sparse(file, matrix) if is_group(matrix) else kept(file, matrix)
        n, m = X.shape if len(X.shape) == 2 else (-1, -1)
        return Table(X, _names(file, content.get("obs"), n), _names(file, content.get("var"), m))


def _find(file: Path, content: Any, variable: str | None) -> Any:
    layers = sorted(content["layers"]) if is_group(content.get("layers")) else []
    if variable in (None, "X"):
        found = content.get("X")
        if found is None or text(found.attrs.get("encoding-type", "")) == "null":
            raise ReadError(f"{file} has no X; {_listed(layers)}")
        return found
    if variable not in layers:
        raise ReadError(f"{file} has no layer {variable!r}; {_listed(layers)}")
    return content["layers"][variable]


def _listed(layers: list[str]) -> str:
    return f"its layers are {', '.join(layers)} (--var NAME)" if layers else "it has no layers"


def _sparse(file: Path, group: Any) -> Any:
    """CSR or CSC, as AnnData has stored it since 0.7 or (h5sparse) before."""
    attributes = group.attrs
    shape = attributes["shape"] if "shape" in attributes else attributes["h5sparse_shape"]
    kind = text(attributes.get("encoding-type", attributes.get("h5sparse_format", "")))
    if not kind.startswith(("csr", "csc")):
        raise ValueError(f"X is stored as {kind or 'an unnamed group'}")
    rows, columns = (int(length) for length in shape)
    values, indices, indptr = (loaded(file, group[name]) for name in ("data", "indices", "indptr"))
    return compressed_matrix(values, indices, indptr, (rows, columns), by_columns=kind.startswith("csc"))


def _names(file: Path, frame: Any, length: int) -> list[str] | None:
    """The index of a stored data frame, None where it is missing or stored in an unknown way."""
    if frame is None:
        return None
    if not is_group(frame):  # before 0.7: one array of records
        column = frame["index"] if "index" in (frame.dtype.names or ()) else None
    else:
        column = frame.get(text(frame.attrs.get("_index", "_index")))
        if is_group(column):  # a nullable column
            column = column.get("values")
    if column is None or column.shape != (length,):
        return None
    return [text(name) for name in loaded(file, column)]
