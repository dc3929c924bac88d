"""ENVI images: a header of text (.hdr) beside raw numbers (.img)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from autonmf._types import Array
from autonmf.readers.table import ReadError, parsing

TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
"""NumPy's name of each real ENVI data type."""

INTERLEAVES = {
    "bsq": ("bands", "lines", "samples"),
    "bil": ("lines", "bands", "samples"),
    "bip": ("lines", "samples", "bands"),
}
"""The axes of the file, slowest first."""

_FIELD = re.compile(r"^[ \t]*([^=\n{}]+?)[ \t]*=[ \t]*(\{[^}]*\}|[^\n]*)", re.MULTILINE)


def read_envi(header: Path, image: Path) -> Array:
    """The cube of an ENVI image, as lines x samples x bands."""
    fields = {name.strip().lower(): value.strip() for name, value in _FIELD.findall(_text(header))}
    with parsing(header, "an ENVI header"):
        sizes = {axis: int(fields[axis]) for axis in ("lines", "samples", "bands")}
        axes = INTERLEAVES[fields["interleave"].lower()]
        order = ">" if int(fields.get("byte order", "0")) else "<"
        kind = np.dtype(order + TYPES[int(fields["data type"])])
        offset = int(fields.get("header offset", "0"))
    shape = tuple(sizes[axis] for axis in axes)
    expected = offset + int(np.prod(shape)) * kind.itemsize
    if (actual := image.stat().st_size) != expected:
        raise ReadError(f"{image} has {actual} bytes where {header.name} announces {expected}")
    cube = np.fromfile(image, dtype=kind, offset=offset).reshape(shape)
    return cube.transpose([axes.index(axis) for axis in ("lines", "samples", "bands")])


def _text(header: Path) -> str:
    text = header.read_text(encoding="latin-1")
    if not text.startswith("ENVI"):
        raise ReadError(f"{header} is not an ENVI header: its first line must say ENVI")
    return text
