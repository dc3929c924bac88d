r"""Factors fitted to the entries that are not held out (Wold, 1978).

With S the set of entries in the training set, one step minimises a majoriser of
:math:`\tfrac12\sum_{(i,j)\in S}(X-UV^\top)_{ij}^2` at the current factors: the held-out entries are filled in
with the current fit, :math:`\tilde X = UV^\top + S\circ(X-UV^\top)`, and HALS sweeps are made on
:math:`\tilde X`. Neither :math:`\tilde X` nor S is stored: they are computed in blocks of rows, S from a
seed.

S. Wold, Cross-validatory estimation of the number of components in factor and principal components models,
Technometrics 20 (1978).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from autonmf import kernels
from autonmf._threads import each
from autonmf._types import Array
from autonmf.data.factors import gram
from autonmf.data.protocol import even_blocks, row_blocks, squared_sum
from autonmf.model.components import balance
from autonmf.path import PathOptions

Result = TypeVar("Result")

SWEEPS = 3
"""HALS sweeps on each factor before the held-out entries are filled in again."""

RIDGE = PathOptions.mu
"""μ, as on a path: X is divided by the root mean square of its training entries."""

LARGEST = 1e15
"""Larger entries, in units of the root mean square of the training entries, are clipped: squares must not
overflow."""

MOST_FOLDS = 32
"""Folds are drawn with one byte per entry: with more folds their sizes would differ too much."""


@dataclass(frozen=True)
class EntryFolds:
    """A random partition of the entries of an n x m matrix into folds, reproducible from a seed."""

    shape: tuple[int, int]
    folds: int
    seed: int

    def in_fold(self, fold: int, rows: slice) -> Array:
        """Mask of the entries of these rows in a fold: those whose random byte is in its range of 0..255."""
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
        """The same, divided by the root mean square of the training entries."""
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
        """The sum over all rows of a function of some of them, in double precision."""
        groups = self._each(lambda pieces: np.sum([function(piece) for piece in pieces], axis=0, dtype=float))
        return np.asarray(np.sum(groups, axis=0))

    def _each(self, function: Callable[[Iterator[Piece]], Result]) -> list[Result]:
        """The value of a function on each of a few groups of rows, which depend only on the shape."""
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
