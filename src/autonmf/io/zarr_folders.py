"""Zarr folders, of version 2 and 3; large matrices stay in their folder.

The metadata are checked here before zarr reads them, since a codec can run code when it decodes (as pickle
does), and some versions of zarr decode on opening. Only arrays of numbers with well-known codecs are opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from autonmf.io.checks import NUMBERS, Variable, check_matrix, check_memory, choose_variable, is_small
from autonmf.io.hdf5 import InFile
from autonmf.io.table import ReadError, Table, explain_errors, import_optional

METADATA = ("zarr.json", ".zarray", ".zgroup")
"""Files with metadata: of version 3, of an array of version 2, of a group of version 2."""

CODECS = {
    "bytes", "transpose", "sharding_indexed", "gzip", "zlib", "bz2", "lzma", "blosc", "zstd", "lz4",
    "shuffle", "delta", "fixedscaleoffset", "quantize", "bitround", "crc32", "crc32c", "adler32",
    "fletcher32", "jenkins_lookup3",
}  # fmt: skip
"""Codecs that cannot run code from a file."""


def read(file: Path, variable: str | None = None) -> Table:
    """Read the array; of a group the array ``variable``, such as group/X, or the only matrix."""
    import_optional("zarr", file, "zarr")
    if not file.exists():
        raise ReadError(f"{file} does not exist")
    if not file.is_dir():
        raise ReadError(f"{file} is a file; .zarr has to be a folder. Unzip it if it is an archive.")
    if not any(file.iterdir()):
        raise ReadError(f"{file} is an empty folder")
    with explain_errors(file, "a zarr folder"):
        root = _read_metadata(file)
        if root is None:
            raise ValueError("it has no metadata")
        if "shape" in root:
            if variable is not None:
                raise ReadError(f"{file} holds one matrix only: leave out the variable name {variable!r}")
            return Table(_load_matrix(file, file, root))
        arrays = dict(sorted(_list_arrays(file)))
        described = [_describe(name, metadata) for name, metadata in arrays.items()]
        name = choose_variable(file, described, variable and variable.strip("/")).name
        return Table(
            _load_matrix(file, file / name, arrays[name]), notes=(f"The matrix is the array {name}.",)
        )


def _read_metadata(folder: Path) -> dict[str, Any] | None:
    """Read the metadata of an array or a group; None for any other folder."""
    found = [name for name in METADATA if (folder / name).is_file()]
    if len(found) > 1:
        raise ValueError(f"it has both {found[0]} and {found[1]}")
    if not found:
        return None
    metadata = json.loads((folder / found[0]).read_bytes())
    if not isinstance(metadata, dict) or ("shape" in metadata) != (
        found[0] == ".zarray" or metadata.get("node_type") == "array"
    ):
        raise ValueError(f"its {found[0]} describes neither an array nor a group")
    return metadata


def _list_arrays(group: Path, prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All arrays below a group, by path; links to other folders are not followed."""
    for folder in group.iterdir():
        metadata = _read_metadata(folder) if folder.is_dir() and not folder.is_symlink() else None
        if metadata is not None and "shape" in metadata:
            yield prefix + folder.name, metadata
        elif metadata is not None:
            yield from _list_arrays(folder, f"{prefix}{folder.name}/")


def _describe(name: str, metadata: dict[str, Any]) -> Variable:
    dtype = _get_dtype(metadata)
    kind = "text" if dtype.kind in "OSUTV" else str(dtype)
    return Variable(name, _get_shape(metadata), kind, numeric=dtype.kind in NUMBERS)


def _get_shape(metadata: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(length) for length in metadata["shape"])


def _get_dtype(metadata: dict[str, Any]) -> np.dtype[Any]:
    """Get the dtype; that of objects for text, records and types of other packages."""
    named = metadata.get("data_type", metadata.get("dtype"))
    try:
        dtype = np.dtype(named) if isinstance(named, str) else np.dtype(object)
    except TypeError:
        dtype = np.dtype(object)
    return dtype


def _check_codecs(file: Path, codecs: Any, key: str) -> None:
    """Refuse codecs that are not among `CODECS`, also within other codecs (version 3)."""
    for codec in codecs:
        name = str(codec[key]) if isinstance(codec, dict) else str(codec)
        if name.removeprefix("numcodecs.") not in CODECS:
            raise ReadError(
                f"{file} is encoded with {name!r}, which is not decoded since that may run code. Save it "
                "with a compression such as gzip, zstd or blosc."
            )
        inner = codec.get("configuration") if isinstance(codec, dict) else None
        for part in ("codecs", "index_codecs"):
            _check_codecs(file, (inner or {}).get(part) or (), key)


def _load_matrix(file: Path, folder: Path, metadata: dict[str, Any]) -> Any:
    """Load an array after checking it; a large matrix stays in its folder."""
    check_matrix(file, _get_shape(metadata), _get_dtype(metadata))
    if "codecs" in metadata:
        _check_codecs(file, metadata["codecs"], "name")
    else:
        encoding = (*(metadata.get("filters") or ()), metadata.get("compressor"))
        _check_codecs(file, (codec for codec in encoding if codec is not None), "id")
    array = import_optional("zarr", file, "zarr").open_array(str(folder), mode="r")
    shapes = (array.shape, array.chunks, getattr(array, "shards", None) or ())  # each is read as a whole
    if is_small(array) or max(shapes, key=prod) != array.shape:
        check_memory(file, (max(shapes, key=prod), array.dtype.itemsize))
    if is_small(array):
        return array[...]
    if all(part.name in (*METADATA, ".zattrs") for part in folder.iterdir()):
        raise ReadError(f"{file} declares {' x '.join(map(str, array.shape))} numbers but holds none of them")
    return InFile(file, array)
