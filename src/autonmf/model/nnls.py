r"""Nonnegative least squares with many right-hand sides, to a tolerance.

`solve_nnls` is for rows that share one matrix of normal equations G; `solve_nnls_each` for rows with a matrix
each, as with missing or weighted entries. Both use coordinate descent on all rows that have not converged;
the few that have not after 400 sweeps are solved by SciPy's active-set method. `approximate_nnls` makes a few
sweeps only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import nnls

from autonmf import kernels
from autonmf._threads import each
from autonmf._types import Array
from autonmf.data.protocol import row_blocks

SWEEPS_PER_CHECK = 10
MAX_CHECKS = 40

RIDGE = 1e-3
"""Sweeps begin at the clipped solution without constraints, with this fraction of the largest eigenvalue of G
added to its diagonal. From zero ten times as many are needed where components are nearly collinear."""

BLOCK_ENTRIES = 1 << 16
"""Entries of a block of rows that are solved together; it fits into the cache."""

NEGLIGIBLE = 1e-60
"""Components below this fraction of the largest get the weight zero: any other would be rounding error."""


def solve_nnls(product: Array, gram: Array, tol: float = 1e-6) -> Array:
    r"""Rows :math:`u_i = \arg\min_{u \ge 0} \tfrac12 u^\top G u - a_i^\top u`, from A = X C and G = CᵀC.

    The columns of C are first scaled to norm one, so that the tolerance is the same for low-energy
    components. Nearly all rows converge in a few HALS sweeps: a row has converged when its KKT residual ‖u -
    max(0, u - g/L)‖, relative to its size, is below ``tol``. Rows that have not converged after 400 sweeps
    (nearly collinear components) are solved by SciPy's active-set method.
    """
    return _solve_blocks(partial(_solve_shared, tol=tol), product, gram)


def approximate_nnls(product: Array, gram: Array) -> Array:
    """Nearly the rows of `solve_nnls`: what `SWEEPS_PER_CHECK` sweeps find, in the same time for any G."""
    return _solve_blocks(_sweep_shared, product, gram)


def _solve_blocks(solve: Callable[[Array, Array], Array], product: Array, gram: Array) -> Array:
    """Solve blocks of rows for components of norm one."""
    scales = inverse_norms(gram.diagonal())
    normalized = (gram * np.outer(scales, scales)).astype(gram.dtype)
    solution = np.empty(product.shape, dtype=product.dtype, order="F")

    def solve_block(rows: slice) -> None:
        scaled = np.asfortranarray(product[rows] * scales, dtype=product.dtype)
        solution[rows] = solve(scaled, normalized) * scales

    each(solve_block, row_blocks(product.shape, BLOCK_ENTRIES))
    return solution


def inverse_norms(squares: Array) -> Array:
    """1 / √square, and zero for a component that is zero, or `NEGLIGIBLE` compared with the largest."""
    norms = np.sqrt(squares.astype(np.float64))
    seen = norms > NEGLIGIBLE * norms.max(axis=-1, keepdims=True, initial=0.0)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=seen)


def _sweep_shared(product: Array, gram: Array) -> Array:
    solution, _, _ = _begin(product, gram)
    kernels.hals_sweeps(solution, product, gram, 0.0, SWEEPS_PER_CHECK)
    return solution


def _begin(product: Array, gram: Array) -> tuple[Array, float, float]:
    """Where sweeps begin, and the extreme eigenvalues of G."""
    solution = np.zeros(product.shape, dtype=product.dtype, order="F")
    if not gram.any():
        return solution, 0.0, 0.0
    values, vectors = np.linalg.eigh(gram)
    smallest, largest = values[[0, -1]]
    inverse = (vectors / (np.maximum(values, 0.0) + RIDGE * largest)) @ vectors.T
    np.maximum((inverse @ product.T).T, 0.0, out=solution)
    return solution, float(smallest), float(largest)


def _solve_shared(product: Array, gram: Array, tol: float) -> Array:
    solution, smallest, largest = _begin(product, gram)
    if largest == 0.0:
        return solution
    # Steps of length 1/L are short in directions of small curvature: the tolerance is reduced accordingly.
    tol = max(tol * np.sqrt(max(smallest / largest, 0.0)), 8 * float(np.finfo(product.dtype).eps))
    pending = np.arange(len(product))
    for _ in range(MAX_CHECKS):
        block = np.asfortranarray(solution[pending])
        right_hand_sides = np.asfortranarray(product[pending])
        kernels.hals_sweeps(block, right_hand_sides, gram, 0.0, SWEEPS_PER_CHECK)
        solution[pending] = block
        stepped, _ = kernels.forward_step(block, right_hand_sides, gram, 0.0, largest)
        residual = np.linalg.norm(block - stepped, axis=1)
        size = np.maximum(np.linalg.norm(block, axis=1), np.linalg.norm(right_hand_sides, axis=1) / largest)
        pending = pending[residual > tol * size]
        if pending.size == 0:
            return solution
    if pending.size:
        solution[pending] = _solve_by_active_set(product[pending], gram)
    return solution


def _solve_by_active_set(product: Array, gram: Array) -> Array:
    """Solve each row exactly: with G = MᵀM and Mᵀb = a it minimises ‖Mu - b‖ over u ≥ 0."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    roots = np.sqrt(values[kept])
    square_root = roots[:, None] * vectors[:, kept].T
    targets = (product.astype(np.float64) @ vectors[:, kept]) / roots
    return np.array([nnls(square_root, target)[0] for target in targets])


