r"""Scaled rows and columns, and transposition: one object for all the ways in which X is rewritten.

.. math:: X' = \mathrm{diag}(a)^{-1} X\, \mathrm{diag}(b)^{-1}, \quad\text{or its transpose.}

If U', V' are factors of X', then diag(a) U' and diag(b) V' are factors of X. Four scalings are used, and
composed before any data are wrapped:

- *unit scale*: X divided by its root mean square s, which gives the absolute constants μ, δ and ε₁ of the
  method a meaning;
- *equilibration*: rows and columns of comparable norm;
- *weights* αβ of the entries, a = α^(-1/2) and b = β^(-1/2): the weighted loss of X is the loss of X';
- *transposition*, which puts the longer side first, so that a search is the same for X and Xᵀ.

Numbers a and b only change the unit of X: losses and λ are multiplied by (ab)², μ and δ by ab. Vectors change
the loss itself, which has to be evaluated again on X.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.factors import map_rows, persist, scale_rows, sum_rows
from autonmf.data.protocol import Block, BlockFunction, Data, is_sparse, square, squared_sum
from autonmf.data.sparse import Sparse

MODERATE = 1e-8
"""Scales within this of one can be given to either factor, and nothing overflows."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """X' = diag(a)⁻¹ X diag(b)⁻¹, transposed if asked."""

    a: Any = 1.0  # a positive number, or a factor of shape n x 1
    b: Any = 1.0  # a positive number, or an array of shape m x 1
    transposed: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether all entries are divided by the same number."""
        return not (np.ndim(self.a) or np.ndim(self.b))

    @property
    def unit(self) -> float:
        """What every entry is divided by, if that is one number."""
        if not self.is_uniform:
            raise ValueError("rows and columns are scaled differently: there is no common unit")
        return float(self.a * self.b)

    def then(self, other: Scaling) -> Scaling:
        """The scaling followed by another."""
        first, second = (other.b, other.a) if self.transposed else (other.a, other.b)
        return Scaling(
            _times(self.a, first), _times(self.b, second), transposed=self.transposed != other.transposed
        )

    def apply(self, data: Data) -> Data:
        """The scaled matrix, without a copy. Scaled data are not wrapped twice: the scalings are composed."""
        known = data.squared_norm() / self.unit**2 if self.is_uniform else None
        total = data.scaling.then(self) if isinstance(data, Scaled) else self
        inner = unscale(data)
        if total.transposed and hasattr(inner, "T"):
            return Scaled(inner.T, Scaling(total.b, total.a), known)
        return Scaled(inner, total, known)

    def to_scaled(self, U: Any, V: Any) -> tuple[Any, Any]:
        """Factors of X as factors of X'."""
        U, V = scale_rows(U, _inverse(self.a)), scale_rows(V, _inverse(self.b))
        return (V, U) if self.transposed else (U, V)

    def to_original(self, U: Any, V: Any) -> tuple[Any, Any]:
        """Factors of X' as factors of X."""
        if self.transposed:
            U, V = V, U
        return scale_rows(U, self.a), scale_rows(V, self.b)


