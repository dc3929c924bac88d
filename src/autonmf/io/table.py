"""`Table`: a matrix and its names; `ReadError`: why a file cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """A matrix read from a file, with its names.

    Attributes
    ----------
    X : ndarray, SciPy sparse matrix or matrix in a file, of shape (n, m)
        The numbers.
    row_names, column_names : list of str or None
        The names, where the file has them.
    notes : tuple of str
        How the file was understood, in sentences.
    doubts : tuple of str
        Which of these choices may be wrong, and how to change them.
    annotations : dict of str to list of str
        The requested columns that describe the rows, by name.
    """

    X: Any
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    annotations: dict[str, list[str]] = field(default_factory=dict)

    @property
    def T(self) -> Table:
        """Rows and columns exchanged; annotations, which describe rows, are left out."""
        return Table(self.X.T, self.column_names, self.row_names, self.notes, self.doubts)


MAX_LISTED = 12
"""Maximum number of names that a message lists."""


def list_names(names: Iterable[object]) -> str:
    """The first names in one line, and how many more there are; "none" if there is none."""
    texts = list(map(str, names))
    more = f" and {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    return ", ".join(texts[:MAX_LISTED]) + more or "none"


class ReadError(ValueError):
    """A file cannot be read as a matrix; the message says why and what to do, in one line."""


@contextmanager
def explain_errors(file: Path, kind: str) -> Iterator[None]:
    """Turn any error of a parser into a `ReadError` that names the file.

    On damaged files parsers may raise any exception, from KeyError to zlib.error. A MemoryError does not mean
    that the file is damaged and is not caught.
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


def import_optional(module: str, file: Path, package: str = "'autonmf[io]'") -> Any:
    """Import a library that only some formats need."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ReadError(f"reading {file} needs {library}: pip install {package}") from error
