"""Files that are replaced only once the new one is complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import IO


@contextmanager
def replace_file(file: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file, which replaces ``file`` if the block succeeds; errors name ``file``.

    The new file has the permissions of the old one, and its owner and group if the system allows that. A
    symbolic link is followed. Anything but an ordinary file, such as a device, is refused.
    """
    named = os.fspath(file)
    target = os.path.realpath(named)
    temporary = f"{target}.{secrets.token_hex(4)}.part"
    try:
        if os.path.lexists(target) and not os.path.isfile(target):
            raise OSError(errno.EINVAL, "it exists and is not an ordinary file")
        with open(temporary, "xb") as stream:
            _keep_permissions(target, temporary)  # before there is anything to read
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), named) from error
    finally:
        with suppress(OSError):  # it has been renamed, or could not be created
            os.unlink(temporary)


def _keep_permissions(old: str, new: str) -> None:
    if not os.path.exists(old):
        return
    status = os.stat(old)
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(new, status.st_uid, status.st_gid)
    os.chmod(new, stat.S_IMODE(status.st_mode))
