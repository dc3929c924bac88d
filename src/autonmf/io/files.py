"""`read_matrix`: chooses the reader by the extension of a file, or by the first bytes of a stream."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from autonmf.io.table import ReadError, Table

_FOLDER = "a folder"

_READERS = {
    ".csv": "text.read", ".tsv": "text.read", ".txt": "text.read", ".mtx": "matrix_market.read",
    ".npy": "numpy_files.read_npy", ".npz": "numpy_files.read_npz", ".mat": "matlab.read",
    ".parquet": "parquet.read", ".h5ad": "hdf5.read_h5ad", ".h5": "hdf5.read_hdf5",
    ".hdf5": "hdf5.read_hdf5", ".zarr": "zarr_folders.read", _FOLDER: "matrix_market.read_folder",
}  # fmt: skip
"""Module and function by extension; modules are imported when needed."""

_ELSEWHERE = {
    ".xlsx": "an Excel file: save the sheet as CSV (File > Save As)",
    ".xls": "an Excel file: save the sheet as CSV (File > Save As)",
    ".ods": "a spreadsheet: save it as CSV (File > Save As)",
    ".hspy": "a HyperSpy file: in Python, hyperspy.api.load(file).decomposition(algorithm=AutoNMF())",
    ".loom": "a loom file: in Python, anndata.read_loom(file).write_h5ad(name)",
    ".rds": "an R file: in R, write.csv(x, name)",
}
"""Kinds of files that cannot be read, and what to do instead."""

_TEXT = (".csv", ".tsv", ".txt")
_GZIPPED = (*_TEXT, ".mtx")
_WITH_ANNOTATIONS = (*_TEXT, ".parquet", ".h5ad")
_WITH_VARIABLES = (".npz", ".mat", ".h5ad", ".h5", ".hdf5", ".zarr")

EXTENSIONS = (*(name for name in _READERS if name != _FOLDER), *(f"{name}.gz" for name in _GZIPPED))
"""The extensions that `read_matrix` knows."""

_ZIP = b"PK\x03\x04"

_MAGIC = (
    (b"\x93NUMPY", "a NumPy array", (".npy",)),
    (_ZIP, "a zip archive", (".npz",)),
    (b"\x1f\x8b", "a gzip file", (".gz",)),
    (b"%%MatrixMarket", "a Matrix Market file", (".mtx",)),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file", (".mat",)),
    (b"MATLAB 7.3 MAT-file", "a MATLAB file", (".mat",)),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", (".h5ad", ".mat", ".h5", ".hdf5")),
    (b"PAR1\x15", "a Parquet file", (".parquet",)),
)
"""First bytes, kinds and extensions of files."""

_N_MAGIC = 64
"""Number of bytes by which a file is recognised."""


def read_matrix(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    variable: str | None = None,
    header: bool | None = None,
    labels: bool | None = None,
    annotations: Sequence[str] = (),
) -> Table:
    r"""Read a matrix and its names from a file.

    Parameters
    ----------
    file : path or binary stream
        A file with one of the `EXTENSIONS`, in upper or lower case, or a folder of 10x Genomics with
        matrix.mtx, barcodes.tsv and features.tsv. The kind of a stream, such as
        ``sys.stdin.buffer``, is recognised by its first bytes; it is text if they are unknown.
    variable : str, optional
        Which variable of a .mat or .npz file, which layer of a .h5ad file (or ``raw``), or which array of a
        .h5 or .hdf5 file or a .zarr folder, such as ``group/X``.
    header : bool, optional
        Whether the first line of a text file holds column names. By default this is found from the file.
    labels : bool, optional
        Whether the first column of a text file holds row names. By default this is found from the file.
    annotations : sequence of str, optional
        Columns of a text or .parquet file that describe the rows and are not part of the matrix, by name; in
        text files also by number from 1, or as a range such as ``"2-4"``. For .h5ad, columns of ``obs``.

    Returns
    -------
    Table
        A dense matrix of more than 256 MB in a .npy, .h5, .hdf5, .h5ad, .zarr or MATLAB 7.3 file stays in
        its file, and `AutoNMF` reads it from there block by block.

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
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if annotations:
        options["annotations"] = [annotations] if isinstance(annotations, str) else list(annotations)
    if isinstance(file, str | os.PathLike):
        return _read_file(Path(file), options)
    return _read_stream(file, options)


