"""Which state of the code gave an answer."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import autonmf

OUTSIDE = ("bench", "cli", "plotting", "readers", "report", "reproduce")  # parts that no answer depends on


@cache
def code_digest() -> str:
    """Eight digits that change with the source of the package, read when first asked for."""
    root = Path(autonmf.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*")):
        place = file.relative_to(root)
        if file.suffix in (".py", ".c", ".h") and place.parts[0] not in OUTSIDE:
            digest.update(place.as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:8]
