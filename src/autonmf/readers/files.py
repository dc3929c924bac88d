"""`read_matrix`: the reader that a file's extension, or the first bytes of a stream, ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from autonmf.readers.kinds import LONGEST, check_kind
from autonmf.readers.table import ReadError, Table

_READERS = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".mtx": "matrix_market",
    ".npy": "npy", ".npz": "npz", ".mat": "matlab", ".parquet": "parquet", ".h5ad": "h5ad",
    ".h5": "h5", ".hdf5": "h5", ".zarr": "zarr",
}  # fmt: skip
_GZIPPED = (".csv", ".tsv", ".txt", ".mtx")
_WITH_VARIABLES = (".npz", ".mat", ".h5ad", ".h5", ".hdf5", ".zarr")
_FOLDERS = (".zarr",)

EXTENSIONS = (*_READERS, *(f"{extension}.gz" for extension in _GZIPPED))
"""The extensions that `read_matrix` knows."""


def read_matrix(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    variable: str | None = None,
    header: bool | None = None,
    labels: bool | None = None,
) -> Table:
    r"""Read a matrix and its names from a file.

    Parameters
    ----------
    file : path or binary stream
        With one of `EXTENSIONS`, in upper or lower case. Of a stream, such as ``sys.stdin.buffer``, the
        first bytes tell what it is: text, unless they are those of another format.
    variable : str, optional
        Which variable of a .mat or .npz file, which layer of a .h5ad file, or which array of a .h5 or
        .hdf5 file or a .zarr folder, such as ``group/X``.
    header : bool, optional
        Whether the first line of a text file holds column names. Default: found from the file.
    labels : bool, optional
        Whether the first column of a text file holds row names. Default: found from the file.

    Returns
    -------
    Table
        Of a .npy, .h5, .hdf5 or .zarr matrix, or a dense one in a .h5ad or MATLAB 7.3 file, that takes more
        than 256 MB, ``X`` stays in the file: `AutoNMF` reads it from there block by block.

    Raises
    ------
    ReadError
        The file is missing, empty, damaged, not a matrix of numbers or of an unknown kind.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "counts.csv")
    ...     _ = file.write_text("gene,a,b\ng1,1,2\ng2,3,4\n")
    ...     table = read_matrix(file)
    >>> table.X.tolist(), table.row_names, table.column_names
    ([[1.0, 2.0], [3.0, 4.0]], ['g1', 'g2'], ['a', 'b'])
    """
    given = {"variable": variable, "header": header, "labels": labels}
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(file, str | os.PathLike):
        return _read_file(Path(file), options)
    from autonmf.readers.stream import read_stream

    return read_stream(file, lambda copy: _read_file(copy, options))


def _read_file(target: Path, options: dict[str, Any]) -> Table:
    extension = _extension(target)
    if "variable" in options and extension not in _WITH_VARIABLES:
        raise ReadError(
            f"{target} holds one matrix only: leave out the variable name {options['variable']!r}"
        )
    if _READERS[extension] != "text" and not options.keys().isdisjoint({"header", "labels"}):
        raise ReadError(f"{target} is not a text file: leave out the choice of a header or row labels")
    if extension in _FOLDERS:
        _check_folder(target, extension)
    else:
        check_kind(target, _start(target), ".gz" if target.suffix.lower() == ".gz" else extension)
    reader: Callable[..., Table] = import_module(f"autonmf.readers.{_READERS[extension]}").read
    return _checked(target, reader(target, **options))


def _extension(file: Path) -> str:
    """The extension that decides, in lower case and without .gz."""
    name = file.name.lower()
    for extension in _READERS:
        if name.endswith(extension) or (extension in _GZIPPED and name.endswith(f"{extension}.gz")):
            return extension
    if file.is_dir():
        raise ReadError(f"{file} is a folder; name one file in it")
    if not file.exists():
        raise ReadError(f"{file} does not exist")
    known = ", ".join(_READERS)
    raise ReadError(
        f"{file} is of an unknown kind: its extension must be one of {known} "
        f"(.gz may follow {', '.join(_GZIPPED)})"
    )


def _check_folder(target: Path, extension: str) -> None:
    """Refuse what is no folder."""
    if not target.exists():
        raise ReadError(f"{target} does not exist")
    if not target.is_dir():
        raise ReadError(f"{target} is a file; {extension} has to be a folder. Unzip it if it is an archive.")


def _start(file: Path) -> bytes:
    """The first bytes of a file that can be read and has some."""
    try:
        if file.is_dir():
            raise ReadError(f"{file} is a folder; name one file in it")
        with file.open("rb") as stream:
            start = stream.read(LONGEST)
    except FileNotFoundError:
        raise ReadError(f"{file} does not exist") from None
    except OSError as error:
        raise ReadError(f"cannot open {file}: {error.strerror or error}") from error
    if not start:
        raise ReadError(f"{file} is empty (0 bytes)")
    return start


def _checked(file: Path, table: Table) -> Table:
    shape, kind = table.X.shape, table.X.dtype.kind
    if len(shape) != 2:
        raise ReadError(
            f"{file} holds {len(shape)} dimension(s), shape {' x '.join(map(str, shape)) or '()'}; "
            "a matrix with two is needed. Reshape it and save it again."
        )
    if kind not in "biufc":
        raise ReadError(f"{file} holds {table.X.dtype} entries, not numbers. Keep the numeric columns only.")
    return table
