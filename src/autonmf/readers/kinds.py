"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

from pathlib import Path

from autonmf.readers.table import ReadError

HDF5 = b"\x89HDF\r\n\x1a\n"

LONGEST = 520
"""First bytes that are enough to tell: MATLAB puts 512 of its own before HDF5's."""

MAGIC = (
    (b"\x93NUMPY", "a NumPy array", (".npy",)),
    (b"PK\x03\x04", "a zip archive", (".npz",)),
    (b"\x1f\x8b", "zipped by gzip", (".gz",)),
    (b"%%MatrixMarket", "a Matrix Market file", (".mtx",)),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file", (".mat",)),
    (b"MATLAB 7.3 MAT-file", "a MATLAB file", (".mat",)),
    (HDF5, "an HDF5 file", (".h5ad", ".mat", ".h5", ".hdf5")),
    (b"PAR1\x15", "a Parquet file", (".parquet",)),
)
"""How files begin, what they are, and the extensions that say so."""


def extension_of(start: bytes) -> str | None:
    """The extension that suits a file which begins with these bytes; None for text and the unknown."""
    return next((extensions[0] for magic, _, extensions in MAGIC if start.startswith(magic)), None)


def check_kind(file: Path, start: bytes, extension: str) -> None:
    """Refuse a file of another known kind than its ``extension`` says."""
    for magic, kind, extensions in MAGIC:
        if start.startswith(magic) and extension not in extensions:
            raise ReadError(
                f"{file} is {kind}, whatever its name says: rename it to end in {' or '.join(extensions)}"
            )
