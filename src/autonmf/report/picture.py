"""Pictures and curves, small enough for a page that holds hundreds of them."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from math import ceil, sqrt
from typing import Any

import numpy as np

from autonmf._types import Array

LEVELS = 63
"""Shades of grey beyond the first: more would double the size, and the eye does not see them."""

CURVE_LEVELS = 65535


def picture(values: Array, most_pixels: int) -> str:
    """A matrix as a grey PNG from zero (black) to its maximum, in base 64."""
    image = shrunk(np.asarray(values, dtype=float), most_pixels)
    shades = np.rint(np.rint(_relative(image) * LEVELS) * (255 / LEVELS)).astype(np.uint8)
    return b64encode(_png(shades)).decode("ascii")


def curve(values: Array, most_points: int) -> str:
    """A vector relative to its maximum, as little-endian 16-bit numbers in base 64."""
    numbers = np.rint(_relative(thinned(values, most_points)) * CURVE_LEVELS)
    return b64encode(numbers.astype("<u2").tobytes()).decode("ascii")


def shrunk(image: Array, most_pixels: int) -> Array:
    """The means of square blocks, if there are too many pixels."""
    side = block_side(image.shape, most_pixels)
    if side == 1:
        return image
    rows, columns = (np.arange(0, length, side) for length in image.shape)
    sums = np.add.reduceat(np.add.reduceat(image, rows, axis=0), columns, axis=1)
    heights, widths = (np.diff(np.append(b, n)) for b, n in zip((rows, columns), image.shape, strict=True))
    return np.asarray(sums / np.outer(heights, widths))


def block_side(shape: tuple[Any, ...], most_pixels: int) -> int:
    """How many pixels along each side become one."""
    side = ceil(sqrt(shape[0] * shape[1] / most_pixels))
    while ceil(shape[0] / side) * ceil(shape[1] / side) > most_pixels and side < max(shape):
        side += 1
    return max(side, 1)


def thinned(values: Array, most_points: int) -> Array:
    """The maxima of bins, if there are too many points: peaks stay."""
    step = ceil(len(values) / most_points)
    return np.asarray(np.maximum.reduceat(np.asarray(values, dtype=float), np.arange(0, len(values), step)))


def thinned_axis(axis: Array, most_points: int) -> Array:
    """The middle of each of the bins of `thinned`."""
    step = ceil(len(axis) / most_points)
    starts = np.arange(0, len(axis), step)
    return np.asarray([axis[start : start + step].mean() for start in starts])


def _relative(values: Array) -> Array:
    top = float(values.max(initial=0.0))
    return np.clip(values / top, 0.0, 1.0) if top > 0 else np.zeros_like(values)


def _png(shades: Array) -> bytes:
    """A grey PNG of 8 bits, as it is or by differences to the row above, whichever is smaller."""
    height, width = shades.shape
    above = np.vstack([np.zeros((1, width), np.uint8), shades[:-1]])
    rows = [
        np.hstack([np.full((height, 1), kind, np.uint8), filtered]).tobytes()
        for kind, filtered in ((0, shades), (2, shades - above))
    ]
    packed = min((zlib.compress(raw, 9) for raw in rows), key=len)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(*part) for part in ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
