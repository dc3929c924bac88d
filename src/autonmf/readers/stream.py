"""A matrix from a stream, such as the standard input: by way of a file, since most formats need to seek."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from autonmf.readers.kinds import LONGEST, extension_of
from autonmf.readers.table import ReadError, Table

NAME = "standard input"
"""What messages call a stream without a name."""


def read_stream(stream: IO[bytes], read: Callable[[Path], Table]) -> Table:
    """Whatever ``read`` makes of the stream's bytes; their kind is told by the first of them."""
    with TemporaryDirectory(prefix="autonmf-") as folder:
        start = stream.read(LONGEST)
        extension = extension_of(start) or ".txt"
        copy = Path(folder, "stream" + extension.replace(".gz", ".txt.gz"))
        with copy.open("wb") as target:
            target.write(start)
            shutil.copyfileobj(stream, target)
        try:
            return read(copy)
        except ReadError as error:
            raise ReadError(str(error).replace(str(copy), NAME)) from error
