"""HDF5 (.h5, .hdf5, AnnData's .h5ad) through h5py; large matrices stay in their file.

Only data in the file itself are read, and only with the filters of HDF5 and h5py: links, external and virtual
datasets can name any file of the computer, and other filters are plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Stored
from autonmf.io.checks import (
    NUMBERS,
    check_matrix,
    check_memory,
    choose_variable,
    describe_array,
    is_small,
    make_compressed,
    note_others,
)
from autonmf.io.table import ReadError, Table, explain_errors, import_optional, list_names

PARTS = ("data", "indices", "indptr")
"""Arrays of a compressed sparse matrix."""

FILTERS = (1, 2, 3, 4, 5, 6, 32000)
"""Filters of HDF5 (deflate, shuffle, fletcher32, szip, nbit, scaleoffset) and of h5py (lzf)."""


class InFile(Stored):
    """An HDF5 or zarr array as a matrix, or its transpose, which is read by columns.

    The file stays open as long as this object exists.
    """

    ndim = 2

    def __init__(self, file: Path, array: Any, *, transposed: bool = False) -> None:
        super().__init__(array, by_columns=transposed)
        self.file = file
        self.shape = self.shape[::-1] if transposed else self.shape

    @property
    def T(self) -> InFile:
        """The transpose, which stays in the file."""
        return InFile(self.file, self.source, transposed=not self.by_columns)

    def read(self, lines: slice) -> Any:
        return self.source[lines]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        return np.asarray(self.source[columns, rows]).T if self.by_columns else np.asarray(self.source[key])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        check_memory(self.file, (self.shape, self.dtype.itemsize))
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
    """Convert a name to a string; h5py may return bytes."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def is_link(group: Any, name: str) -> bool:
    """Whether an item is a soft or external link rather than part of the group; it is not followed."""
    return bool(group.id.links.get_info(name.encode()).type != 0)  # H5L_TYPE_HARD


def get_item(file: Path, group: Any, name: str) -> Any:
    """Get an array or a group below a group; None if there is none."""
    for part in name.strip("/").split("/"):
        if not is_group(group) or not group.id.links.exists(part.encode()):
            return None
        if is_link(group, part):
            raise ReadError(f"{name} in {file} is a link, which is not followed. Copy the data instead.")
        group = group[part]
    return group


def check_source(file: Path, array: Any) -> None:
    """Refuse an array that is partly in other files, or that needs a plugin to be decoded."""
    name = f"{array.name} in {file}"
    if array.external or array.is_virtual:
        raise ReadError(f"{name} refers to other files, which are not read. Copy the data into this file.")
    created = array.id.get_create_plist()
    for number, *_, title in map(created.get_filter, range(created.get_nfilters())):
        if number not in FILTERS:
            raise ReadError(
                f"{name} needs a plugin of HDF5, number {number} ({as_text(title)}), which is not loaded. "
                "Save it with another compression, such as gzip."
            )


def get_size(array: Any) -> tuple[tuple[int, ...], int]:
    """Shape and item size of the memory needed to read an array; a chunk may be larger than the array."""
    return max(tuple(array.shape), tuple(array.chunks or ()), key=prod), array.dtype.itemsize


def load_arrays(file: Path, *arrays: Any) -> list[Any]:
    """Load arrays of numbers after checking their declared sizes, which may exceed that of the file."""
    for array in arrays:
        check_source(file, array)
        if array.dtype.kind not in NUMBERS:
            raise ReadError(f"{array.name} in {file} holds {array.dtype} entries, not numbers. Save numbers.")
    check_memory(file, *map(get_size, arrays))
    return [array[...] for array in arrays]


def load_matrix(file: Path, array: Any, *, transposed: bool = False) -> Any:
    """Load an array, or its transpose; a large matrix stays in its file.

    The file is then opened once more, and closed when the matrix is no longer used.
    """
    check_matrix(file, array.shape, array.dtype)
    if is_small(array) or array.dtype.kind == "c":
        X = load_arrays(file, array)[0]
        return np.ascontiguousarray(X.T) if transposed else X
    check_source(file, array)
    if array.id.get_storage_size() == 0:
        raise ReadError(f"{file} declares {' x '.join(map(str, array.shape))} numbers but holds none of them")
    return InFile(file, import_optional("h5py", file).File(file, "r")[array.name], transposed=transposed)


def read_hdf5(file: Path, variable: str | None = None) -> Table:
    """Read the dataset ``variable``, such as group/X; without it the only matrix of numbers."""
    with open_hdf5(file, "an HDF5 file") as content:
        found: dict[str, Any] = {}
        # visititems follows no links
        content.visititems(lambda name, item: found.update({name: item} if hasattr(item, "shape") else {}))
        if variable is None and found.keys() >= PARTS_OF_10X:
            return _load_10x(file, content["matrix"])
        described = [describe_array(name, array) for name, array in found.items()]
        name = choose_variable(file, described, variable and variable.strip("/")).name
        return Table(load_matrix(file, found[name]), notes=(f"The matrix is the dataset {name}.",))


PARTS_OF_10X = {f"matrix/{name}" for name in ("barcodes", "data", "indices", "indptr", "shape")}
"""The contents of a file of 10x Genomics such as filtered_feature_bc_matrix.h5."""


