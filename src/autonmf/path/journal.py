"""An append-only file: a crash at any moment leaves every record but the last one readable.

It begins with a line that names the format. A record is a head, a label in JSON and a body of bytes. Its head
has its number, so that a missing record is noticed, and a hash of the record and all before it, so that a
damaged or foreign one is.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from os import PathLike
from typing import Any, NamedTuple

from autonmf._warnings import warn

if sys.platform != "win32":
    import fcntl

FAMILY = b"autonmf checkpoint "
VERSION = 4
MAGIC = FAMILY + b"%d\n" % VERSION
HEAD = struct.Struct("<QIQ32sI")  # number, length of the label, of the body, hash; checksum of these four
LONGEST_LABEL = 1 << 20
CHUNK = 1 << 20


class Entry(NamedTuple):
    """A whole record."""

    label: dict[str, Any]
    offset: int  # of the body
    length: int


@dataclass
class Journal:
    """The open file. Only one process may use it; the threads of that process share it."""

    stream: FileIO
    file: str
    entries: list[Entry]  # what it held when it was opened or begun
    end: int  # of the last whole record
    count: int  # whole records
    chain: bytes  # the hash of the last one

    def __post_init__(self) -> None:
        self._mutex = threading.Lock()
        self._given_up = False

    @staticmethod
    def open(file: str | PathLike[str]) -> Journal:
        """Open or create a journal: an OSError if it cannot be written, a ValueError if it is damaged."""
        name = os.fspath(file)
        stream = _open_file(name)
        try:
            _lock(stream, name)
            return Journal(stream, name, *scan_records(stream, name))
        except BaseException:
            stream.close()
            raise

    def close(self) -> None:
        """Close the file, once no thread is writing to it."""
        with self._mutex:
            self.stream.close()

    def read(self, entry: Entry) -> bytearray:
        with self._mutex:
            self.stream.seek(entry.offset)
            return _read(self.stream, entry.length)

    def begin(self, label: dict[str, Any]) -> None:
        """Empty the file and add a first record."""
        self.end, self.count, self.chain = 0, 0, b""
        try:
            self.entries = [self.append(label)]
        except OSError as error:
            what = f"the checkpoint {self.file} cannot be created: {error.strerror}. Name a file elsewhere"
            raise OSError(error.errno, what) from None

    def append(self, label: dict[str, Any], body: bytes = b"") -> Entry:
        """Write a record to the disk, or leave the file as it was and raise."""
        text = json.dumps(label).encode()
        with self._mutex:
            chain = _hash(self.chain, text, body)
            head = HEAD.pack(self.count, len(text), len(body), chain, 0)[:-4]
            start = head + zlib.crc32(head).to_bytes(4, "little") + text
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
            self.end, self.count, self.chain = end, self.count + 1, chain
            return Entry(label, end - len(body), len(body))

    def append_if_possible(self, label: dict[str, Any], body: bytes = b"") -> None:
        """`append`, but warn where the disk refuses, and write nothing more from then on."""
        if self._given_up or self.stream.closed:  # by a run that failed in another thread
            return
        try:
            self.append(label, body)
        except OSError as error:
            self._given_up = True
            warn(
                f"the checkpoint {self.file} cannot grow ({error.strerror or error}): the search continues, "
                "and the file stays valid, but nothing more is saved",
                RuntimeWarning,
            )


def _open_file(name: str) -> FileIO:
    if os.path.exists(name) and not os.path.isfile(name):
        raise ValueError(f"the checkpoint {name} is a folder or a device; give the name of a file")
    try:
        return FileIO(os.open(name, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+")
    except OSError as error:
        what = f"the checkpoint {name} cannot be written: {error.strerror}. Choose another folder"
        raise OSError(error.errno, what) from None


def _lock(stream: FileIO, name: str) -> None:
    """Lock the file against other processes, where the system can."""
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


def _hash(chain: bytes, *parts: bytes | bytearray) -> bytes:
    """The hash of a record and, through that of the one before it, of all that precede it."""
    total = hashlib.sha256(chain)
    for part in parts:
        total.update(part)
    return total.digest()


def scan_records(stream: FileIO, name: str) -> tuple[list[Entry], int, int, bytes]:
    """The whole records, where the last one ends, how many there are, and the hash of the last.

    What a crash left of the last record is passed over; what is no journal, or was damaged, is refused.
    """
    size = os.fstat(stream.fileno()).st_size
    start = _read(stream, min(size, len(MAGIC)))
    if size < len(MAGIC) and MAGIC.startswith(start):
        return [], 0, 0, b""
    if start != MAGIC and start.startswith(FAMILY):
        raise ValueError(
            f"the checkpoint {name} was written in another format than version {VERSION}. "
            "Update autonmf, or delete the file to start again"
        )
    if start != MAGIC:
        raise ValueError(
            f"{name} is not a checkpoint of autonmf. Name another file; this one was not changed"
        )
    entries: list[Entry] = []
    end, chain = len(MAGIC), b""
    while end < size:
        try:
            found = _read_entry(stream, end, size, len(entries), chain)
        except (ValueError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else "its label is damaged"
            raise ValueError(
                f"checkpoint {name} is damaged at byte {end}: {reason}. Delete it to start again"
            ) from None
        if found is None:
            break
        entry, chain = found
        entries.append(entry)
        end = entry.offset + entry.length
    return (entries, end, len(entries), chain) if entries else ([], 0, 0, b"")


def _read_entry(
    stream: FileIO, start: int, size: int, expected: int, chain: bytes
) -> tuple[Entry, bytes] | None:
    """The record at an offset, and its hash; None if it is what a crash left of the last one."""
    if start + HEAD.size > size:
        return None
    stream.seek(start)
    head = _read(stream, HEAD.size)
    number, n_label, n_body, digest, checksum_of_head = HEAD.unpack(head)
    if checksum_of_head != zlib.crc32(head[:-4]) or n_label > LONGEST_LABEL:
        stream.seek(start)
        if not any(any(stream.read(CHUNK) or b"") for _ in range(start, size, CHUNK)):
            return None  # the length was written, not yet the content
        raise ValueError("the head of a record has changed")
    if number != expected:
        raise ValueError(f"record {number} follows where record {expected} should")
    end = start + HEAD.size + n_label + n_body
    if end > size:
        return None
    content = _read(stream, n_label + n_body)
    if _hash(chain, content) != digest:
        if end == size:
            return None
        raise ValueError(f"record {number} has changed, or belongs to another file")
    label = json.loads(content[:n_label])
    if not isinstance(label, dict):
        raise ValueError(f"record {number} has no label")
    return Entry(label, end - n_body, n_body), digest


def _read(stream: FileIO, length: int) -> bytearray:
    content = bytearray(length)
    view = memoryview(content)
    while view:
        count = stream.readinto(view)
        if not count:
            raise ValueError("the file became shorter while it was read")
        view = view[count:]
    return content
