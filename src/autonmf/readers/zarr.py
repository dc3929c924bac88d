"""Zarr: a folder that is an array, or a group of arrays; a large one is read when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autonmf.readers import npy
from autonmf.readers.room import check_room
from autonmf.readers.table import ReadError, Table, optional, parsing
from autonmf.readers.variables import choose, described


def read(file: Path, variable: str | None = None) -> Table:
    """Read the array; of a group the array ``variable``, such as group/X, or the only matrix."""
    library = optional("zarr", file, "zarr")
    if not any(file.iterdir()):
        raise ReadError(f"{file} is an empty folder")
    with parsing(file, "a zarr folder"):
        root = library.open(str(file), mode="r")
        if not hasattr(root, "arrays"):
            if variable is not None:
                raise ReadError(f"{file} holds one matrix only: leave out the variable name {variable!r}")
            return Table(_kept(file, root))
        found = dict(_arrays(root))
        about = [described(name, array) for name, array in sorted(found.items())]
        chosen = choose(file, about, variable and variable.strip("/"))
        return Table(_kept(file, found[chosen.name]), notes=(f"The matrix is the array {chosen.name}.",))


def _arrays(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every array below a group, by its path."""
    for name, array in group.arrays():
        yield above + name, array
    for name, below in group.groups():
        yield from _arrays(below, f"{above}{name}/")


def _kept(file: Path, array: Any) -> Any:
    """The numbers, or the array itself if there are many."""
    variable = described("array", array)
    if not variable.is_matrix or npy.is_small(array):
        check_room(file, array.shape, array.dtype.itemsize)
        return array[...]
    from autonmf.readers.in_file import InFile

    return InFile(file, array)