class Scaled:
    """X' in place of X, without a copy of X. The only wrapper around data, and never around itself."""

    def __init__(self, data: Data, scaling: Scaling, squared_norm: float | None = None) -> None:
        if isinstance(data, Scaled):
            raise TypeError("scaled data are not wrapped again: compose the two scalings")
        self.data = data
        self.scaling = scaling
        self._squared_norm = squared_norm  # None: not computed yet
        rows, columns = (persist(_inverse(s)) for s in (scaling.a, scaling.b))
        if not np.ndim(rows) and MODERATE < rows < 1 / MODERATE and data.shape[0] > data.shape[1]:
            rows, columns = 1.0, columns * rows  # one number is better given to the shorter factor
        self._rows, self._columns = rows, columns

    def flip(self) -> Scaled:
        """The transpose: rows can be read if they can be read of X."""
        flipped = replace(self.scaling, transposed=not self.scaling.transposed)
        return Scaled(self.data, flipped, self._squared_norm)

    def replace_data(self, data: Data) -> Scaled:
        """The same scales around a copy of X."""
        return Scaled(data, self.scaling)

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.data.shape
        return (m, n) if self.scaling.transposed else (n, m)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.data.dtype

    @property
    def cost(self) -> float:
        return self.data.cost

    @property
    def complete(self) -> bool:
        return self.data.complete

    def squared_norm(self) -> float:
        if self._squared_norm is None and self.scaling.is_uniform:
            self._squared_norm = self.data.squared_norm() / self.scaling.unit**2
        elif self._squared_norm is None:
            self._squared_norm = float(sum_rows(np.sum, sums_of_squares(self)[0]))
        return self._squared_norm

    def right(self, V: Any) -> Any:
        """diag(a)⁻¹ X diag(b)⁻¹ V. Scaling on both sides keeps products in range, however large X is."""
        if self.scaling.transposed:
            return self._times(self.data.left, V, self._rows, self._columns)
        return self._times(self.data.right, V, self._columns, self._rows)

    def left(self, U: Any) -> Any:
        if self.scaling.transposed:
            return self._times(self.data.right, U, self._columns, self._rows)
        return self._times(self.data.left, U, self._rows, self._columns)

    @staticmethod
    def _times(product: Callable[[Any], Any], factor: Any, before: Any, after: Any) -> Any:
        if np.ndim(before) or before != 1.0:
            factor = scale_rows(factor, before)
        result = product(factor)
        if isinstance(result, np.ndarray) and isinstance(after, np.ndarray):
            return np.multiply(result, after, out=result, casting="same_kind")
        return scale_rows(result, after) if np.ndim(after) or after != 1.0 else result

    def squared_residual(self, U: Array, V: Array) -> float:
        """From the residual of X itself, whose rows and columns are then scaled."""
        U, V = self.scaling.to_original(U, V)
        if self.scaling.is_uniform:
            return self.data.squared_residual(U, V) / self.scaling.unit**2
        rows = map_rows(_broadcast_scales, U, self._rows)
        both = map_rows(_prepend_scales, rows, U)
        return float(self.data.map_blocks(_square_residual, both, V, self._columns)[1])

    def completed_at(self, U: Array, V: Array) -> Data:
        if self.complete:
            return self
        completed = copy(self)  # with the same scales
        completed.data = self.data.completed_at(*self.scaling.to_original(U, V))
        completed._squared_norm = None
        return completed

    def map_blocks(self, function: BlockFunction, U: Array | None, *shared: Any) -> tuple[Any, Any]:
        if self.scaling.transposed:
            return function(Block(slice(0, self.shape[0]), _refuse, _refuse), U, *shared)
        rows, columns = self._rows, self._columns
        if not np.ndim(rows):
            return self.data.map_blocks(_scale_and_apply, U, function, False, columns * rows, *shared)
        both = rows if U is None else map_rows(_prepend_scales, rows, U)
        return self.data.map_blocks(_scale_and_apply, both, function, True, columns, *shared)


def unscale(data: Data) -> Data:
    """The data without their scales; a transposition is not undone where the columns cannot be read."""
    return data.data if isinstance(data, Scaled) else data


def as_single(data: Data) -> Data:
    """X' as a copy in single precision where it is sparse and products are faster so; else X' itself."""
    inner, scaling = (data.data, data.scaling) if isinstance(data, Scaled) else (data, Scaling())
    return inner.divide(scaling.a, scaling.b, np.float32) if isinstance(inner, Sparse) else data


def sums_of_squares(data: Data, rows: Array | None = None, columns: Array | None = None) -> tuple[Any, Any]:
    """(ω∘X∘X) ``columns`` as an n x 1 factor, and (ω∘X∘X)ᵀ ``rows`` as an m x 1 factor, in one pass over X.

    Without weights of rows and columns: the squared norms of the rows and of the columns of X.
    """
    if not isinstance(data, Scaled):
        columns = np.ones((data.shape[1], 1)) if columns is None else columns
        if isinstance(data, Sparse):
            squares = data.square()
            return squares.right(columns), squares.left(np.ones((data.shape[0], 1)) if rows is None else rows)
        return data.map_blocks(_sum_squares, rows, columns)
    if data.scaling.transposed:
        of_columns, of_rows = sums_of_squares(data.flip(), columns, rows)
        return of_rows, of_columns
    # The squares of the scaled entries are those of X times the squares of the inverse scales.
    a, b = data._rows, np.broadcast_to(np.square(data._columns), (data.shape[1], 1))
    if np.ndim(a):
        a = map_rows(np.square, a)
        rows = a if rows is None else scale_rows(a, rows)
    else:
        a, b = 1.0, b * a**2
    of_rows, of_columns = sums_of_squares(data.data, rows, b if columns is None else b * columns)
    return (scale_rows(of_rows, a) if np.ndim(a) else of_rows), of_columns * b


