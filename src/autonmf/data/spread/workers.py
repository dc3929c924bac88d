"""`Workers`: the blocks of rows, and the Dask cluster that holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.spread.program import Own, Program, Ref, Step, results_of, run
from autonmf.data.spread.rows import Beside, Node, Rows

BOUNDS = Own(0)
"""The first row of a block, and the one after its last, as an argument of a function of blocks."""


class Workers:
    """Blocks of consecutive rows on the workers of a client.

    Sums over blocks are added on the client in the order of the blocks, in double precision: they do not
    depend on how many workers there are, nor on which one was first.
    """

    def __init__(self, client: Any, lengths: Sequence[int]) -> None:
        self.client = client
        ends = np.cumsum(lengths).tolist()
        self.bounds = list(zip([0, *ends[:-1]], ends, strict=True))
        self.n = int(ends[-1])
        self.anchor: list[Any] = []  # the pieces of X: tasks without an input run beside them

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Σ function(blocks of args)."""
        return _sum(self.each(function, *args))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function`` of every block, and on the way all that it needs and that is to be kept."""
        recipe = Recipe()
        wanted = Step(function, tuple(recipe.argument(arg) for arg in args))
        kept = recipe.kept()
        grams = [Step(_gram, (Ref(recipe.places[id(node)], True, None, node.dtype),)) for node in kept]
        places = tuple(recipe.places[id(node)] for node in kept)
        program = Program(
            inputs=tuple(node.place for node in recipe.inputs),
            steps=tuple(recipe.steps),
            kept=places,
            results=(wanted, *grams),
        )
        own = [(bounds, *(array[slice(*bounds)] for array in recipe.long)) for bounds in self.bounds]
        inputs = [node.pieces for node in recipe.inputs] or [self.anchor]
        pieces = self.client.map(run, own, *inputs, program=program, key="autonmf-rows", pure=False)
        if kept:
            fetched = self.client.map(results_of, pieces, key="autonmf-results", pure=False)
            results = self.client.gather(fetched)
        else:
            results = [piece[1] for piece in self.client.gather(pieces)]
        for place, node in enumerate(kept):
            node.settle(pieces, place, _sum([result[1 + place] for result in results]))
        return [result[0] for result in results]


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
        if isinstance(arg, Rows):
            return Ref(self._place(arg.node), arg.node.pieces is None, arg.matrix, arg.dtype)
        if not isinstance(arg, Beside):
            return arg
        array, first = arg.array, arg.array[0, 0]
        if (array == first).all():  # a column of ones, mostly: made where it is needed
            self.steps.append(Step(_constant, (BOUNDS, array.shape[1], first)))
            return Ref(len(self.steps) - 1, True, None, array.dtype)
        self.long.append(array)
        return Own(len(self.long))

    def kept(self) -> list[Node]:
        """The nodes to keep: not those that only led to others that are."""
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


def _constant(bounds: tuple[int, int], columns: int, value: Any) -> Array:
    start, stop = bounds
    return np.full((stop - start, columns), value, order="F")


def _gram(block: Array) -> Array:
    return block.T @ block


def _sum(parts: list[Any]) -> Any:
    return np.sum([np.asarray(part, dtype=np.float64) for part in parts], axis=0)
