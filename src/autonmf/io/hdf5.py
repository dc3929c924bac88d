"""HDF5 (.h5, .hdf5, AnnData's .h5ad) through h5py, and zarr folders; large matrices stay in their file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Stored
from autonmf.io.checks import (
    check_memory,
    choose_variable,
    describe_array,
    is_small,
    make_compressed,
    note_others,
)
from autonmf.io.table import ReadError, Table, explain_errors, import_optional


class InFile(Stored):
    """An HDF5 or zarr array as a matrix; its file stays open as long as this object exists.

    The transpose of an array is read by columns.
    """

    ndim = 2

    def __init__(self, file: Path, array: Any, *, transposed: bool = False) -> None:
        super().__init__(array, by_columns=transposed)
        self.file = file
        self.shape = self.shape[::-1] if transposed else self.shape

    @property
    def T(self) -> InFile:
        """The transpose, in the file as well."""
        return InFile(self.file, self.source, transposed=not self.by_columns)

    def read(self, lines: slice) -> Any:
        return self.source[lines]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        return np.asarray(self.source[columns, rows]).T if self.by_columns else np.asarray(self.source[key])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        check_memory(self.file, self.shape, self.dtype.itemsize)
        whole = np.ascontiguousarray(self[:, :])
        return whole if dtype is None else whole.astype(dtype, copy=False)


@contextmanager
def open_hdf5(file: Path, kind: str) -> Iterator[Any]:
    """Open a file; errors name ``kind``."""
    h5py = import_optional("h5py", file)
    with explain_errors(file, kind), h5py.File(file, "r") as content:
        yield content


def is_group(item: Any) -> bool:
    """Whether an item is a group rather than an array."""
    return hasattr(item, "keys")


def as_text(value: Any) -> str:
    """Convert a name, which HDF5 may hand out as bytes."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def load_array(file: Path, array: Any) -> Any:
    """Load an array, whose declared size may exceed that of the file."""
    check_memory(file, array.shape, array.dtype.itemsize)
    return array[...]


def load_matrix(file: Path, array: Any, *, transposed: bool = False) -> Any:
    """Load an HDF5 or zarr array, or its transpose; a large matrix stays in its file.

    An HDF5 file is then opened once more, and closed when the matrix is no longer used.
    """
    if len(array.shape) != 2 or array.dtype.kind not in "biuf" or is_small(array):
        X = load_array(file, array)
        return np.ascontiguousarray(X.T) if transposed else X
    if not hasattr(array, "is_virtual"):  # zarr: nothing to keep open
        return InFile(file, array, transposed=transposed)
    if not array.is_virtual and array.id.get_storage_size() == 0:
        raise ReadError(f"{file} declares {' x '.join(map(str, array.shape))} numbers but holds none of them")
    return InFile(file, import_optional("h5py", file).File(file, "r")[array.name], transposed=transposed)


def read_hdf5(file: Path, variable: str | None = None) -> Table:
    """Read the dataset ``variable``, such as group/X; without it the only matrix of numbers."""
    with open_hdf5(file, "an HDF5 file") as content:
        found: dict[str, Any] = {}
        # visititems does not follow links to other files
        content.visititems(lambda name, item: found.update({name: item} if hasattr(item, "shape") else {}))
        if variable is None and found.keys() >= PARTS_OF_10X:
            return _load_10x(file, content["matrix"])
        return _load_chosen(file, found, variable, "dataset")


def read_zarr(file: Path, variable: str | None = None) -> Table:
    """Read the array; of a group the array ``variable``, such as group/X, or the only matrix."""
    library = import_optional("zarr", file, "zarr")
    if not file.exists():
        raise ReadError(f"{file} does not exist")
    if not file.is_dir():
        raise ReadError(f"{file} is a file; .zarr has to be a folder. Unzip it if it is an archive.")
    if not any(file.iterdir()):
        raise ReadError(f"{file} is an empty folder")
    with explain_errors(file, "a zarr folder"):
        root = library.open(str(file), mode="r")
        if not hasattr(root, "arrays"):
            if variable is not None:
                raise ReadError(f"{file} holds one matrix only: leave out the variable name {variable!r}")
            return Table(load_matrix(file, root))
        return _load_chosen(file, dict(sorted(_list_arrays(root))), variable, "array")


def _load_chosen(file: Path, arrays: dict[str, Any], variable: str | None, noun: str) -> Table:
    """Load the array called ``variable``, or the only matrix."""
    described = [describe_array(name, array) for name, array in arrays.items()]
    name = choose_variable(file, described, variable and variable.strip("/")).name
    return Table(load_matrix(file, arrays[name]), notes=(f"The matrix is the {noun} {name}.",))


