"""Which of a file's variables is the matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from autonmf.readers.table import ReadError

SHOWN = 12
"""Variables named in a message at most."""


@dataclass(frozen=True)
class Variable:
    """What is known of a variable before it is read."""

    name: str
    shape: tuple[int, ...]
    kind: str  # as its file calls it: double, uint8, cell, ...
    numeric: bool

    @property
    def is_matrix(self) -> bool:
        return self.numeric and len(self.shape) == 2

    def __str__(self) -> str:
        return f"{self.name} ({' x '.join(map(str, self.shape)) or 'scalar'} {self.kind})"


class Stored(NamedTuple):
    """A variable and a function that reads it."""

    variable: Variable
    read: Callable[[], Any]


def described(name: str, array: Any) -> Variable:
    """What an array in an HDF5 file or a zarr folder says of itself; one that is null has no shape."""
    kind = "text" if array.dtype.kind in "OSUT" else str(array.dtype)
    return Variable(name, tuple(array.shape or ()), kind, numeric=array.dtype.kind in "biufc")


def choose(file: Path, variables: list[Variable], wanted: str | None) -> Variable:
    """The variable of that name, or else the only matrix.

    Vectors and scalars count as matrices only where nothing larger is there: MATLAB stores every number as
    one.
    """
    if wanted is not None:
        for variable in variables:
            if variable.name == wanted:
                if not variable.is_matrix:
                    raise ReadError(f"{variable} in {file} is not a numeric matrix; {_listed(variables)}")
                return variable
        raise ReadError(f"{file} has no variable {wanted!r}; {_listed(variables)}")
    matrices = [variable for variable in variables if variable.is_matrix]
    larger = [variable for variable in matrices if min(variable.shape) > 1]
    candidates = larger or matrices
    if not candidates:
        raise ReadError(f"{file} has no numeric matrix; {_listed(variables)}")
    if len(candidates) > 1:
        raise ReadError(
            f"{file} has {len(candidates)} matrices: choose one with --var NAME; {_listed(variables)}"
        )
    return candidates[0]


def _listed(variables: list[Variable]) -> str:
    if not variables:
        return "it holds nothing"
    more = f" and {len(variables) - SHOWN} more" if len(variables) > SHOWN else ""
    return "it holds " + ", ".join(map(str, variables[:SHOWN])) + more
