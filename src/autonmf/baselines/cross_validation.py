r"""Cross-validation: the rank that best predicts entries held out from the fit.

**Wold's scheme** holds out single entries. With S the set of entries in the training set, one step minimises
a majoriser of :math:`\tfrac12\sum_{(i,j)\in S}(X-UV^\top)_{ij}^2` at the current factors: the held-out
entries are filled in with the current fit, :math:`\tilde X = UV^\top + S\circ(X-UV^\top)`, and HALS sweeps
are made on :math:`\tilde X`. Neither :math:`\tilde X` nor S is stored: they are computed in blocks of rows, S
from a seed.

S. Wold, Cross-validatory estimation of the number of components in factor and principal components models,
Technometrics 20 (1978).

**Bi-cross-validation** holds out a block and predicts it from the rest. With rows and columns ordered so that
the held-out block A is first,

.. math:: X = \begin{pmatrix} A & B \\ C & D \end{pmatrix}, \qquad
    D \approx U_D V_D^\top, \quad
    U_A = \arg\min_{U\ge0}\|B-UV_D^\top\|, \quad V_A = \arg\min_{V\ge0}\|C-U_DV^\top\|, \quad
    \hat A = U_A V_A^\top.

Neither :math:`U_A` nor :math:`V_A` depends on A, so the error grows again when components fit the noise of D.

A. B. Owen and P. O. Perry, Bi-cross-validation of the SVD and the nonnegative matrix factorization, Annals of
Applied Statistics 3 (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from autonmf import kernels
from autonmf._threads import each, one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.baselines.discrete import check_ranks
from autonmf.baselines.spectrum import in_memory, in_storage_order
from autonmf.data import Block, Data, Dense, OpenedData, Sparse, wrap
from autonmf.data.factors import gram
from autonmf.data.protocol import RowBlocks, as_array, even_blocks, row_blocks, squared_sum
from autonmf.distributed import as_data
from autonmf.losses import FROBENIUS
from autonmf.model.components import balance
from autonmf.path import PathOptions, PathPoint, search
from autonmf.selection import RankEstimate

Result = TypeVar("Result")

KINDS = ("wold", "bicv")

ITERATIONS = 20
"""Iterations at each rank of a bi-cross-validated path; the same at high ranks, since all are compared."""

SWEEPS = 3
"""HALS sweeps on each factor before the held-out entries are filled in again."""

RIDGE = PathOptions.mu
"""μ, as on a path: X is divided by the root mean square of its training entries."""

LARGEST = 1e15
"""Larger entries, in units of the root mean square of the training entries, are clipped so that squares do
not overflow."""

MOST_FOLDS = 32
"""Maximum number of folds: they are drawn with one byte per entry, so that sizes of more would be uneven."""


def cross_validate(
    X: Any,
    *,
    kind: Literal["wold", "bicv"] = "wold",
    folds: int | tuple[int, int] = 5,
    ranks: Sequence[int] | None = None,
    max_rank: int | None = None,
    tol: float = 1e-3,
    max_iter: int = 30,
    random_state: Seed = None,
) -> RankEstimate:
    r"""The rank with the lowest error on entries held out from the fit.

    Parameters
    ----------
    X, random_state
        As in `bic`.
    kind : {"wold", "bicv"}
        "wold" holds out random entries, one fold at a time, and fits the others (Wold, 1978). "bicv" holds
        out a block, the intersection of some rows and columns, and predicts it from the rest (Owen and
        Perry, 2009).
    folds : int or (h, l)
        Number of folds. For "bicv" a pair crosses h groups of rows with l groups of columns, hl fits; an int
        makes that many fits.
    ranks : sequence of int, optional
        Ranks to compare. Default: 1 to ``max_rank``.
    max_rank : int, optional
        Default: min(⌈min(n, m)/2⌉, 50). Not used if ``ranks`` are given.
    tol, max_iter : float, int
        Stopping criterion of the fits to the remaining entries: a relative decrease of the loss below
        ``tol``. More iterations cost time and mostly raise the error of ranks that are too large. Not used
        by "bicv", which fits its blocks with `rank_path`.

    Returns
    -------
    RankEstimate
        Its evidence has the mean error at each rank, Σ(X - UVᵀ)² / ΣX² over the held-out entries, and its
        standard error. ``plausible`` are the ranks whose error exceeds the lowest by at most one standard
        error of the difference over the folds.

    Notes
    -----
    "bicv" makes 20 iterations at each rank, and its answer depends on that number: iterated to convergence it
    overestimates the rank of matrices for which it is right with 20 (``docs/baselines.md``). ``folds=(2, 2)``
    is less sensitive.

    The answer is often much larger than the number of sources, since any weak, smooth or non-Gaussian
    structure that repeats can be predicted.

    Examples
    --------
    >>> from autonmf.baselines import cross_validate
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> cross_validate(X, max_rank=6, random_state=0).rank
    3
    """
    data = as_data(X)
    _check(kind, folds, data.shape)
    if ranks is None:
        ranks = range(1, PathOptions(max_rank=max_rank).first_rank(data.shape) + 1)
    wanted = np.array(check_ranks(ranks, data.shape))
    rng = as_generator(random_state)
    with one_pool():
        if kind == "wold":
            errors = list(_wold_errors(data, folds, wanted, rng, tol, max_iter))  # type: ignore[arg-type]
        else:
            errors = list(_bicv_errors(data, folds, wanted, rng))
    return _choose_rank(wanted, np.array(errors), f"cv-{kind}")


def _standard_error(values: Array) -> Array:
    """The standard error of the mean over the folds (rows)."""
    folds = len(values)
    exponent = np.frexp(np.nanmax(np.abs(values)))[1]  # squares of huge errors would overflow
    deviation = np.ldexp(values, -exponent).std(axis=0, ddof=1)
    return np.asarray(np.ldexp(deviation, exponent) / np.sqrt(folds))


def _choose_rank(ranks: Array, by_fold: Array, rule: str) -> RankEstimate:
    """The rank of lowest mean error; errors are folds x ranks, NaN where a fold has no such rank."""
    mean = by_fold.mean(axis=0)
    best = int(np.nanargmin(mean))
    beyond = by_fold - by_fold[:, [best]]
    close = beyond.mean(axis=0) <= _standard_error(beyond)
    warnings = []
    if best == len(ranks) - 1 and len(ranks) > 1:
        warnings.append(f"the error still decreases at the largest rank, {ranks[-1]}: raise max_rank")
    if np.isnan(mean).any():
        lost = ", ".join(str(rank) for rank in ranks[np.isnan(mean)])
        warnings.append(f"ranks {lost} are left out: some folds have no solution there")
    return RankEstimate(
        rank=int(ranks[best]),
        rule=rule,
        why=f"rank {ranks[best]} predicts held-out entries best, with a relative error of {mean[best]:.3g}",
        evidence={"rank": ranks, "error": mean, "standard_error": _standard_error(by_fold)},
        plausible=tuple(int(rank) for rank in ranks[close]),
        warnings=tuple(warnings),
    )


def _check(kind: str, folds: int | tuple[int, int], shape: tuple[int, int]) -> None:
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    if kind == "wold":
        if not isinstance(folds, int) or not 2 <= folds <= MOST_FOLDS:
            raise ValueError(f"folds must be an int from 2 to {MOST_FOLDS}, got {folds!r}")
        return
    pair = (folds, folds) if isinstance(folds, int) else tuple(folds)
    if len(pair) != 2 or not all(2 <= k <= size for k, size in zip(pair, shape, strict=True)):
        raise ValueError(f"folds must be at least 2 and at most the shape {shape} of X, got {folds!r}")


# Wold: entries held out


def _wold_errors(
    data: Data, folds: int, ranks: Array, rng: np.random.Generator, tol: float, max_iter: int
) -> Iterator[list[float]]:
    data = in_storage_order(data)
    dealt = EntryFolds(data.shape, folds, int(rng.integers(2**32)))
    for fold, start in enumerate(rng.spawn(folds)):
        training = TrainingData(partial(read_rows, data), dealt, fold).scaled()
        path = masked_path(training, int(ranks[-1]), int(ranks[0]), start, tol=tol, max_iter=max_iter)
        found = {U.shape[1]: training.error(U, V) for U, V in path if U.shape[1] in ranks}
        yield [found[rank] for rank in ranks]


def read_rows(data: Data, rows: slice) -> Array:
    """Read some rows of X as an array."""
    if isinstance(data, RowBlocks):
        return as_array(data.read(rows))
    start, stop, _ = rows.indices(data.shape[0])
    return np.asarray(data.map_blocks(_pick_rows, None, start, stop)[0])


def _pick_rows(block: Block, _: None, start: int, stop: int) -> tuple[Array, None]:
    """The rows of a block that are between ``start`` and ``stop``."""
    first, last = block.rows.start, block.rows.stop
    return block.dense()[max(start - first, 0) : max(min(stop, last) - first, 0)], None


@dataclass(frozen=True)
class EntryFolds:
    """A random partition of the entries of an n x m matrix into folds, reproducible from a seed."""

    shape: tuple[int, int]
    folds: int
    seed: int

    def in_fold(self, fold: int, rows: slice) -> Array:
        """Mask of the entries of these rows in a fold, whose random bytes are in its part of 0..255."""
        count = rows.stop - rows.start
        rng = np.random.default_rng([self.seed, rows.start])
        drawn = np.frombuffer(rng.bytes(count * self.shape[1]), dtype=np.uint8).reshape(count, -1)
        first, beyond = (256 * k // self.folds for k in (fold, fold + 1))
        return np.asarray(drawn - np.uint8(first) < beyond - first)


class Piece(NamedTuple):
    """Some rows of X in single precision, and the mask of their held-out entries."""

    rows: slice
    X: Array
    held_out: Array

    def mask(self, values: Array) -> Array:
        """``values`` with zeros at the held-out entries, in place."""
        return np.multiply(values, ~self.held_out, out=values)


@dataclass(frozen=True)
class TrainingData:
    """X / scale with the entries of one fold held out."""

    rows: Callable[[slice], Array]  # some rows of X
    folds: EntryFolds
    fold: int
    scale: float = 1.0

    def scaled(self) -> TrainingData:
        """The same data divided by the root mean square of the training entries."""
        highest = max(
            float(np.max(self.rows(block), where=~self.folds.in_fold(self.fold, block), initial=0.0))
            for block in row_blocks(self.folds.shape)
        )
        if not highest > 0:
            raise ValueError("all entries that are not held out are zero: use fewer folds")

        squares, count = replace(self, scale=highest)._sum(
            lambda piece: (squared_sum(piece.mask(piece.X)), (~piece.held_out).sum())
        )
        return replace(self, scale=highest * float(np.sqrt(squares / count)))

    def start(self, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Uniform random factors, balanced and scaled to the least-squares fit of the training entries."""
        U, V = (np.asfortranarray(rng.random((rank, size)).T, dtype=np.float32) for size in self.folds.shape)

        def products(piece: Piece) -> tuple[float, float]:
            fit = piece.mask(U[piece.rows] @ V.T)
            return float(np.vdot(fit, piece.X)), squared_sum(fit)

        inner, squares = self._sum(products)
        return balance(U * np.float32(inner / squares), V)

    def step(self, U: Array, V: Array) -> tuple[Array, Array, float]:
        """HALS on U, then on V, with held-out entries filled in; and the training loss between the two."""
        gram_V = gram(V)
        updated = np.empty_like(U, order="F")

        def on_rows(pieces: Iterator[Piece]) -> tuple[Array, float]:
            product, loss = np.zeros_like(V), 0.0
            for piece in pieces:
                rows = np.array(U[piece.rows], order="F")
                residual = piece.mask(piece.X - rows @ V.T)
                kernels.hals_sweeps(rows, residual @ V + rows @ gram_V, gram_V, RIDGE, SWEEPS)
                residual = piece.mask(np.subtract(piece.X, rows @ V.T, out=residual))
                product += (rows.T @ residual).T
                loss += 0.5 * float(np.vdot(residual, residual))
                updated[piece.rows] = rows
            return product, loss

        parts = self._each(on_rows)
        gram_U = gram(updated)
        product = sum((part for part, _ in parts), V @ gram_U)
        V = np.array(V, order="F")
        kernels.hals_sweeps(V, product, gram_U, RIDGE, SWEEPS)
        return updated, V, sum(loss for _, loss in parts)

    def error(self, U: Array, V: Array) -> float:
        """Σ(X - UVᵀ)² / ΣX² over the held-out entries."""

        def squares(piece: Piece) -> tuple[float, float]:
            truth = piece.X[piece.held_out]
            fit = (U[piece.rows] @ V.T)[piece.held_out]
            return squared_sum(truth - fit), squared_sum(truth)

        missed, energy = self._sum(squares)
        return float(missed / energy) if energy > 0 else 0.0

    def energies(self, U: Array, V: Array) -> Array:
        """‖U_j V_jᵀ‖² over the training entries, for each component.

        A component may be huge at held-out entries, which costs nothing, so its norm over all entries says
        little about its importance.
        """
        squares_U, squares_V = np.square(U), np.square(V)

        def energies(piece: Piece) -> Array:
            training = (~piece.held_out).astype(np.float32)
            return np.asarray(np.einsum("ij,ij->j", squares_U[piece.rows], training @ squares_V))

        return self._sum(energies)

    def _sum(self, function: Callable[[Piece], Any]) -> Array:
        """The sum of a function of pieces over all rows, in double precision."""
        groups = self._each(lambda pieces: np.sum([function(piece) for piece in pieces], axis=0, dtype=float))
        return np.asarray(np.sum(groups, axis=0))

    def _each(self, function: Callable[[Iterator[Piece]], Result]) -> list[Result]:
        """The values of a function for a few groups of pieces, which depend only on the shape."""
        blocks = list(row_blocks(self.folds.shape))
        return each(
            lambda group: function(self._piece(block) for block in blocks[group]), even_blocks(len(blocks))
        )

    def _piece(self, block: slice) -> Piece:
        X = self.rows(block)
        with np.errstate(over="ignore"):  # of held-out entries larger than all training entries
            scaled = np.multiply(X, 1.0 / self.scale, out=np.empty(X.shape, np.float32), casting="same_kind")
        np.minimum(scaled, LARGEST, out=scaled)
        return Piece(block, scaled, self.folds.in_fold(self.fold, block))


