"""Finished cells on the disk, one file each: complete or not there."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from autonmf.reproduce.cell import Cell, Done
from autonmf.reproduce.code import digest_of

FOLDER = "cells"


class Store:
    """The finished cells of a folder."""

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER

    def get(self, cell: Cell) -> Done | None:
        """What is stored of a cell, whatever code it was computed with; see `is_fresh`."""
        try:
            return Done(**json.loads(self._file(cell).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):  # none, or not one of ours
            return None

    def put(self, cell: Cell, done: Done) -> None:
        """Keep a result. A kill leaves the old file or the new one, never half of it."""
        file = self._file(cell)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            part.write_text(json.dumps(asdict(done), allow_nan=False) + "\n", encoding="utf-8")
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)

    def _file(self, cell: Cell) -> Path:
        return self.folder / cell.experiment / f"{cell.key}.json"


def is_fresh(cell: Cell, done: Done) -> bool:
    """Whether a result was computed by the code as it is now."""
    return done.code == digest_of(cell.function)
