"""`Rows`: a tall matrix whose rows stay on the workers of a Dask cluster.

Nothing is computed until a sum over the rows is needed. Then one task per block carries out all recorded
operations, and only the sum is sent. To scale, merge, select or sort columns is to multiply by a small matrix
from the right, which is recorded and needs no task.

`Rows` record operations, `Workers` turn them into a `Program`, and the workers run it on each block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data.factors import RemoteFactor
from autonmf.data.protocol import Block, no_weights

LARGE_PROGRAM = 1 << 18
"""Larger programs, in bytes, are sent by a task of their own."""

FAN_IN = 32
"""Maximum number of partial sums that are added in one task, or on the client."""


class Node:
    """How a matrix is computed: a function of others, or blocks that workers hold."""

    def __init__(
        self, workers: Workers, function: Callable[..., Any], args: tuple[Any, ...], columns: tuple[int, ...],
        dtype: np.dtype[Any], keep: bool = False,
    ) -> None:  # fmt: skip
        self.workers, self.function, self.args = workers, function, args
        self.columns = columns  # (k,), or () if it is a vector
        self.dtype = dtype
        self.keep = keep  # on the workers, once it was computed
        self.pieces: list[Any] | None = None  # futures, one per block
        self.place = 0  # in each piece
        self._products: WeakKeyDictionary[Node, Array] = WeakKeyDictionary()  # its transpose with others

    def hold(self, pieces: list[Any], place: int, gram: Array | None) -> None:
        """Record that the workers hold it."""
        self.pieces, self.place = pieces, place
        if gram is not None:
            self._products[self] = gram
        self.args = ()

    def product_with(self, other: Node, dtype: np.dtype[Any]) -> Array:
        """AᵀB of two kept matrices in at least this precision, computed once by one task per block."""
        if self._knows(other, dtype):
            return self._products[other]
        A, B = (Rows(node, None, dtype) for node in (self, other))
        if self is other and self.pieces is None:
            A.total(_sum, A)  # its Gram matrix comes with it
        elif self is other or self.pieces is None or self._knows(self, dtype):
            self._products[other] = np.asarray(A.total(multiply_transposed, A, B), dtype=dtype)
        else:  # the Gram matrix is needed next
            both = np.asarray(A.total(_product_and_gram, A, B), dtype=dtype)
            self._products[other], self._products[self] = np.split(both, [B.shape[1]], axis=1)
        return self._products[other]

    def _knows(self, other: Node, dtype: np.dtype[Any]) -> bool:
        return other in self._products and not self._products[other].dtype < dtype


class Rows(RemoteFactor):
    """An n x k matrix as `Node` times a small matrix."""

    def __init__(
        self, node: Node, matrix: Array | None = None, dtype: np.dtype[Any] | type | None = None
    ) -> None:
        self.node = node
        self.matrix = matrix
        self.dtype: np.dtype[Any] = np.dtype(node.dtype if dtype is None else dtype)
        columns = node.columns if matrix is None else (matrix.shape[1],)
        self.shape: tuple[int, ...] = (node.workers.n, *columns)
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Rows(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        raise TypeError("the rows of this matrix are on the workers and may not fit into memory")

    def times(self, matrix: Array, dtype: Any = None) -> Rows:
        matrix = np.asarray(matrix, dtype=np.float64)
        product = matrix if self.matrix is None else self.matrix @ matrix
        return Rows(self.node, product, self.dtype if dtype is None else dtype)

    def map(self, function: Callable[..., Array], *args: Any) -> Rows:
        like = function(*map(_sample, args))
        return Rows(Node(self.node.workers, function, args, like.shape[1:], like.dtype))

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.node.workers.total(function, *args)

    def map_parts(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.node.workers.each(function, *args)

    def map_blocks(self, function: Callable[..., Any], U: Any, *shared: Any) -> tuple[Any, Any]:
        ones = np.ones((1, *self.shape[1:]), self.dtype)
        example = Block(slice(0, 1), lambda: ones, no_weights)
        row, one_sum = function(example, _sample(as_client_rows(U)), *shared)
        args = (self, BOUNDS, as_client_rows(U), *shared)
        workers = self.node.workers
        rows = total = None
        if row is not None:
            rows = Rows(
                Node(workers, partial(_apply, function, 0), args, row.shape[1:], row.dtype, keep=True)
            )
        if one_sum is not None:  # both are computed by the same task
            total = workers.total(partial(_apply, function, 1), *args, also=rows)
        return rows, total

    def cross(self, other: Any) -> Array:
        """AᵀB. No task is needed if both are multiples of kept matrices whose product is known."""
        dtype = np.result_type(self.dtype, other.dtype)
        if isinstance(other, Rows) and self.node.keep and other.node.keep:
            known = self.node.product_with(other.node, dtype)
            left = known if self.matrix is None else self.matrix.T @ known
            return np.asarray(left if other.matrix is None else left @ other.matrix, dtype=dtype)
        return np.asarray(self.total(multiply_transposed, self, as_client_rows(other)), dtype=dtype)

    def astype(self, dtype: Any, copy: bool = True) -> Rows:
        return Rows(self.node, self.matrix, dtype)

    def persist(self) -> Rows:
        """The same matrix; once computed, it is kept on the workers, and its Gram matrix is known."""
        node = self.node
        if self.matrix is None and self.dtype == node.dtype:
            node.keep = True
            return self
        return Rows(Node(node.workers, _return, (self,), self.shape[1:], self.dtype, keep=True))

    def compute(self) -> Rows:
        rows = self.persist()
        if rows.node.pieces is None:
            rows.total(_sum, rows)
        return rows

    def sum(self, axis: int, dtype: Any = np.float64) -> Array:
        return np.asarray(self.total(_sum, self), dtype=dtype)

    def var(self, axis: int, dtype: Any = np.float64) -> Array:
        mean = self.sum(axis) / len(self)
        return np.asarray(self.total(_sum_squared_deviations, self, mean) / len(self), dtype=dtype)

    def gather(self) -> Array:
        """All rows as an array on the client, for matrices that fit."""
        return np.concatenate(self.map_parts(_return, self))


class ClientRows(NamedTuple):
    """An array on the client with a row for each row of X: every block gets its own."""

    array: Array


def as_client_rows(factor: Any) -> Any:
    """Wrap a factor on the client, so that every block gets its rows; other arguments are returned as is."""
    return ClientRows(factor) if isinstance(factor, np.ndarray) and factor.ndim == 2 else factor


def multiply_transposed(A: Array, B: Array) -> Array:
    """AᵀB of a block."""
    return A.T @ B


def _sample(arg: Any) -> Any:
    """One row of an argument, to find the shape and dtype of the result of a function."""
    if isinstance(arg, Rows):
        return np.ones((1, *arg.shape[1:]), dtype=arg.dtype, order="F")
    return arg.array[:1] if isinstance(arg, ClientRows) else arg


def apply_block(function: Callable[..., Any], X: Any, bounds: tuple[int, int], U: Any, *shared: Any) -> Any:
    """The rows and the sum that a function returns for a block."""
    return function(Block(slice(*bounds), lambda: X, no_weights), U, *shared)


def _apply(function: Callable[..., Any], which: int, *args: Any) -> Any:
    return apply_block(function, *args)[which]


def _return(value: Any) -> Any:
    return value


def _product_and_gram(A: Array, B: Array) -> Array:
    return np.hstack([A.T @ B, A.T @ A])


def _sum(A: Array) -> Array:
    return np.asarray(A.sum(axis=0, dtype=np.float64))


def _sum_squared_deviations(A: Array, mean: Array) -> Array:
    return np.asarray(np.square(A - mean, dtype=np.float64).sum(axis=0))


# On the client: blocks of rows, and the program for all of them


class Workers:
    """Blocks of consecutive rows on the workers of a client.

    Sums over blocks are added in the order of the blocks and in double precision, so that they do not depend
    on the number of workers, nor on the order in which they finish.
    """

    def __init__(self, client: Any, lengths: Sequence[int]) -> None:
        self.client = client
        ends = np.cumsum(lengths).tolist()
        self.bounds = list(zip([0, *ends[:-1]], ends, strict=True))
        self.n = int(ends[-1])
        self.anchor: list[Any] = []  # the pieces of X: tasks without an input run next to them

    def total(self, function: Callable[..., Any], *args: Any, also: Rows | None = None) -> Any:
        """Σ function(blocks of args); the tasks also persist ``also``."""
        return add_up(self.each(function, *args, also=also, summed=True))

    def each(
        self, function: Callable[..., Any], *args: Any, also: Rows | None = None, summed: bool = False
    ) -> list[Any]:
        """``function`` of every block, or sums of it; the same tasks compute matrices to be persisted."""
        recipe = Recipe()
        wanted = Step(function, tuple(recipe.argument(arg) for arg in args))
        if also is not None:
            recipe.place(also.node)
        kept = recipe.kept()
        asked = [arg.dtype for arg in args if isinstance(arg, Rows)]
        refs = [Ref(recipe.places[id(node)], True, None, np.result_type(node.dtype, *asked)) for node in kept]
        program = Program(
            inputs=tuple(node.place for node in recipe.inputs),
            steps=tuple(recipe.steps),
            kept=tuple(ref.place for ref in refs),
            results=(wanted, *(Step(_gram, (ref,)) for ref in refs)),
        )
        own = [(bounds, *(array[slice(*bounds)] for array in recipe.long)) for bounds in self.bounds]
        inputs = [node.pieces for node in recipe.inputs] or [self.anchor]
        pieces, results = self.run_on_blocks(program, inputs, own, keep=bool(kept), summed=summed)
        for place, (node, ref) in enumerate(zip(kept, refs, strict=True)):
            gram = add_up([result[1 + place] for result in results])
            node.hold(pieces, place, gram.astype(ref.dtype))
        return [result[0] for result in results]

    def run_on_blocks(
        self, program: Program, inputs: list[Any], own: list[Any], *, keep: bool, summed: bool
    ) -> tuple[list[Any], list[Any]]:
        """Run one task per block, and one to fetch its results if something is kept on the worker.

        Sums over many blocks are first added on the workers, in a tree that depends only on their number.
        Returns futures of the pieces, and the results.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            shared = program
            if _size(program) > LARGE_PROGRAM:
                # as the result of a task: every worker fetches it once
                shared = self.client.submit(_return, program, key=f"autonmf-program-{uuid4()}")
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
    """A program under construction."""

    def __init__(self) -> None:
        self.inputs: list[Node] = []
        self.nodes: list[Node] = []
        self.steps: list[Step] = []
        self.places: dict[int, int] = {}  # of a node, by its id
        self.long: list[Array] = []  # arrays with a row for each row of X: every block gets its own

    def argument(self, arg: Any) -> Any:
        """What stands for an argument in the program."""
        if isinstance(arg, Rows):
            return Ref(self.place(arg.node), arg.node.pieces is None, arg.matrix, arg.dtype)
        if not isinstance(arg, ClientRows):
            return arg
        array, first = arg.array, arg.array[0, 0]
        if (array == first).all():  # a column of ones, mostly: made where it is needed
            self.steps.append(Step(_constant, (BOUNDS, array.shape[1], first)))
            return Ref(len(self.steps) - 1, True, None, array.dtype)
        self.long.append(array)
        return Own(len(self.long))

    def kept(self) -> list[Node]:
        """The nodes to persist, except those from which other nodes to persist are computed."""
        ends = [node for node in self.nodes if node.keep]
        inner = {id(rows.node) for end in ends for rows in _ancestors(end)}
        return [node for node in ends if id(node) not in inner]

    def place(self, node: Node) -> int:
        """Where the program has a matrix: among its inputs, or among its steps."""
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


# On a worker: a few steps on one block, and sums over its rows


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
    """One call. Its arguments are matrices of the program, values of the block, or constants."""

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
    """Copy unaligned arrays, which may be received from other processes.

    NumPy copies unaligned factors of a product, and its sums then differ in the last bit from those of the
    same array on the worker that computed it.
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


def results_of(piece: Piece) -> tuple[Any, ...]:
    """The small results of a task, which the client fetches."""
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
