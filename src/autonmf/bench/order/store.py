"""Rows in a folder, one line of JSON each, so that a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

from autonmf.bench.order.objective import Row

FILE = "rows.jsonl"


class Store:
    """The rows of a folder, or of none: in memory only. Of two rows about the same the later counts."""

    def __init__(self, folder: Path | None) -> None:
        self.file = None if folder is None else folder / FILE
        self._rows: dict[tuple[str, int, str], Row] = {}
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            self._read(self.file)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __getitem__(self, key: tuple[str, int, str]) -> Row:
        return self._rows[key]

    @property
    def rows(self) -> list[Row]:
        """Every row."""
        return list(self._rows.values())

    def add(self, row: Row) -> None:
        """Keep a row, on the disk at once."""
        self._rows[row.key] = row
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row.as_dict()) + "\n")

    def _read(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            try:
                row = Row.from_dict(json.loads(line))
            except (ValueError, TypeError) as error:
                if line.endswith("\n"):
                    raise ValueError(f"{file}, line {number}: not a row of this benchmark") from error
                file.write_text(text[: -len(line)], encoding="utf-8")  # the line that an interrupt cut short
                return
            self._rows[row.key] = row
        if text and not text.endswith("\n"):
            file.write_text(text + "\n", encoding="utf-8")