def masked_path(
    data: TrainingData, first: int, last: int, rng: np.random.Generator, *, tol: float, max_iter: int
) -> Iterator[tuple[Array, Array]]:
    """Factors of the training entries at every rank from ``first`` down to ``last``, warm-started.

    At each rank, steps are made until one lowers the loss by less than ``tol`` of itself; then the component
    with the lowest energy over the training entries is dropped.
    """
    U, V = data.start(first, rng)
    while True:
        loss = np.inf
        for _ in range(max_iter):
            previous = loss
            U, V, loss = data.step(U, V)
            if previous - loss <= tol * loss:
                break
        yield U, V
        if U.shape[1] <= last:
            return
        weakest = int(np.argmin(data.energies(U, V)))
        U, V = (np.asfortranarray(np.delete(factor, weakest, axis=1)) for factor in (U, V))


# Bi-cross-validation: a block held out


def _bicv_errors(
    data: Data, folds: int | tuple[int, int], ranks: Array, rng: np.random.Generator
) -> Iterator[list[float]]:
    for held_out in held_out_blocks(data.shape, folds, rng):
        rows, columns = ((np.flatnonzero(mask), np.flatnonzero(~mask)) for mask in held_out)
        A, B, C, D = (submatrix(data, some, others) for some in rows for others in columns)
        if D.squared_norm() == 0.0:
            raise ValueError("all entries that are not held out are zero: use fewer folds")
        last = min(int(ranks[-1]), *D.shape)
        options = PathOptions(
            max_rank=last,
            min_rank=min(int(ranks[0]), last),
            budget=lambda rank: ITERATIONS,
            random_state=rng.spawn(1)[0],
        )
        points = {point.rank: point for point in search(OpenedData(D), options).with_points().points}
        yield [_block_error(A, B, C, points[rank]) if rank in points else np.nan for rank in ranks]


