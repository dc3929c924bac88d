r"""Scaled rows and columns, and transposition: one object for all the ways in which X is rewritten.

.. math:: X' = \mathrm{diag}(a)^{-1} X\, \mathrm{diag}(b)^{-1}, \quad\text{or its transpose.}

If U', V' are factors of X', then diag(a) U' and diag(b) V' are factors of X. Four scalings are used, and
composed before X is wrapped:

- *unit scale*: X divided by its root mean square s, which gives the absolute constants μ, δ and ε₁ of the
  method a meaning;
- *equilibration*: rows and columns of comparable norm;
- *weights* αβ of the entries, a = α^(-1/2) and b = β^(-1/2): the weighted loss of X is the loss of X';
- *transposition*, which puts the longer side first, so that a search is the same for X and Xᵀ.

Numbers a and b only change the unit of X: losses and λ are multiplied by (ab)², μ and δ by ab. Vectors change
the loss itself, which has to be evaluated again on X.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data.dense import Dense
from autonmf.data.factors import map_rows, persist, scale_rows, sum_rows
from autonmf.data.protocol import Block, BlockFunction, Data, is_sparse, square, squared_sum
from autonmf.data.sparse import Sparse

MODERATE = 1e-8
"""Scales between this and its inverse may go to either factor: nothing overflows."""

COPIED = 1 << 16
"""Entries of an array that is copied, at most: 512 kB."""

DOMINANT = 100.0
"""A row or column is dominant if it is this many times as large as the usual one."""


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
    """X' as `Data`, without a copy of X. The only wrapper around data; scaled data are not wrapped again."""

    def __init__(self, data: Data, scaling: Scaling, squared_norm: float | None = None) -> None:
        if isinstance(data, Scaled):
            raise TypeError("scaled data are not wrapped again: compose the two scalings")
        self.data = data
        self.scaling = scaling
        self._squared_norm = squared_norm  # None: not computed yet
        rows, columns = persist(_inverse(scaling.a)), persist(_inverse(scaling.b))
        if not np.ndim(rows) and MODERATE < rows < 1 / MODERATE and data.shape[0] > data.shape[1]:
            rows, columns = 1.0, columns * rows  # scaling the shorter factor is cheaper
        self._rows, self._columns = rows, columns

    def flip(self) -> Scaled:
        """The transpose of X'."""
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
            return _scale_product(self.data.left(_scale_factor(V, self._rows)), self._columns)
        return _scale_product(self.data.right(_scale_factor(V, self._columns)), self._rows)

    def left(self, U: Any) -> Any:
        if self.scaling.transposed:
            return _scale_product(self.data.right(_scale_factor(U, self._columns)), self._rows)
        return _scale_product(self.data.left(_scale_factor(U, self._rows)), self._columns)

    def squared_residual(self, U: Array, V: Array) -> float:
        """From the residual of X, whose rows and columns are then scaled."""
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
    inner, scaling = split_scaling(data)
    return inner.divide(scaling.a, scaling.b, np.float32) if isinstance(inner, Sparse) else data


def copy_small(data: Data) -> Data:
    """X' as an array of its own where it is a small one, so that products need not scale; else X' itself."""
    if isinstance(data, Scaled) and isinstance(data.data, Dense) and data.data.X.size <= COPIED:
        copied = data.data.divide(data.scaling.a, data.scaling.b, data.dtype)
        return Dense(copied.X, data.squared_norm())
    return data


def sums_of_squares(data: Data, rows: Array | None = None, columns: Array | None = None) -> tuple[Any, Any]:
    """(ω∘X∘X) ``columns`` as an n x 1 factor, and (ω∘X∘X)ᵀ ``rows`` as an m x 1 factor, in one pass over X.

    Without weights of rows and columns: the squared norms of the rows and of the columns of X.
    """
    if isinstance(data, Scaled) and data.scaling.transposed:
        of_columns, of_rows = sums_of_squares(data.flip(), columns, rows)
        return of_rows, of_columns
    inner = data
    a: Any = 1.0
    b: Any = 1.0
    if isinstance(data, Scaled):  # the squares of its entries are those of X times squared inverse scales
        inner, a = data.data, data._rows
        b = np.broadcast_to(np.square(data._columns), (data.shape[1], 1))
        if np.ndim(a):
            a = map_rows(np.square, a)
            rows = a if rows is None else scale_rows(a, rows)
        else:
            a, b = 1.0, b * a**2
        columns = b if columns is None else b * columns
    columns = np.ones((data.shape[1], 1)) if columns is None else columns
    if isinstance(inner, Sparse):
        squares = inner.square()
        rows = np.ones((data.shape[0], 1)) if rows is None else rows
        of_rows, of_columns = squares.right(columns), squares.left(rows)
    else:
        of_rows, of_columns = inner.map_blocks(_sum_squares, rows, columns)
    return _scale_factor(of_rows, a), _scale_factor(of_columns, b)


