r"""Two components into one, at the least cost.

The sum of two components, :math:`M = u_iv_i^\top + u_jv_j^\top`, is a nonnegative matrix of rank two. Its
best approximation of rank one, :math:`\sigma_1 uv^\top`, is nonnegative too (Perron and Frobenius) and loses
:math:`\tfrac12\sigma_2^2`. Dropping the weaker of the two would lose half its squared norm, which is never
less. Everything follows from 2 x 2 Gram matrices: :math:`\sigma_1^2, \sigma_2^2` are the eigenvalues of
:math:`G_VG_U`, and :math:`u = [u_i, u_j]\,a` with a its leading eigenvector.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from autonmf._types import Array


class Merger(NamedTuple):
    """Components ``kept`` and ``gone`` become one: U_kept = [U_kept, U_gone] a, V_kept likewise with b."""

    kept: int
    gone: int
    a: Array
    b: Array


def merging_costs(gram_U: Array, gram_V: Array) -> Array:
    """½σ₂² of every pair of components, infinite on the diagonal; r x r."""
    gram_U, gram_V = gram_U.astype(np.float64), gram_V.astype(np.float64)
    squares_U, squares_V = gram_U.diagonal(), gram_V.diagonal()
    energies = squares_U * squares_V
    trace = energies[:, None] + energies[None, :] + 2.0 * gram_U * gram_V
    determinant = _determinants(gram_U, squares_U) * _determinants(gram_V, squares_V)
    # The smaller root of x² - trace·x + determinant, in the form that does not cancel.
    root = np.sqrt(np.maximum(trace**2 - 4.0 * determinant, 0.0))
    costs = determinant / np.maximum(trace + root, np.finfo(np.float64).tiny)
    np.fill_diagonal(costs, np.inf)
    return np.asarray(costs)


def cheapest_merger(gram_U: Array, gram_V: Array) -> Merger:
    """The pair of components whose merger raises the loss least, and how to merge them; balanced."""
    costs = merging_costs(gram_U, gram_V)
    kept, gone = (int(index) for index in np.unravel_index(np.argmin(costs), costs.shape))
    small_U, small_V = (_pair(gram, kept, gone) for gram in (gram_U, gram_V))
    a, value = _leading(small_V @ small_U)
    if not value > 0:  # both components have vanished
        return Merger(kept, gone, np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    a /= np.sqrt(a @ small_U @ a)
    b = small_U @ a  # v = [v_i, v_j] b has norm σ₁
    sigma = np.sqrt(b @ small_V @ b)
    return Merger(kept, gone, a * np.sqrt(sigma), b / np.sqrt(sigma))


def _pair(gram: Array, i: int, j: int) -> Array:
    return np.array([[gram[i, i], gram[i, j]], [gram[j, i], gram[j, j]]], dtype=np.float64)


def _leading(matrix: Array) -> tuple[Array, float]:
    """The leading eigenvector of a nonnegative 2 x 2 matrix, nonnegative too, and its eigenvalue."""
    (p, q), (r, s) = matrix.tolist()
    half = 0.5 * (p - s)
    root = math.hypot(half, math.sqrt(q * r))
    vector = (q, root - half) if half < 0 else (root + half, r)  # the form that does not cancel
    largest = max(vector)
    if not largest > 0:
        return np.array([1.0, 0.0]), 0.5 * (p + s) + root
    return np.array([entry / largest for entry in vector]), 0.5 * (p + s) + root


def _determinants(gram: Array, squares: Array) -> Array:
    """Determinant of every 2 x 2 Gram matrix, never negative."""
    return np.asarray(np.maximum(squares[:, None] * squares[None, :] - gram**2, 0.0))
