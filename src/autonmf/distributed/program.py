"""What a worker does with one block of rows: a few steps, and sums over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from autonmf._types import Array


class Ref(NamedTuple):
    """A matrix in a program, times a small matrix from the right."""

    place: int  # of an input, or of a step
    is_step: bool
    matrix: Array | None
    dtype: np.dtype[Any]


class Own(NamedTuple):
    """A value that differs from block to block."""

    place: int


BOUNDS = Own(0)
"""The first row of a block, and the one after its last, as an argument of a function of blocks."""


class Step(NamedTuple):
    """One call. Its arguments are matrices of the program, values of the block, or the same for all."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Program(NamedTuple):
    """The same for every block."""

    inputs: tuple[int, ...]  # where each input is in its piece
    steps: tuple[Step, ...]
    kept: tuple[int, ...]  # steps whose results stay on the worker
    results: tuple[Step, ...]  # what goes to the client


Piece = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The result of a task: matrices that stay on the worker, and small results."""


def run(program: Program, own: tuple[Any, ...], *pieces: Piece) -> Piece:
    """Run a program on one block."""
    inputs = [align(piece[0][place]) for piece, place in zip(pieces, program.inputs, strict=False)]
    done: list[Any] = []

    def value(arg: Any) -> Any:
        if isinstance(arg, Own):
            return align(own[arg.place])
        if isinstance(arg, Ref):
            return _times(done[arg.place] if arg.is_step else inputs[arg.place], arg)
        return align(arg)

    for function, args in program.steps:
        done.append(function(*map(value, args)))
    results = tuple(function(*map(value, args)) for function, args in program.results)
    return tuple(done[place] for place in program.kept), results


def align(value: Any) -> Any:
    """The value with aligned arrays: an array received from another process can begin at any byte.

    NumPy copies an unaligned factor of a product, and its sums then differ in the last bit from those of the
    same array on the worker that made it.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if not sparse.issparse(value) or getattr(value, "format", "") not in ("csr", "csc"):
        return value
    block: Any = value
    arrays = (block.data, block.indices, block.indptr)
    if all(array.flags.aligned for array in arrays):
        return block
    return type(block)(tuple(map(align, arrays)), shape=block.shape)


def return_program(program: Program) -> Program:
    """The program itself, as the result of a task: every worker then fetches it once."""
    return program


def results_of(piece: Piece) -> tuple[Any, ...]:
    """The small results alone, for the client to fetch."""
    return piece[1]


def add_results(*results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of several blocks, each added up."""
    return tuple(add_up(list(parts)) for parts in zip(*results, strict=True))


def add_up(parts: list[Any]) -> Any:
    """The sum in the order given, in double precision."""
    return np.sum([np.asarray(part, dtype=np.float64) for part in parts], axis=0)


def _times(block: Any, ref: Ref) -> Any:
    """The block times the small matrix, Fortran-ordered."""
    if ref.matrix is None:
        return block.astype(ref.dtype, copy=False)
    return (ref.matrix.T.astype(ref.dtype) @ block.T.astype(ref.dtype, copy=False)).T
