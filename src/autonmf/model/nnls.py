r"""Nonnegative least squares with many right-hand sides, to a tolerance.

`solve_nnls` is for rows that share one matrix of normal equations G; `solve_nnls_each` for rows that have a
matrix of their own, as where entries are missing or weighted. Both descend column by column on all rows that
are not finished, and leave the few that are still open after 400 sweeps to SciPy's active-set method.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from autonmf import kernels
from autonmf._threads import each
from autonmf._types import Array
from autonmf.data.protocol import row_blocks

SWEEPS_PER_CHECK = 10
MAX_CHECKS = 40

BLOCK_ENTRIES = 1 << 16
"""Entries of a block of rows that are solved together: few enough to stay in the cache."""

NEGLIGIBLE = 1e-60
"""Components this much smaller than the largest get no weight: it would be a huge rounding error."""


def solve_nnls(product: Array, gram: Array, tol: float = 1e-6) -> Array:
    r"""Rows :math:`u_i = \arg\min_{u \ge 0} \tfrac12 u^\top G u - a_i^\top u`, from A = X C and G = CᵀC.

    The problem is solved for columns of C of norm one, so that low-energy components count alike. Column-wise
    descent (HALS) does nearly all rows in a few sweeps. A row is finished when its KKT residual
    ‖u - max(0, u - g/L)‖, relative to its size, is below ``tol``. Rows that are still open after 400 sweeps
    (nearly collinear components) are solved by SciPy's active-set method.
    """
    scales = inverse_norms(gram.diagonal())
    normalized = (gram * np.outer(scales, scales)).astype(gram.dtype)
    solution = np.empty(product.shape, dtype=product.dtype, order="F")

    def solve(rows: slice) -> None:
        scaled = np.asfortranarray(product[rows] * scales, dtype=product.dtype)
        solution[rows] = _solve_shared(scaled, normalized, tol) * scales

    each(solve, row_blocks(product.shape, BLOCK_ENTRIES))
    return solution


def inverse_norms(squares: Array) -> Array:
    """1 / √square, and zero for a component that is zero, or `NEGLIGIBLE` compared with the largest."""
    norms = np.sqrt(squares.astype(np.float64))
    seen = norms > NEGLIGIBLE * norms.max(axis=-1, keepdims=True, initial=0.0)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=seen)


def _solve_shared(product: Array, gram: Array, tol: float) -> Array:
    rows, rank = product.shape
    solution = np.zeros((rows, rank), dtype=product.dtype, order="F")
    if rank == 0 or not gram.any():
        return solution
    smallest, largest = (float(value) for value in np.linalg.eigvalsh(gram)[[0, -1]])
    # A step of length 1/L sees little of a direction of small curvature: the tolerance shrinks with it.
    tol = max(tol * np.sqrt(max(smallest / largest, 0.0)), 8 * float(np.finfo(product.dtype).eps))
    pending = np.arange(rows)
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
    """Exact rows from a square root of G: with G = MᵀM and Mᵀb = a, min ‖Mu - b‖ over u ≥ 0."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    roots = np.sqrt(values[kept])
    square_root = roots[:, None] * vectors[:, kept].T
    targets = (product.astype(np.float64) @ vectors[:, kept]) / roots
    return np.array([nnls(square_root, target)[0] for target in targets])


def solve_nnls_each(product: Array, grams: Array, tol: float = 1e-6) -> Array:
    r"""Rows :math:`u_i = \arg\min_{u \ge 0} \tfrac12 u^\top G_i u - a_i^\top u`, from A and G (n x r x r).

    As `solve_nnls`, whose rows share one G: column-wise descent on all open rows at once, and what is still
    open after 400 sweeps row by row.
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
    """Steps are short in directions of small curvature: tolerances are reduced by this factor."""
    if grams.shape[1] == 0:
        return np.zeros(len(grams))
    values = np.linalg.eigvalsh(grams)
    smallest, largest = np.maximum(values[:, 0], 0.0), values[:, -1]
    return np.sqrt(np.divide(smallest, largest, out=np.zeros_like(largest), where=largest > 0))
