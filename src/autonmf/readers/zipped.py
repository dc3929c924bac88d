"""A file's bytes, unzipped where its name ends in .gz."""

from __future__ import annotations

import gzip
from io import BufferedReader
from pathlib import Path


def opened(file: Path) -> gzip.GzipFile | BufferedReader:
    """The file, open for reading bytes."""
    return gzip.GzipFile(file) if file.suffix.lower() == ".gz" else file.open("rb")