def _read_stream(stream: IO[bytes], options: dict[str, Any]) -> Table:
    """Read a stream from a temporary copy, since most formats need to seek."""
    with TemporaryDirectory(prefix="autonmf-") as folder:
        start = stream.read(_N_MAGIC)
        extension = next((names[0] for magic, _, names in _MAGIC if start.startswith(magic)), ".txt")
        copy = Path(folder, "stream" + extension.replace(".gz", ".txt.gz"))
        with copy.open("wb") as target:
            target.write(start)
            shutil.copyfileobj(stream, target)
        try:
            return _read_file(copy, options)
        except ReadError as error:
            raise ReadError(str(error).replace(str(copy), "standard input")) from error


def _read_file(file: Path, options: dict[str, Any]) -> Table:
    extension = _find_extension(file)
    if "variable" in options and extension not in _WITH_VARIABLES:
        raise ReadError(f"{file} holds one matrix only: leave out the variable name {options['variable']!r}")
    if extension not in _TEXT and not options.keys().isdisjoint({"header", "labels"}):
        raise ReadError(f"{file} is not a text file: leave out the choice of a header or row labels")
    if "annotations" in options and extension not in _WITH_ANNOTATIONS:
        raise ReadError(f"{file} has no annotation columns: leave out {options['annotations'][0]!r}")
    if extension not in (".zarr", _FOLDER):
        _check_start(file, ".gz" if file.suffix.lower() == ".gz" else extension)
    module, name = _READERS[extension].split(".")
    reader: Callable[..., Table] = getattr(import_module(f"autonmf.io.{module}"), name)
    table = reader(file, **options)
    checks = import_module("autonmf.io.checks")  # it imports NumPy, which --help does not need
    checks.check_matrix(file, table.X.shape, table.X.dtype)
    repeated = (*_note_repeated(table.row_names, "row"), *_note_repeated(table.column_names, "column"))
    return replace(table, notes=(*table.notes, *repeated)) if repeated else table


def _note_repeated(names: list[str] | None, noun: str) -> Iterator[str]:
    """A note if names are not unique; they are kept."""
    several = [name for name, number in Counter(names or ()).items() if number > 1]
    if several:
        many = f"{len(several)} {noun} names occur" if len(several) > 1 else f"One {noun} name occurs"
        yield f"{many} more than once, such as {several[0]!r}."


def _find_extension(file: Path) -> str:
    """Find the extension by which the reader is chosen, in lower case and without .gz."""
    name = file.name.lower()
    if os.path.isdir(file) and not name.endswith(".zarr"):
        return _FOLDER
    for extension in _READERS:
        if name.endswith(extension) or (extension in _GZIPPED and name.endswith(f"{extension}.gz")):
            return extension
    if not file.exists():
        raise ReadError(f"{file} does not exist")
    if file.suffix.lower() in _ELSEWHERE:
        raise ReadError(f"{file} is {_ELSEWHERE[file.suffix.lower()]}")
    raise ReadError(f"{file} is of an unknown kind: its extension must be one of {', '.join(EXTENSIONS)}")


def _is_spreadsheet(file: Path) -> bool:
    """Whether a zip archive is a file of Excel under another name."""
    try:
        with ZipFile(file) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _check_start(file: Path, extension: str) -> None:
    """Refuse a file that cannot be opened, is empty, or has the first bytes of another kind."""
    try:
        with file.open("rb") as stream:
            start = stream.read(_N_MAGIC)
    except FileNotFoundError:
        raise ReadError(f"{file} does not exist") from None
    except OSError as error:
        raise ReadError(f"cannot open {file}: {error.strerror or error}") from error
    if not start:
        raise ReadError(f"{file} is empty (0 bytes)")
    if start.startswith(_ZIP) and _is_spreadsheet(file):
        raise ReadError(f"{file} is {_ELSEWHERE['.xlsx']}")
    for magic, kind, extensions in _MAGIC:
        if start.startswith(magic) and extension not in extensions:
            raise ReadError(f"{file} is {kind}: rename it to end in {' or '.join(extensions)}")
