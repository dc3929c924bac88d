"""Files of the data home, downloaded with pooch where they are not there yet.

A download is written to a folder of its own and becomes a file of the data home only when it is whole and has
the right hash. Its hash is recorded in a JSON file beside it and checked whenever the file is read again; a
file that was put there by hand has no record and is taken as it is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from autonmf.datasets.home import (
    ENVIRONMENT,
    DataHome,
    DataUnavailableError,
    find,
    folder_for_downloads,
    folders,
)
from autonmf.datasets.sources import SOURCES, Source

TIMEOUT = 30  # seconds without an answer
CHUNK = 2**20


def obtain(file: str, data_home: DataHome = None, download: bool = True) -> Path:
    """A file of the data home, downloaded if it is not there.

    Raises
    ------
    DataUnavailableError
        It is not there and cannot be downloaded, or it is not the file that it should be.
    """
    found = find(file, data_home)
    if found is not None:
        _check(found)
        return found
    if not download:
        raise DataUnavailableError(f"{_absent(file, data_home)}. {_by_hand(file, data_home)}")
    return _downloaded(file, SOURCES[file], data_home)


def _downloaded(file: str, source: Source, data_home: DataHome) -> Path:
    pooch = _pooch(file, data_home)
    folder = folder_for_downloads(data_home)
    if folder is None:
        raise DataUnavailableError(
            f"{_absent(file, data_home)}, and no folder to download it to can be written to: "
            f"name one with data_home= or the environment variable {ENVIRONMENT}"
        )
    final = folder / file
    expected = source.sha256 or _recorded(final)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as partial, _quiet(pooch):
        try:
            received = Path(pooch.retrieve(source.url, None, file, partial, downloader=_stream))
        except (OSError, ValueError) as error:
            raise DataUnavailableError(
                f"{_absent(file, data_home)}, and it cannot be downloaded from {source.url}: "
                f"{_reason(error)}. Put the file into {folder}"
            ) from error
        actual = sha256(received)
        if expected is not None and actual != expected:
            raise DataUnavailableError(
                f"what {source.url} sent is refused, since it is not the expected {file}: its SHA-256 is "
                f"{actual}, which should be {expected}"
            )
        record = {"file": file, "url": source.url, "sha256": actual}
        written = Path(partial, "record.json")
        written.write_text(json.dumps(record, indent=1) + "\n")
        os.replace(written, _record_of(final))
        os.replace(received, final)
    _say(f"downloaded {final} from {source.url}, SHA-256 {actual}")
    if source.sha256 is None:
        _say(f"no hash is published for {file}: this one is recorded in {_record_of(final).name} and checked")
    return final


def _stream(url: str, output_file: str | Path, pooch: Any) -> None:
    """A downloader of pooch that closes its connection and refuses a file that ends too early."""
    requests = import_module("requests")
    with requests.get(url, stream=True, timeout=TIMEOUT) as response, open(output_file, "wb") as stream:
        response.raise_for_status()
        for chunk in response.iter_content(CHUNK):
            stream.write(chunk)
        announced = int(response.headers.get("Content-Length", 0))
        if announced and response.raw.tell() != announced:
            raise OSError(f"{response.raw.tell()} bytes came where {announced} were announced")


def sha256(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _record_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.download.json")


def _recorded(file: Path) -> str | None:
    """The hash of the first download of this file, or None."""
    record = _record_of(file)
    if not record.is_file():
        return None
    try:
        return str(json.loads(record.read_text())["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataUnavailableError(
            f"cannot read the record of the download {record}: remove it, and {file.name} if it is there, "
            "to download the file again"
        ) from error


def _check(file: Path) -> None:
    expected = _recorded(file)
    if expected is not None and (actual := sha256(file)) != expected:
        raise DataUnavailableError(
            f"{file} is no longer the file that was downloaded: its SHA-256 is {actual}, which should be "
            f"{expected}. Remove it to download it again"
        )


def _pooch(file: str, data_home: DataHome) -> Any:
    try:
        return import_module("pooch")
    except ImportError as error:
        raise DataUnavailableError(
            f"{_absent(file, data_home)}, and a download needs pooch: pip install 'autonmf[data]'. "
            + _by_hand(file, data_home)
        ) from error


@contextmanager
def _quiet(pooch: Any) -> Iterator[None]:
    """Without pooch's own messages, which speak of its arguments."""
    logger: logging.Logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _absent(file: str, data_home: DataHome) -> str:
    searched = " or ".join(map(str, folders(data_home)))
    return f"there is no {file} in {searched}" if searched else f"there is no {file}: no data home is set"


def _by_hand(file: str, data_home: DataHome) -> str:
    folder = next(folders(data_home), None)
    place = f"into {folder}" if folder else f"into a folder and set {ENVIRONMENT} to it"
    source = SOURCES.get(file)
    return f"Put the file {file} {place}" + (f"; it is published at {source.url}" if source else "")


def _reason(error: Exception) -> str:
    """What went wrong, without the address that requests repeats."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answers {response.status_code} {response.reason}"
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return str(inner or error)


def _say(message: str) -> None:
    print(f"autonmf: {message}", file=sys.stderr)