def _load_10x(file: Path, group: Any) -> Table:
    """Load cells x genes, which are stored as the columns of genes x cells."""
    m, n = (int(length) for length in load_arrays(file, get_item(file, group, "shape"))[0])
    parts = [get_item(file, group, name) for name in PARTS]
    lengths = {"barcodes": n, "features/name": m}
    names = [_find_names(file, get_item(file, group, name), length) for name, length in lengths.items()]
    check_memory(file, *(get_size(array) for array in (*parts, *names) if array is not None))
    values, indices, indptr = load_arrays(file, *parts)
    X = make_compressed(values, indices, indptr, (n, m), by_columns=False)
    cells, genes = map(_load_names, names)
    return Table(X, cells, genes, notes=("Read as counts of 10x Genomics, cells x genes.",))


def read_h5ad(file: Path, variable: str | None = None, annotations: Sequence[str] = ()) -> Table:
    """Read X, the layer called ``variable`` or "raw", and the names of cells and genes.

    ``annotations`` are columns of obs. Not through anndata, which would load the whole file.
    """
    with open_hdf5(file, "an .h5ad file") as content:
        found, raw = (get_item(file, content, name) for name in ("layers", "raw"))
        layers = sorted(found) if is_group(found) else []
        others = [*layers, *(["raw"] if get_item(file, raw, "X") is not None else [])]
        listed = f"choose one with --var NAME: {', '.join(others)}" if others else "it has no layers"
        genes = "var"
        notes: tuple[str, ...] = ()
        if variable in (None, "X"):
            matrix = get_item(file, content, "X")
            if matrix is None or as_text(matrix.attrs.get("encoding-type", "")) == "null":
                raise ReadError(f"{file} has no X; {listed}")
            notes = note_others("X of the file", others) if variable is None else ()
        elif variable in layers:
            matrix = get_item(file, found, str(variable))
        elif variable in others:
            matrix, genes = get_item(file, raw, "X"), "raw/var"
        else:
            raise ReadError(f"{file} has no layer {variable!r}; {listed}")
        n, m = _find_shape(file, matrix)
        frames = [get_item(file, content, name) for name in ("obs", genes)]
        names = [_find_names(file, *pair) for pair in zip(frames, (n, m), strict=True)]
        parts = [get_item(file, matrix, name) for name in PARTS] if is_group(matrix) else [matrix]
        in_memory = parts if is_group(matrix) or is_small(matrix) else []
        check_memory(file, *(get_size(array) for array in (*in_memory, *names) if array is not None))
        if is_group(matrix):
            values, indices, indptr = load_arrays(file, *parts)
            by_columns = _get_format(matrix).startswith("csc")
            X = make_compressed(values, indices, indptr, (n, m), by_columns=by_columns)
        else:
            X = load_matrix(file, matrix)
        rows, columns = map(_load_names, names)
        aside = {name: _load_annotation(file, frames[0], name) for name in annotations}
        return Table(X, rows, columns, notes, annotations=aside)


def _load_annotation(file: Path, frame: Any, name: str) -> list[str]:
    """Load a column of obs as text."""
    column = get_item(file, frame, name)
    if column is None:
        known = list_names(sorted(frame) if is_group(frame) else ())
        raise ReadError(f"{file} has no column {name!r} in obs; its columns: {known}")
    if is_group(column) and "codes" in column:
        names = _load_column(file, get_item(file, column, "categories"))
        codes = load_arrays(file, get_item(file, column, "codes"))[0].tolist()
        return [names[code] if code >= 0 else "" for code in codes]
    return _load_column(file, get_item(file, column, "values") if is_group(column) else column)


def _load_column(file: Path, column: Any) -> list[str]:
    """Load texts or numbers as text."""
    found = None if column is None or column.ndim != 1 else _find_names(file, column, len(column))
    if found is None:
        raise ReadError(f"{file}: an annotation holds neither text nor numbers. Leave it out.")
    check_memory(file, get_size(found))
    return _load_names(found) or []


def _find_shape(file: Path, matrix: Any) -> tuple[int, int]:
    """Find the shape of a dense matrix, or of a CSR or CSC matrix as AnnData stores it."""
    if not is_group(matrix):
        check_matrix(file, matrix.shape, matrix.dtype)
        return int(matrix.shape[0]), int(matrix.shape[1])
    kind = _get_format(matrix)
    if not kind.startswith(("csr", "csc")):
        raise ValueError(f"X is stored as {kind or 'an unnamed group'}")
    attributes = matrix.attrs
    n, m = attributes["shape"] if "shape" in attributes else attributes["h5sparse_shape"]
    return int(n), int(m)


def _get_format(group: Any) -> str:
    """Get the format of a sparse matrix, as AnnData has stored it since 0.7 or (h5sparse) before."""
    return as_text(group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "")))


def _find_names(file: Path, frame: Any, length: int) -> Any:
    """Find the index of a stored data frame; None if it is missing or of an unknown type."""
    column = frame
    if is_group(frame):
        column = get_item(file, frame, as_text(frame.attrs.get("_index", "_index")))
        if is_group(column):  # a nullable column
            column = get_item(file, column, "values")
    if column is None or column.shape != (length,):
        return None
    check_source(file, column)
    kind = column.dtype["index"] if "index" in (column.dtype.names or ()) else column.dtype
    text = import_optional("h5py", file).check_string_dtype(kind) is not None
    return column if text or kind.kind in "biufSU" else None


def _load_names(column: Any) -> list[str] | None:
    if column is None:
        return None
    records = column.dtype.names is not None  # before AnnData 0.7
    return [as_text(name) for name in (column.fields("index") if records else column)[...]]