def solve_nnls_each(product: Array, grams: Array, tol: float = 1e-6) -> Array:
    r"""Rows :math:`u_i = \arg\min_{u \ge 0} \tfrac12 u^\top G_i u - a_i^\top u`, from A and G (n x r x r).

    As `solve_nnls`, but with a G for each row: coordinate descent on all rows at once; rows that have not
    converged after 400 sweeps are solved one by one.
    """
    scales = inverse_norms(np.einsum("ikk->ik", grams))
    return _solve_each(product * scales, grams * scales[:, :, None] * scales[:, None, :], tol) * scales


def _solve_each(product: Array, grams: Array, tol: float) -> Array:
    rows, rank = product.shape
    solution = np.zeros((rows, rank))
    tolerance = np.maximum(tol * _root_condition(grams), 8 * float(np.finfo(np.float64).eps))
    pending = np.flatnonzero(product.any(axis=1)) if rank else np.arange(0)
    for _ in range(MAX_CHECKS):
        if pending.size == 0:
            return solution
        u, a, G = solution[pending], product[pending], grams[pending]
        curvature = np.einsum("ikk->ik", G)  # zero where no known entry has the component
        inverse = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        for _ in range(SWEEPS_PER_CHECK):
            for k in range(rank):
                u[:, k] = _descend(u[:, k], a[:, k] - np.einsum("ij,ij->i", G[:, k], u), inverse[:, k])
        solution[pending] = u
        stepped = _descend(u, a - np.einsum("ikj,ij->ik", G, u), inverse)
        size = np.maximum(np.linalg.norm(u, axis=1), np.linalg.norm(a * inverse, axis=1))
        pending = pending[np.linalg.norm(u - stepped, axis=1) > tolerance[pending] * size]
    for i in pending:
        solution[i] = solve_nnls(product[i : i + 1], grams[i], tol)
    return solution


def _descend(u: Array, descent: Array, inverse: Array) -> Array:
    return np.asarray(np.maximum(u + descent * inverse, 0.0))


def _root_condition(grams: Array) -> Array:
    """The square root of the inverse condition numbers, by which tolerances are reduced."""
    if grams.shape[1] == 0:
        return np.zeros(len(grams))
    values = np.linalg.eigvalsh(grams)
    smallest, largest = np.maximum(values[:, 0], 0.0), values[:, -1]
    return np.sqrt(np.divide(smallest, largest, out=np.zeros_like(largest), where=largest > 0))
