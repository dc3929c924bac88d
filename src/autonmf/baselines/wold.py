r"""Factors fitted to the entries that are not hidden (Wold, 1978).

With S the set of entries that are seen, one step minimises a majoriser of
:math:`\tfrac12\sum_{(i,j)\in S}(X-UV^\top)_{ij}^2` at the current factors: the hidden entries are filled with
the current fit, :math:`\tilde X = UV^\top + S\circ(X-UV^\top)`, and HALS sweeps are made on
:math:`\tilde X`. Neither :math:`\tilde X` nor S is ever stored: blocks of rows are made, used and forgotten,
and S comes from a seed.

S. Wold, Cross-validatory estimation of the number of components in factor and principal components models,
Technometrics 20 (1978).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from autonmf import kernels
from autonmf._threads import each
from autonmf._types import Array
from autonmf.data.blocks import even_blocks, row_blocks, squared_sum
from autonmf.model.balancing import balance
from autonmf.model.objective import gram

Result = TypeVar("Result")

SWEEPS = 3
"""HALS sweeps on each factor before the hidden entries are filled again."""

RIDGE = 1e-8
"""μ, as on a path: X is divided by the root mean square of its seen entries."""

LARGEST = 1e15
"""Entries beyond this many root mean squares of the seen ones count as this large: their squares must fit."""

MOST_FOLDS = 32
"""Folds are told apart by a byte for each entry: with more of them their sizes would differ too much."""


@dataclass(frozen=True)
class EntryFolds:
    """The entries of an n x m matrix dealt at random into folds, again and again the same from a seed."""

    shape: tuple[int, int]
    folds: int
    seed: int

    def in_fold(self, fold: int, rows: slice) -> Array:
        """Which entries of these rows are in a fold: those whose random byte is in its share of 0..255."""
        count = rows.stop - rows.start
        rng = np.random.default_rng([self.seed, rows.start])
        drawn = np.frombuffer(rng.bytes(count * self.shape[1]), dtype=np.uint8).reshape(count, -1)
        first, beyond = (256 * k // self.folds for k in (fold, fold + 1))
        return np.asarray(drawn - np.uint8(first) < beyond - first)


class Piece(NamedTuple):
    """Some rows of X, in single precision, and which of their entries are hidden."""

    rows: slice
    X: Array
    hidden: Array

    def seen(self, values: Array) -> Array:
        """``values`` with zeros where X is hidden, in place."""
        return np.multiply(values, ~self.hidden, out=values)


@dataclass(frozen=True)
class PartlySeen:
    """X / scale with the entries of one fold hidden."""

    rows: Callable[[slice], Array]  # some rows of X
    folds: EntryFolds
    fold: int
    scale: float = 1.0

    def scaled(self) -> PartlySeen:
        """The same divided by the root mean square of the seen entries."""
        highest = max(
            float(np.max(self.rows(block), where=~self.folds.in_fold(self.fold, block), initial=0.0))
            for block in row_blocks(self.folds.shape)
        )
        if not highest > 0:
            raise ValueError("every entry that is not hidden is zero: there is nothing to fit")

        def sums(pieces: Iterator[Piece]) -> Array:
            total = np.zeros(2)
            for piece in pieces:
                total += squared_sum(piece.seen(piece.X)), (~piece.hidden).sum()
            return total

        squares, count = np.sum(replace(self, scale=highest)._each(sums), axis=0)
        return replace(self, scale=highest * float(np.sqrt(squares / count)))

    def start(self, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Uniform factors, balanced and scaled to their least-squares fit of the seen entries."""
        U, V = (np.asfortranarray(rng.random((rank, size)).T, dtype=np.float32) for size in self.folds.shape)

        def sums(pieces: Iterator[Piece]) -> Array:
            total = np.zeros(2)
            for piece in pieces:
                fit = piece.seen(U[piece.rows] @ V.T)
                total += float(np.vdot(fit, piece.X)), squared_sum(fit)
            return total

        inner, squares = np.sum(self._each(sums), axis=0)
        return balance(U * np.float32(inner / squares), V)

    def step(self, U: Array, V: Array) -> tuple[Array, Array, float]:
        """HALS on U, then on V, each with the hidden entries filled; and the seen loss between the two."""
        gram_V = gram(V)
        updated = np.empty_like(U, order="F")

        def on_rows(pieces: Iterator[Piece]) -> tuple[Array, float]:
            product, loss = np.zeros_like(V), 0.0
            for piece in pieces:
                rows = np.array(U[piece.rows], order="F")
                residual = piece.seen(piece.X - rows @ V.T)
                kernels.hals_sweeps(rows, residual @ V + rows @ gram_V, gram_V, RIDGE, SWEEPS)
                residual = piece.seen(np.subtract(piece.X, rows @ V.T, out=residual))
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
        """Σ(X - UVᵀ)² / ΣX² over the hidden entries."""

        def sums(pieces: Iterator[Piece]) -> Array:
            total = np.zeros(2)
            for piece in pieces:
                truth = piece.X[piece.hidden]
                fit = (U[piece.rows] @ V.T)[piece.hidden]
                total += squared_sum(truth - fit), squared_sum(truth)
            return total

        missed, energy = np.sum(self._each(sums), axis=0)
        return float(missed / energy) if energy > 0 else 0.0

    def energies(self, U: Array, V: Array) -> Array:
        """‖U_j V_jᵀ‖² over the seen entries, for each component.

        A component may be huge where nothing is seen, which costs its fit nothing: its norm over all entries
        says little of what it is worth.
        """
        squares_U, squares_V = np.square(U), np.square(V)

        def on_rows(pieces: Iterator[Piece]) -> Array:
            total = np.zeros(U.shape[1])
            for piece in pieces:
                seen = (~piece.hidden).astype(np.float32)
                total += np.einsum("ij,ij->j", squares_U[piece.rows], seen @ squares_V)
            return total

        return np.asarray(np.sum(self._each(on_rows), axis=0))

    def _each(self, function: Callable[[Iterator[Piece]], Result]) -> list[Result]:
        """The function's value for each of a few groups of rows, which depend on the shape alone."""
        blocks = list(row_blocks(self.folds.shape))
        return each(
            lambda group: function(self._piece(block) for block in blocks[group]), even_blocks(len(blocks))
        )

    def _piece(self, block: slice) -> Piece:
        X = self.rows(block)
        with np.errstate(over="ignore"):  # of a hidden entry that is larger than all that is seen
            scaled = np.multiply(X, 1.0 / self.scale, out=np.empty(X.shape, np.float32), casting="same_kind")
        np.minimum(scaled, LARGEST, out=scaled)
        return Piece(block, scaled, self.folds.in_fold(self.fold, block))


def masked_path(
    seen: PartlySeen, first: int, last: int, rng: np.random.Generator, *, tol: float, max_iter: int
) -> Iterator[tuple[Array, Array]]:
    """Factors of the seen entries at every rank from ``first`` down to ``last``, each from the one before.

    At a rank, steps are made until one lowers the loss by less than ``tol`` of itself; then the component of
    least energy over the seen entries is dropped.
    """
    U, V = seen.start(first, rng)
    while True:
        loss = np.inf
        for _ in range(max_iter):
            previous = loss
            U, V, loss = seen.step(U, V)
            if previous - loss <= tol * loss:
                break
        yield U, V
        if U.shape[1] <= last:
            return
        weakest = int(np.argmin(seen.energies(U, V)))
        U, V = (np.asfortranarray(np.delete(factor, weakest, axis=1)) for factor in (U, V))
