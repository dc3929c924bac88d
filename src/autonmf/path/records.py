"""The format of a journal: a line that names it, and records that can tell whether they are whole.

A record is a head (lengths and checksums), a label in JSON and a body of bytes.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from io import FileIO
from typing import Any, NamedTuple

FAMILY = b"autonmf checkpoint "
VERSION = 1
MAGIC = FAMILY + b"%d\n" % VERSION
LENGTHS = struct.Struct("<IQI")  # length of the label, of the body, checksum of both
CHECKSUM = struct.Struct("<I")  # of the lengths
HEAD = LENGTHS.size + CHECKSUM.size
LONGEST_LABEL = 1 << 20
CHUNK = 1 << 20


class Entry(NamedTuple):
    """A whole record."""

    label: dict[str, Any]
    offset: int  # of the body
    length: int


class Damaged(ValueError):
    """A record that is not what was written, with others behind it."""


def packed(label: dict[str, Any], body: bytes) -> bytes:
    """Head and label of a record; the body follows."""
    text = json.dumps(label).encode()
    lengths = LENGTHS.pack(len(text), len(body), zlib.crc32(body, zlib.crc32(text)))
    return lengths + CHECKSUM.pack(zlib.crc32(lengths)) + text


def scanned(stream: FileIO, name: str) -> tuple[list[Entry], int]:
    """The whole records, and where the last one ends.

    What a crash left of the last record is passed over; what is no journal, or was damaged, is refused.
    """
    size = os.fstat(stream.fileno()).st_size
    _fill(stream, start := bytearray(min(size, len(MAGIC))))
    if size < len(MAGIC) and MAGIC.startswith(start):
        return [], 0
    if start != MAGIC:
        raise ValueError(_foreign(bytes(start), name))
    entries: list[Entry] = []
    end = len(MAGIC)
    while end < size:
        try:
            entry = _entry(stream, end, size)
        except (ValueError, RecursionError):
            raise Damaged(
                f"the checkpoint {name} is damaged at byte {end}. Delete it, and the path starts afresh"
            ) from None
        if entry is None:
            break
        entries.append(entry)
        end = entry.offset + entry.length
    return (entries, end) if entries else ([], 0)


def body_of(stream: FileIO, entry: Entry) -> bytearray:
    """The bytes of a record."""
    body = bytearray(entry.length)
    stream.seek(entry.offset)
    _fill(stream, body)
    return body


def _foreign(start: bytes, name: str) -> str:
    if start.startswith(FAMILY):
        return (
            f"the checkpoint {name} has another format than version {VERSION}, which this autonmf knows. "
            "Update autonmf, or delete the file to start afresh"
        )
    return f"{name} is not a checkpoint of autonmf. Name another file; this one is left as it is"


def _entry(stream: FileIO, start: int, size: int) -> Entry | None:
    """The record at an offset; None if it is what a crash left of the last one."""
    if start + HEAD > size:
        return None
    stream.seek(start)
    _fill(stream, head := bytearray(HEAD))
    n_label, n_body, checksum = LENGTHS.unpack_from(head)
    sound = CHECKSUM.unpack_from(head, LENGTHS.size)[0] == zlib.crc32(head[: LENGTHS.size])
    if not sound or n_label > LONGEST_LABEL:
        if _only_zeros(stream, start, size):  # a file system that had noted the length, not yet the content
            return None
        raise ValueError("its head is damaged")
    end = start + HEAD + n_label + n_body
    if end > size:
        return None
    _fill(stream, text := bytearray(n_label))
    if _checksum(stream, n_body, zlib.crc32(text)) != checksum:
        if end == size:
            return None
        raise ValueError("its content is damaged")
    label = json.loads(text)
    if not isinstance(label, dict):
        raise ValueError("its label is none")
    return Entry(label, end - n_body, n_body)


def _checksum(stream: FileIO, length: int, checksum: int) -> int:
    for done in range(0, length, CHUNK):
        _fill(stream, chunk := bytearray(min(CHUNK, length - done)))
        checksum = zlib.crc32(chunk, checksum)
    return checksum


def _only_zeros(stream: FileIO, start: int, size: int) -> bool:
    stream.seek(start)
    return not any(any(stream.read(CHUNK) or b"") for _ in range(start, size, CHUNK))


def _fill(stream: FileIO, buffer: bytearray) -> None:
    view = memoryview(buffer)
    while view:
        count = stream.readinto(view)
        if not count:
            raise ValueError("the file became shorter while it was read")
        view = view[count:]
