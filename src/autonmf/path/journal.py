"""An append-only file: a crash at any moment leaves every record but the last one readable."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from os import PathLike
from typing import Any

from autonmf.path.records import MAGIC, Entry, body_of, packed, scanned

if sys.platform != "win32":
    import fcntl


@dataclass
class Journal:
    """The open file. Only one process may have it; threads of that one may share it."""

    stream: FileIO
    file: str
    entries: list[Entry]  # what it held when it was opened or begun
    end: int  # of the last whole record

    def __post_init__(self) -> None:
        self._mutex = threading.Lock()
        self._given_up = False

    @staticmethod
    def open(file: str | PathLike[str]) -> Journal:
        """Open or create a journal.

        Raises
        ------
        OSError
            The file cannot be written, or another process has it.
        ValueError
            It is not a journal, or a damaged one.
        """
        name = os.fspath(file)
        stream = _opened(name)
        try:
            _lock(stream, name)
            return Journal(stream, name, *scanned(stream, name))
        except BaseException:
            stream.close()
            raise

    def close(self) -> None:
        """Give the file to others, once no thread is writing to it."""
        with self._mutex:
            self.stream.close()

    def read(self, entry: Entry) -> bytearray:
        """The body of a record."""
        with self._mutex:
            return body_of(self.stream, entry)

    def begin(self, label: dict[str, Any]) -> None:
        """Empty the file and add a first record."""
        self.end = 0
        try:
            self.entries = [self.append(label)]
        except OSError as error:
            what = f"the checkpoint {self.file} cannot be begun: {error.strerror}. Name a file elsewhere"
            raise OSError(error.errno, what) from None

    def append(self, label: dict[str, Any], body: bytes = b"") -> Entry:
        """Add a record that survives whatever comes next, or leave the file as it was and raise."""
        start = packed(label, body)
        with self._mutex:
            try:
                os.ftruncate(self.stream.fileno(), self.end)  # without what a crash left
                parts = (start, body) if self.stream.seek(self.end) else (MAGIC, start, body)
                for part in parts:
                    _write(self.stream, part)
                os.fsync(self.stream.fileno())
                end = self.end + sum(map(len, parts))
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(self.stream.fileno(), self.end)
                raise
            self.end = end
            return Entry(label, end - len(body), len(body))

    def append_if_possible(self, label: dict[str, Any], body: bytes = b"") -> None:
        """`append`, but a disk that cannot take it is worth a warning, and is left alone from then on."""
        if self._given_up or self.stream.closed:  # by a run that failed in another thread
            return
        try:
            self.append(label, body)
        except OSError as error:
            self._given_up = True
            warnings.warn(
                f"the checkpoint {self.file} cannot grow ({error.strerror or error}): the path goes on, and "
                "what the file holds so far stays good, but nothing is added to it",
                RuntimeWarning,
                stacklevel=2,
            )


def _opened(name: str) -> FileIO:
    if os.path.exists(name) and not os.path.isfile(name):
        raise ValueError(f"the checkpoint {name} is a folder or a device; give the name of a file")
    try:
        return FileIO(os.open(name, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+")
    except OSError as error:
        what = f"the checkpoint {name} cannot be written: {error.strerror}. Name a file in a folder of yours"
        raise OSError(error.errno, what) from None


def _lock(stream: FileIO, name: str) -> None:
    """Keep other processes out, where the system can."""
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        what = f"the checkpoint {name} is in use by another run. Wait for it, or name another file"
        raise BlockingIOError(error.errno, what) from None
    except OSError:
        pass  # a file system without locks


def _write(stream: FileIO, part: bytes) -> None:
    view = memoryview(part)
    while view:
        view = view[stream.write(view) :]
