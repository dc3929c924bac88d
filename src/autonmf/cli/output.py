"""Results in a folder: each file is complete or not there."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from autonmf._types import Array
from autonmf.cli.failure import BAD_USAGE, Failure, explained
from autonmf.readers import Table

if TYPE_CHECKING:
    from autonmf.cli.factorise import Factorisation

FILES = ("W.npy", "H.npy", "W.csv", "H.csv", "path.npz", "summary.json")


@dataclass(frozen=True)
class Folder:
    """Where results go, checked before the work begins."""

    path: Path
    replaced: tuple[str, ...]  # files of earlier results

    @classmethod
    def checked(cls, path: Path, *, force: bool) -> Folder:
        """The folder, if it is one; earlier results are left alone without ``force``."""
        with explained(f"write to {path}"):
            is_file = path.exists() and not path.is_dir()
            replaced = tuple(name for name in FILES if (path / name).exists())
        if is_file:
            raise Failure(f"--out {path} is a file; name a folder", BAD_USAGE)
        if replaced and not force:
            raise Failure(
                f"{path} already has {', '.join(replaced)}: choose another folder, or add --force to "
                "overwrite them",
                BAD_USAGE,
            )
        return cls(path, replaced)

    def create(self) -> None:
        """Make the folder, and make sure that files can be written there."""
        with explained(f"write to {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self.path):  # has no name that an interruption could leave behind
                pass

    def write(self, table: Table, found: Factorisation, summary: dict[str, Any]) -> None:
        """Write everything; the summary comes last."""
        rows = table.row_names or [f"row_{i}" for i in range(1, table.X.shape[0] + 1)]
        self._save("W.npy", lambda stream: np.save(_Plain(stream), found.W))
        self._save("H.npy", lambda stream: np.save(_Plain(stream), found.H))
        with self._saving_text("W.csv") as stream:
            _write_csv(stream, found.W, rows, _parts(found))
        with self._saving_text("H.csv") as stream:
            write_components(stream, table, found)
        with self._replacing("path.npz") as temporary:
            found.path.save(temporary)
        self._save(
            "summary.json", lambda stream: stream.write(json.dumps(summary, indent=2).encode() + b"\n")
        )

    def _save(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        with self._replacing(name) as temporary, temporary.open("wb") as stream:
            write(stream)

    @contextmanager
    def _saving_text(self, name: str) -> Iterator[IO[str]]:
        with self._replacing(name) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
            yield stream

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Path]:
        """A temporary file that takes its place under ``name`` once it is complete."""
        temporary = self.path / f".{name}.{os.getpid()}.part"
        with explained(f"write {self.path / name}"):
            try:
                yield temporary
                os.replace(temporary, self.path / name)
            finally:
                temporary.unlink(missing_ok=True)


class _Plain:
    """A file as a mere stream: where NumPy sees a real file, it does not notice that the disk is full."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write


def write_components(stream: IO[str], table: Table, found: Factorisation) -> None:
    """Write H as CSV: a line for each component, a column for each of X."""
    columns = table.column_names or [f"column_{j}" for j in range(1, table.X.shape[1] + 1)]
    _write_csv(stream, found.H, _parts(found), columns)


def _parts(found: Factorisation) -> list[str]:
    return [f"component_{k}" for k in range(1, found.rank + 1)]


def _write_csv(stream: IO[str], values: Array, rows: list[str], columns: list[str]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["", *columns])
    writer.writerows([label, *line.tolist()] for label, line in zip(rows, values, strict=True))
