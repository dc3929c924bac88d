"""The files of data sets: where they are searched for, and how they are downloaded (from `sources.txt`).

A download is written to a temporary folder and moved to the data home only when it is complete and has the
right hash. Its hash is recorded in a JSON file next to it and checked whenever the file is read; a file that
the user put there has no record and is not checked. Downloads need pooch, which installs requests and knows
the cache folder of the user.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeAlias

ENVIRONMENT = "AUTONMF_DATA"

DataHome: TypeAlias = "str | os.PathLike[str] | None"


class DataUnavailableError(OSError):
    """A data set that can be neither read nor downloaded; the message says what to do."""


def folders(data_home: DataHome = None) -> Iterator[Path]:
    """The folders to search, in order; the cache folder is known only to pooch."""
    if data_home is not None:
        yield Path(data_home).expanduser()
        return
    if named := os.environ.get(ENVIRONMENT):
        yield Path(named).expanduser()
    if find_spec("pooch"):
        yield Path(import_module("pooch").os_cache("autonmf"))


def find(file: str, data_home: DataHome = None) -> Path | None:
    """Find a file of the data home; None if it is not there."""
    return next((found for folder in folders(data_home) if (found := folder / file).is_file()), None)


def folder_for_downloads(data_home: DataHome = None) -> Path | None:
    """The first folder of the data home that can be written to, created if needed."""
    for folder in folders(data_home):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


class Source(NamedTuple):
    """Where a file comes from."""

    url: str
    sha256: str | None = None


def _read_sources() -> dict[str, Source]:
    text = (files("autonmf.datasets") / "sources.txt").read_text(encoding="utf-8")
    listed = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {file: Source(url, None if digest == "-" else digest) for file, digest, url in listed}


SOURCES = _read_sources()
"""Every file that can be downloaded, by its name in the data home."""

TIMEOUT = 30  # seconds without an answer
CHUNK = 2**20


def fetch_file(file: str, data_home: DataHome = None, download: bool = True) -> Path:
    """Find a file of the data home, or download it; a `DataUnavailableError` says what to do instead."""
    found = find(file, data_home)
    if found is not None:
        _check(found)
        return found
    searched = [str(folder) for folder in folders(data_home)]
    absent = f"there is no {file}" + (f" in {' or '.join(searched)}" if searched else ": no data home is set")
    if download and find_spec("pooch"):
        return _download(file, SOURCES[file], data_home, absent)
    if download:
        absent += ", and a download needs pooch: pip install 'autonmf[data]'"
    place = f"into {searched[0]}" if searched else f"into a folder and set {ENVIRONMENT} to it"
    published = f"; it is published at {SOURCES[file].url}" if file in SOURCES else ""
    raise DataUnavailableError(f"{absent}. Put the file {file} {place}{published}")


def _download(file: str, source: Source, data_home: DataHome, absent: str) -> Path:
    folder = folder_for_downloads(data_home)
    if folder is None:
        raise DataUnavailableError(
            f"{absent}, and no folder to download it to can be written to: "
            f"name one with data_home= or the environment variable {ENVIRONMENT}"
        )
    final = folder / file
    expected = source.sha256 or _read_record(final)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as partial:
        received = Path(partial, file)
        try:
            _receive(source.url, received)
        except (OSError, ValueError) as error:
            raise DataUnavailableError(
                f"{absent}, and it cannot be downloaded from {source.url}: {_find_reason(error)}. "
                f"Put the file into {folder}"
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
        os.replace(written, _record_path(final))
        os.replace(received, final)
    said = f"downloaded {final} from {source.url}, SHA-256 {actual}"
    if source.sha256 is None:
        said += f"; no hash is published: this one is recorded in {_record_path(final).name} and checked"
    print(f"autonmf: {said}", file=sys.stderr)
    return final


def _receive(url: str, file: Path) -> None:
    """Download an address to a file; an OSError if the download is incomplete.

    pooch is not used, since as of 1.9 it leaves the connection open after an error.
    """
    requests = import_module("requests")
    with requests.get(url, stream=True, timeout=TIMEOUT) as response, file.open("wb") as stream:
        response.raise_for_status()
        for chunk in response.iter_content(CHUNK):
            stream.write(chunk)
        received, expected = response.raw.tell(), int(response.headers.get("Content-Length", 0))
        if expected and received != expected:
            raise OSError(f"received {received} of {expected} bytes")


def sha256(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _record_path(file: Path) -> Path:
    return file.with_name(f"{file.name}.download.json")


def _read_record(file: Path) -> str | None:
    """Read the hash of the first download of this file, or None."""
    record = _record_path(file)
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
    expected = _read_record(file)
    if expected is not None and (actual := sha256(file)) != expected:
        raise DataUnavailableError(
            f"{file} is no longer the file that was downloaded: its SHA-256 is {actual}, which should be "
            f"{expected}. Remove it to download it again"
        )


def _find_reason(error: Exception) -> str:
    """The reason of a failed download, without the address."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answers {response.status_code} {response.reason}"
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return str(inner or error)
