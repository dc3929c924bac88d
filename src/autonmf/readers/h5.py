"""Plain HDF5: .h5 and .hdf5 files, whose datasets may lie in groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autonmf.readers.hdf5 import is_group, kept, opened_hdf5
from autonmf.readers.table import Table
from autonmf.readers.variables import Variable, choose, described


def read(file: Path, variable: str | None = None) -> Table:
    """Read the dataset ``variable``, such as group/X; without it the only matrix of numbers."""
    with opened_hdf5(file, "an HDF5 file") as content:
        chosen = choose(file, _variables(content), variable and variable.strip("/"))
        X = kept(file, content[chosen.name])
        return Table(X, notes=(f"The matrix is the dataset {chosen.name}.",))


def _variables(content: Any) -> list[Variable]:
    """Every dataset of the file itself; links to other files are not followed."""
    found: list[Variable] = []

    def visit(name: str, item: Any) -> None:
        if not is_group(item) and hasattr(item, "shape"):
            found.append(described(name, item))

    content.visititems(visit)
    return found