def split_scaling(data: Data) -> tuple[Data, Scaling]:
    """What scaled data wrap, and their scaling."""
    return (data.data, data.scaling) if isinstance(data, Scaled) else (data, Scaling())


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


def reduce_dominant(data: Data) -> Scaling:
    r"""Divide dominant rows and columns by the geometric means of their positive entries.

    Unlike its norm, the geometric mean of a row hardly depends on a single column, however large, so that one
    pass over X finds the dominant rows and columns. All others are divided by the power mean of exponent 1/4
    of these means, on which neither a few large nor many small ones have much influence.
    """
    if isinstance(data, Scaled) and data.scaling.transposed:
        flipped = reduce_dominant(data.flip())
        return Scaling(flipped.b, flipped.a)
    of_rows, of_columns = data.map_blocks(_sum_logs, None)
    mean = of_columns[:, 1:].sum() / max(of_columns[:, :1].sum(), 1.0)
    a, b = (map_rows(_geometric_mean, sums, mean) for sums in (of_rows, of_columns))
    return Scaling(*(persist(map_rows(_keep_dominant, s, _usual(s))) for s in (a, b)))


def _usual(scales: Any) -> float:
    return float((sum_rows(_sum_roots, scales) / scales.shape[0]) ** 4)


def _sum_roots(scales: Array) -> float:
    return float((scales**0.25).sum())


def _keep_dominant(scales: Array, usual: float) -> Array:
    return np.where(scales > DOMINANT * usual, scales, usual)


def _sum_logs(block: Block, _: None) -> tuple[Array, Array]:
    """The number of positive entries and the sum of their logarithms, for rows and for columns."""
    X, weights = block.read(), block.read_weights()
    if is_sparse(X):
        X = X.tocoo()
        known, (rows, columns) = X.data > 0, X.coords
        rows, columns, logs = rows[known], columns[known], np.log(X.data[known], dtype=np.float64)
    else:
        rows, columns = np.nonzero(X if weights is None else X * (weights > 0))
        logs = np.log(X[rows, columns], dtype=np.float64)
    sums = [
        np.column_stack([np.bincount(places, minlength=side), np.bincount(places, logs, minlength=side)])
        for places, side in ((rows, X.shape[0]), (columns, X.shape[1]))
    ]
    return sums[0], sums[1]


def _geometric_mean(counts_and_sums: Array, mean: float) -> Array:
    """Geometric means, divided by the root of the overall one; one if there is no positive entry."""
    counts, sums = counts_and_sums[:, :1], counts_and_sums[:, 1:]
    return np.where(counts > 0, np.exp(sums / np.maximum(counts, 1.0) - 0.5 * mean), 1.0)


def _scale_factor(factor: Any, scales: Any) -> Any:
    """diag(scales) times a factor, which is not copied where the scales are one."""
    return scale_rows(factor, scales) if np.ndim(scales) or scales != 1.0 else factor


def _scale_product(product: Any, scales: Any) -> Any:
    """diag(scales) times a product that was just computed: in place if it is in memory."""
    if not isinstance(product, np.ndarray):
        return _scale_factor(product, scales)
    scales = scales if np.ndim(scales) else product.dtype.type(scales)
    return np.multiply(product, scales, out=product, casting="same_kind")


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
    return map_rows(np.reciprocal, scales) if np.ndim(scales) else 1.0 / scales


def _broadcast_scales(U: Array, scales: Any) -> Array:
    """Scales as a column with as many rows as U; they may be one number."""
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