def _list_arrays(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every array below a zarr group, by its path."""
    for name, array in group.arrays():
        yield prefix + name, array
    for name, subgroup in group.groups():
        yield from _list_arrays(subgroup, f"{prefix}{name}/")


PARTS_OF_10X = {f"matrix/{name}" for name in ("barcodes", "data", "indices", "indptr", "shape")}
"""What a file of 10x Genomics holds, whose name may be filtered_feature_bc_matrix.h5."""


def _load_10x(file: Path, group: Any) -> Table:
    """Load cells x genes, which are stored as the columns of genes x cells."""
    m, n = (int(length) for length in load_array(file, group["shape"]))
    values, indices, indptr = (load_array(file, group[name]) for name in ("data", "indices", "indptr"))
    X = make_compressed(values, indices, indptr, (n, m), by_columns=False)
    features = group.get("features/name")
    cells, genes = (
        [as_text(name) for name in load_array(file, names)] if names is not None else None
        for names in (group["barcodes"], features)
    )
    return Table(X, cells, genes, notes=("Read as counts of 10x Genomics, cells x genes.",))


def read_h5ad(file: Path, variable: str | None = None, annotations: Sequence[str] = ()) -> Table:
    """Read X, the layer called ``variable`` or "raw", and the names of cells and genes.

    ``annotations`` are columns of obs. Not through anndata, which would load the whole file.
    """
    with open_hdf5(file, "an .h5ad file") as content:
        layers = sorted(content["layers"]) if is_group(content.get("layers")) else []
        raw = ["raw"] if is_group(content.get("raw")) and "X" in content["raw"] else []
        others = [*layers, *raw]
        listed = f"choose one with --var NAME: {', '.join(others)}" if others else "it has no layers"
        genes = content.get("var")
        notes: tuple[str, ...] = ()
        if variable in (None, "X"):
            matrix = content.get("X")
            if matrix is None or as_text(matrix.attrs.get("encoding-type", "")) == "null":
                raise ReadError(f"{file} has no X; {listed}")
            notes = note_others("X of the file", others) if variable is None else ()
        elif variable in layers:
            matrix = content["layers"][variable]
        elif variable in raw:
            matrix, genes = content["raw"]["X"], content["raw"].get("var")
        else:
            raise ReadError(f"{file} has no layer {variable!r}; {listed}")
        X = _load_sparse(file, matrix) if is_group(matrix) else load_matrix(file, matrix)
        n, m = X.shape if len(X.shape) == 2 else (-1, -1)
        cells = content.get("obs")
        found = {name: _load_annotation(file, cells, name) for name in annotations}
        return Table(X, _load_names(file, cells, n), _load_names(file, genes, m), notes, annotations=found)


def _load_annotation(file: Path, frame: Any, name: str) -> list[str]:
    """Load a column of obs as text."""
    column = frame.get(name) if is_group(frame) else None
    if column is None:
        known = ", ".join(sorted(frame)) if is_group(frame) else "none"
        raise ReadError(f"{file} has no column {name!r} in obs; its columns: {known}")
    if not is_group(column):
        return [as_text(value) for value in load_array(file, column)]
    if "codes" not in column:  # a nullable column
        return [as_text(value) for value in load_array(file, column["values"])]
    names = [as_text(value) for value in load_array(file, column["categories"])]
    return [names[code] if code >= 0 else "" for code in load_array(file, column["codes"]).tolist()]


def _load_sparse(file: Path, group: Any) -> Any:
    """Load a CSR or CSC matrix, as AnnData has stored it since 0.7 or (h5sparse) before."""
    attributes = group.attrs
    shape = attributes["shape"] if "shape" in attributes else attributes["h5sparse_shape"]
    kind = as_text(attributes.get("encoding-type", attributes.get("h5sparse_format", "")))
    if not kind.startswith(("csr", "csc")):
        raise ValueError(f"X is stored as {kind or 'an unnamed group'}")
    n, m = (int(length) for length in shape)
    values, indices, indptr = (load_array(file, group[name]) for name in ("data", "indices", "indptr"))
    return make_compressed(values, indices, indptr, (n, m), by_columns=kind.startswith("csc"))


def _load_names(file: Path, frame: Any, length: int) -> list[str] | None:
    """Load the index of a stored data frame; None where it is missing or stored in an unknown way."""
    if frame is None:
        return None
    if not is_group(frame):  # before AnnData 0.7: an array of records
        column = frame["index"] if "index" in (frame.dtype.names or ()) else None
    else:
        column = frame.get(as_text(frame.attrs.get("_index", "_index")))
        if is_group(column):  # a nullable column
            column = column.get("values")
    if column is None or column.shape != (length,):
        return None
    return [as_text(name) for name in load_array(file, column)]
