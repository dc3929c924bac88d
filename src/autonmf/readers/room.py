"""Whether what a file announces fits into memory: a header of a few bytes can announce anything."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path

from autonmf.readers.table import ReadError

NUMBER = 8
"""Bytes of a number in double precision, or of an index."""


def memory() -> int | None:
    """Bytes of memory that this computer has, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_room(file: Path, shape: tuple[int, ...], bytes_each: int = NUMBER) -> None:
    """Refuse an array of this shape if it can never fit, before anything is allocated for it."""
    needed, there = prod(int(length) for length in shape) * bytes_each, memory()
    if there is not None and needed > there:
        raise ReadError(
            f"{file} has {' x '.join(map(str, shape))} numbers, which take {_size(needed)}; this "
            f"computer has {_size(there)} of memory. Use a part of it, unless it is damaged."
        )


def _size(n_bytes: int) -> str:
    """Bytes in a unit that people read."""
    size, units = float(n_bytes), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}"
