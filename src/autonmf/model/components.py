r"""Components: the pairs (U_j, V_j), balanced, sorted and merged.

*Balancing* (Algorithm 2, step 2) gives the two columns of a component equal norms and keeps their product.

*Merging* replaces two components by one, at the least cost. The sum of two components,
:math:`M = u_iv_i^\top + u_jv_j^\top`, is a nonnegative matrix of rank two. Its best approximation of rank
one, :math:`\sigma_1 uv^\top`, is nonnegative too (Perron and Frobenius) and loses :math:`\tfrac12\sigma_2^2`.
Dropping the weaker of the two would lose half its squared norm, which is never less. Everything follows from
2 x 2 Gram matrices: :math:`\sigma_1^2, \sigma_2^2` are the eigenvalues of :math:`G_VG_U`, and
:math:`u = [u_i, u_j]\,a` with a its leading eigenvector.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data.factors import RemoteFactor, gram, take_columns

SMALLEST = float(np.finfo(np.float64).tiny)


def balancing_scales(norms_U: Array, norms_V: Array) -> Array:
    """S_jj = √(‖V_j‖/‖U_j‖), and 0 where either column is zero.

    U·S and V·S⁻¹ have equal column norms and the same product; a component that is zero in one factor
    becomes zero in both.
    """
    alive = (norms_U > 0) & (norms_V > 0)
    ratio = np.divide(norms_V, norms_U, out=np.zeros_like(norms_V), where=alive)
    return np.asarray(np.sqrt(ratio))


def inverse_scales(scales: Array) -> Array:
    """S⁻¹ with 0⁻¹ = 0, the scales of the other factor."""
    return np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0)


def balance(U: Any, V: Any, *, sort: bool = False, n_fixed: int = 0) -> tuple[Any, Any]:
    """Equalise the norms of paired columns; with ``sort``, by decreasing ‖U_j‖‖V_j‖. U Vᵀ does not change.

    The first ``n_fixed`` components keep their norms and their places.
    """
    norms_U, norms_V = column_norms(U), column_norms(V)
    scales = balancing_scales(norms_U, norms_V)
    scales[:n_fixed] = 1.0
    energies = norms_U * norms_V
    energies[:n_fixed] = np.inf
    order = np.argsort(-energies, kind="stable") if sort else np.arange(len(scales))
    return take_columns(U, order, scales), take_columns(V, order, inverse_scales(scales))


def column_norms(factor: Any) -> Array:
    """‖U_j‖ for each column, in double precision: squares may overflow single precision."""
    if isinstance(factor, RemoteFactor):
        return np.sqrt(np.maximum(gram(factor).diagonal(), 0.0))
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", factor, factor, dtype=np.float64)))


class Merger(NamedTuple):
    """Components ``kept`` and ``gone`` become one: U_kept = [U_kept, U_gone] a, and V_kept with b."""

    kept: int
    gone: int
    a: Array
    b: Array


def merging_costs(gram_U: Array, gram_V: Array, n_fixed: int = 0) -> Array:
    r"""½σ₂² of every pair of components, infinite on the diagonal; r x r.

    The first ``n_fixed`` columns of V are known. Two of them are never merged. To merge a component k into a
    known one j is to drop k and refit the weights of j, which costs
    :math:`\tfrac12\|u_k\|^2(\|v_k\|^2 - \langle v_j, v_k\rangle^2/\|v_j\|^2)`.
    """
    gram_U, gram_V = gram_U.astype(np.float64), gram_V.astype(np.float64)
    squares_U, squares_V = gram_U.diagonal(), gram_V.diagonal()
    energies = squares_U * squares_V
    trace = energies[:, None] + energies
    trace += 2.0 * gram_U * gram_V
    determinant = _determinants(gram_U, squares_U)
    determinants_V = _determinants(gram_V, squares_V)
    determinant *= determinants_V
    # The smaller root of x² - trace·x + determinant, in the form without cancellation.
    root = np.square(trace)
    root -= 4.0 * determinant
    np.sqrt(np.maximum(root, 0.0, out=root), out=root)
    root += trace
    determinant /= np.maximum(root, SMALLEST, out=root)
    determinant.flat[:: len(determinant) + 1] = np.inf
    if n_fixed:
        squares = np.maximum(squares_V[:n_fixed, None], SMALLEST)
        dropped = 0.5 * squares_U * determinants_V[:n_fixed] / squares
        dropped[:, :n_fixed] = np.inf
        determinant[:n_fixed], determinant[:, :n_fixed] = dropped, dropped.T
    return determinant


def find_cheapest_merger(gram_U: Array, gram_V: Array, n_fixed: int = 0) -> Merger:
    """The merger of two components that costs least; its result is balanced."""
    costs = merging_costs(gram_U, gram_V, n_fixed)
    kept, gone = sorted(divmod(int(np.argmin(costs)), len(costs)))  # rounding must not decide the order
    if kept < n_fixed:
        taken = float(gram_V[kept, gone]) / max(float(gram_V[kept, kept]), SMALLEST)
        return Merger(kept, gone, np.array([1.0, taken]), np.array([1.0, 0.0]))
    U, V = (_Pair.of(products, kept, gone) for products in (gram_U, gram_V))
    a, value = _leading(V, U)
    if not value > 0:  # both components have vanished
        return Merger(kept, gone, np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    norm = math.sqrt(U.square(*a))
    a = a[0] / norm, a[1] / norm
    b = U.times(*a)  # v = [v_i, v_j] b has norm σ₁
    root = math.sqrt(math.sqrt(V.square(*b)))
    return Merger(kept, gone, np.array(a) * root, np.array(b) / root)


def combine_columns(array: Any, merger: Merger, weights: Array) -> Any:
    """The columns with two of them combined into one; Fortran-ordered."""
    kept, gone = merger.kept, merger.gone
    if isinstance(array, RemoteFactor):
        return array.times(combine_columns(np.eye(array.shape[1]), merger, weights), array.dtype)
    result = np.empty((array.shape[0], array.shape[1] - 1), dtype=array.dtype, order="F")
    result[:, :gone] = array[:, :gone]
    result[:, gone:] = array[:, gone + 1 :]
    first, second = weights.astype(array.dtype)
    result[:, kept] = first * array[:, kept] + second * array[:, gone]
    return result


def split_strongest(U: Any, V: Array, sizes: Array, rank: int) -> tuple[Any, Array]:
    """Split the largest component into equal parts, so that there are ``rank`` components."""
    more, strongest = rank - V.shape[1], int(np.argmax(sizes))
    parts = np.append(np.arange(V.shape[1]), np.full(more, strongest))
    scales = np.ones(V.shape[1])
    scales[strongest] /= 1 + more
    return take_columns(U, parts, scales), take_columns(V, parts)


class _Pair(NamedTuple):
    """The Gram matrix of two columns."""

    first: float
    both: float
    second: float

    @staticmethod
    def of(products: Array, i: int, j: int) -> _Pair:
        return _Pair(float(products[i, i]), float(products[i, j]), float(products[j, j]))

    def times(self, x: float, y: float) -> tuple[float, float]:
        return self.first * x + self.both * y, self.both * x + self.second * y

    def square(self, x: float, y: float) -> float:
        """The squared norm of the columns' combination with weights x and y."""
        return self.first * x * x + 2.0 * self.both * x * y + self.second * y * y


def _leading(V: _Pair, U: _Pair) -> tuple[tuple[float, float], float]:
    """The leading eigenvector of the product of two nonnegative matrices, nonnegative too; its eigenvalue."""
    (p, r), (q, s) = V.times(U.first, U.both), V.times(U.both, U.second)
    half = 0.5 * (p - s)
    root = math.hypot(half, math.sqrt(q * r))
    x, y = (q, root - half) if half < 0 else (root + half, r)  # the form without cancellation
    largest = max(x, y)
    vector = (x / largest, y / largest) if largest > 0 else (1.0, 0.0)
    return vector, 0.5 * (p + s) + root


def _determinants(products_of_columns: Array, squares: Array) -> Array:
    """Determinant of every 2 x 2 Gram matrix, never negative."""
    products: Array = squares[:, None] * squares
    products -= np.square(products_of_columns)
    np.maximum(products, 0.0, out=products)
    return products
