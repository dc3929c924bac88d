"""Files that are replaced only once the new one is complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import IO


@contextmanager
def replace_file(file: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream to a temporary file, which replaces ``file`` if the block succeeds; errors name ``file``."""
    target = os.fspath(file)
    temporary = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), target) from error
    finally:
        with suppress(OSError):  # it has been renamed, or could not be created
            os.unlink(temporary)