def _sum_squares(block: Block, rows: Array | None, columns: Array) -> tuple[Array, Array]:
    squares = square(block.read(), block.read_weights())
    rows = np.ones((squares.shape[0], 1)) if rows is None else rows
    return np.asarray(squares @ columns), np.asarray(squares.T @ rows)


def unit_scaling(data: Data) -> Scaling:
    """X divided by its root mean square; half of the scale goes to either factor."""
    n, m = data.shape
    root = float(np.sqrt(np.sqrt(data.squared_norm() / (n * m))))
    return Scaling(root, root)


def equilibration(data: Data) -> Scaling:
    r"""Rows and columns of comparable norm: :math:`X_{ij} / \sqrt{\|X_{i:}\|\,\|X_{:j}\|}`.

    A component of few or low-energy rows and columns (dark water in a scene, a rare cell type) has little
    energy in X and hardly changes its loss; after equilibration it counts like the others. The rank
    stays the same. Rows and columns of zeros keep the scale one.
    """
    rows, columns = sums_of_squares(data)
    a, b = (persist(map_rows(_fourth_root, squares)) for squares in (rows, columns))
    return Scaling(a, b)


def _refuse() -> Any:
    raise NotImplementedError("the rows of this matrix cannot be read, only its columns")


def _fourth_root(squares: Array) -> Array:
    return np.asarray(np.where(squares > 0, squares, 1.0) ** 0.25)


def _times(first: Any, second: Any) -> Any:
    """The product of two scales, each a number or a factor with one column."""
    if not np.ndim(first) and not np.ndim(second):
        return first * second
    return scale_rows(first, second) if np.ndim(first) else scale_rows(second, first)


def _inverse(scales: Any) -> Any:
    return map_rows(_reciprocal, scales) if np.ndim(scales) else 1.0 / scales


def _reciprocal(scales: Array) -> Array:
    return np.asarray(1.0 / scales)


def _broadcast_scales(U: Array, scales: Any) -> Array:
    """Scales as a column with a row for each of U, where they may be one number."""
    return np.broadcast_to(scales, (len(U), 1))


def _prepend_scales(rows: Array, U: Array) -> Array:
    """The scales of the rows as the first column of a factor."""
    return np.hstack([rows, U])


def _scale_and_apply(
    block: Block, both: Any, function: BlockFunction, has_rows: bool, columns: Any, *shared: Any
) -> tuple[Any, Any]:
    """``function`` of a scaled block; the scales of its rows are the first column of ``both``."""
    rows, U = (both[:, :1], both[:, 1:]) if has_rows else (1.0, both)
    U = None if has_rows and not U.shape[1] else U
    scaled = Block(block.rows, partial(_read_scaled, block, rows, columns), block.read_weights)
    return function(scaled, U, *shared)


def _read_scaled(block: Block, rows: Any, columns: Any) -> Any:
    X = block.read()
    if is_sparse(X):
        a = np.repeat(np.ravel(rows), np.diff(X.indptr)) if np.ndim(rows) else rows
        b = np.ravel(columns)[X.indices] if np.ndim(columns) else columns
        return type(X)(((X.data * (a * b)).astype(X.dtype), X.indices, X.indptr), shape=X.shape)
    scaled = X * np.asarray(rows, dtype=X.dtype)
    scaled *= np.asarray(columns, dtype=X.dtype).T
    return scaled


def _square_residual(block: Block, both: Array, V: Array, columns: Any) -> tuple[None, float]:
    residual = block.residual(both[:, 1:], V)
    residual *= both[:, :1]
    residual *= np.asarray(columns).T
    return None, squared_sum(residual)
