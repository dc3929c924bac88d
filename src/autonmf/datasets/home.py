"""The data home: where the files of the data sets are looked for, and where downloads go.

It is the folder given as ``data_home=``; without one the folder that the environment variable
``AUTONMF_DATA`` names, and after it a cache folder of the user's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

ENVIRONMENT = "AUTONMF_DATA"

DataHome: TypeAlias = "str | os.PathLike[str] | None"


class DataUnavailableError(OSError):
    """A data set that can be neither read nor downloaded; the message says what to do about it."""


def environment_home() -> Path | None:
    """The folder that ``AUTONMF_DATA`` names; None where it names none or one that is not there."""
    named = os.environ.get(ENVIRONMENT)
    folder = Path(named).expanduser() if named else None
    return folder if folder is not None and folder.is_dir() else None


def cache_folder() -> Path | None:
    """The cache folder of the user's for this package; None without pooch, which knows where it is."""
    try:
        return Path(import_module("pooch").os_cache("autonmf"))
    except ImportError:
        return None


def folders(data_home: DataHome = None) -> Iterator[Path]:
    """The folders that are searched, in this order."""
    if data_home is not None:
        yield Path(data_home).expanduser()
        return
    if named := os.environ.get(ENVIRONMENT):
        yield Path(named).expanduser()
    if (cache := cache_folder()) is not None:
        yield cache


def find(file: str, data_home: DataHome = None) -> Path | None:
    """A file of the data home, or None."""
    return next((found for folder in folders(data_home) if (found := folder / file).is_file()), None)


def folder_for_downloads(data_home: DataHome = None) -> Path | None:
    """The first folder of the data home that can be written to, made where it is not there yet."""
    return next((folder for folder in folders(data_home) if _is_writable(folder)), None)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