def _block_error(A: Data, B: Data, C: Dense | Sparse, point: PathPoint) -> float:
    """‖A - Â‖² / ‖A‖² of the block that is held out, for factors of D."""
    energy = A.squared_norm()
    if energy == 0.0:
        return 0.0
    U_A = FROBENIUS.project(B, point.V.astype(B.dtype, copy=False)).W
    V_A = FROBENIUS.project(C.T, point.U.astype(C.dtype, copy=False)).W
    return A.squared_residual(U_A, V_A) / energy


def held_out_blocks(
    shape: tuple[int, int], folds: int | tuple[int, int], rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Rows and columns to hold out, as boolean masks.

    ``(h, l)`` divides the rows into h groups and the columns into l, and combines every group of rows with
    every group of columns. An int k makes k groups of each and combines the i-th with the i-th: k fits
    instead of k², with each row and column held out once.
    """
    h, l = (folds, folds) if isinstance(folds, int) else folds
    row_group, column_group = (
        rng.permutation(np.arange(size) % k) for size, k in zip(shape, (h, l), strict=True)
    )
    pairs = [(i, i) for i in range(h)] if isinstance(folds, int) else list(np.ndindex(h, l))
    for i, j in pairs:
        yield row_group == i, column_group == j


def submatrix(data: Data, rows: Array, columns: Array) -> Dense | Sparse:
    """The given rows and columns of X, stored like X."""
    if isinstance(data, Sparse):
        return wrap(data.X.tocsr()[rows][:, columns])
    return wrap(in_memory(data)[np.ix_(rows, columns)])
