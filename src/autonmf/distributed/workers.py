"""`Workers`: the blocks of rows, and the Dask cluster that holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from autonmf._types import Array
from autonmf.distributed.program import (
    BOUNDS,
    Own,
    Program,
    Ref,
    Step,
    add_results,
    add_up,
    results_of,
    return_program,
    run,
)
from autonmf.distributed.rows import Also, ClientRows, Node, Rows, multiply_transposed

LARGE_PROGRAM = 1 << 18
"""Larger programs, in bytes, are sent by a task of their own."""

FAN_IN = 32
"""Partial sums that are added at a time, and the most that reach the client."""


class Workers:
    """Blocks of consecutive rows on the workers of a client.

    Sums over blocks are added on the client in the order of the blocks, in double precision: they do not
    depend on the number of workers, nor on which of them finishes first.
    """

    def __init__(self, client: Any, lengths: Sequence[int]) -> None:
        self.client = client
        ends = np.cumsum(lengths).tolist()
        self.bounds = list(zip([0, *ends[:-1]], ends, strict=True))
        self.n = int(ends[-1])
        self.anchor: list[Any] = []  # the pieces of X: tasks without an input run next to them

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Σ function(blocks of args)."""
        return add_up(self._evaluate(function, args, summed=True))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self._evaluate(function, args, summed=False)

    def _evaluate(self, function: Callable[..., Any], args: tuple[Any, ...], *, summed: bool) -> list[Any]:
        """``function`` of every block, or sums of it; matrices to be persisted are computed with it."""
        recipe = Recipe()
        wanted = Step(function, tuple(recipe.argument(arg) for arg in args))
        kept = recipe.kept()
        places = tuple(recipe.places[id(node)] for node in kept)
        asked = [arg.dtype for arg in args if isinstance(arg, Rows)]
        precisions = [np.result_type(node.dtype, *asked) for node in kept]
        grams = [
            Step(_gram, (Ref(place, True, None, dtype),))
            for place, dtype in zip(places, precisions, strict=True)
        ]
        program = Program(
            inputs=tuple(node.place for node in recipe.inputs),
            steps=tuple(recipe.steps),
            kept=places,
            results=(wanted, *grams),
        )
        own = [(bounds, *(array[slice(*bounds)] for array in recipe.long)) for bounds in self.bounds]
        inputs = [node.pieces for node in recipe.inputs] or [self.anchor]
        pieces, results = self.run_on_blocks(program, inputs, own, keep=bool(kept), summed=summed)
        for place, (node, dtype) in enumerate(zip(kept, precisions, strict=True)):
            gram = add_up([result[1 + place] for result in results])
            node.hold(pieces, place, gram.astype(dtype))
        return [result[0] for result in results]

    def run_on_blocks(
        self, program: Program, inputs: list[Any], own: list[Any], *, keep: bool, summed: bool
    ) -> tuple[list[Any], list[Any]]:
        """One task per block, and one to fetch its results where it leaves something behind.

        Sums over many blocks are added on the workers first, in a tree that depends on their number alone.
        Returns futures of the pieces and the results themselves.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            shared = program
            if _size(program) > LARGE_PROGRAM:
                shared = self.client.submit(return_program, program, key=f"autonmf-program-{uuid4()}")
            pieces = self.client.map(run, [shared] * len(own), own, *inputs, key="autonmf-rows", pure=False)
        tree = summed and len(own) > FAN_IN
        if not (keep or tree):
            return pieces, [piece[1] for piece in self.client.gather(pieces)]
        parts = self.client.map(results_of, pieces, key="autonmf-results", pure=False)
        while summed and len(parts) > FAN_IN:
            groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
            parts = [
                self.client.submit(add_results, *group, key=f"autonmf-sum-{uuid4()}") for group in groups
            ]
        return pieces, self.client.gather(parts)


class Recipe:
    """A program while it is written."""

    def __init__(self) -> None:
        self.inputs: list[Node] = []
        self.nodes: list[Node] = []
        self.steps: list[Step] = []
        self.places: dict[int, int] = {}  # of a node, by its id
        self.long: list[Array] = []  # arrays with a row for each of X: every block gets its own

    def argument(self, arg: Any) -> Any:
        """What stands for an argument in the program."""
        if isinstance(arg, Also):
            if arg.rows is not None:
                self._place(arg.rows.node)
            return Also(None)
        if isinstance(arg, Rows):
            return Ref(self._place(arg.node), arg.node.pieces is None, arg.matrix, arg.dtype)
        if not isinstance(arg, ClientRows):
            return arg
        array, first = arg.array, arg.array[0, 0]
        if (array == first).all():  # a column of ones, mostly: made where it is needed
            self.steps.append(Step(_constant, (BOUNDS, array.shape[1], first)))
            return Ref(len(self.steps) - 1, True, None, array.dtype)
        self.long.append(array)
        return Own(len(self.long))

    def kept(self) -> list[Node]:
        """The nodes to persist: not those that others to persist are computed from."""
        ends = [node for node in self.nodes if node.keep]
        inner = {id(rows.node) for end in ends for rows in _ancestors(end)}
        return [node for node in ends if id(node) not in inner]

    def _place(self, node: Node) -> int:
        if id(node) not in self.places:
            if node.pieces is not None:
                self.places[id(node)] = len(self.inputs)
                self.inputs.append(node)
            else:
                args = tuple(self.argument(arg) for arg in node.args)
                self.places[id(node)] = len(self.steps)
                self.steps.append(Step(node.function, args))
                self.nodes.append(node)
        return self.places[id(node)]


def _ancestors(node: Node) -> list[Rows]:
    parents = [arg for arg in node.args if isinstance(arg, Rows) and arg.node.pieces is None]
    return parents + [older for parent in parents for older in _ancestors(parent.node)]


def _size(program: Program) -> int:
    """Bytes of the arrays in a program."""
    args = [arg for step in (*program.steps, *program.results) for arg in step.args]
    arrays = [arg.matrix if isinstance(arg, Ref) else arg for arg in args]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _constant(bounds: tuple[int, int], columns: int, value: Any) -> Array:
    start, stop = bounds
    return np.full((stop - start, columns), value, order="F")


def _gram(block: Array) -> Array:
    return multiply_transposed(block, block)
