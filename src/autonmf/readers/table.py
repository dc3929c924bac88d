"""`Table`: a matrix and what its file said about it; `ReadError`: why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """A matrix and its names."""

    X: Any  # ndarray, SciPy sparse matrix or `InFile`, two-dimensional and numeric
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    notes: tuple[str, ...] = ()  # how the file was understood, one sentence each
    doubts: tuple[str, ...] = ()  # what could have been meant otherwise, and how to say so

    @property
    def T(self) -> Table:
        """The transpose, names included."""
        return Table(self.X.T, self.column_names, self.row_names, self.notes, self.doubts)


class ReadError(ValueError):
    """A file that cannot be read as a matrix; the message says why and what to do, in one line."""


@contextmanager
def parsing(file: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises on a damaged or foreign file into a `ReadError`.

    Parsers of binary formats raise anything from KeyError to zlib.error on bad bytes; no list of these
    would be complete. Running out of memory is not the file's fault and passes through.
    """
    try:
        yield
    except (ReadError, MemoryError):
        raise
    except EOFError as error:
        raise ReadError(f"{file} is truncated: it ends before its data do") from error
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ReadError(f"cannot read {file} as {kind}; it may be damaged or truncated ({reason})") from error


def optional(module: str, file: Path, package: str = "'autonmf[io]'") -> Any:
    """Import a library that only some formats need."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ReadError(
            f"reading {file.suffix} files needs {library}, which cannot be imported here: "
            f"pip install {package}"
        ) from error
