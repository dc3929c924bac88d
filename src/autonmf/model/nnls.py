"""Nonnegative least squares with many right-hand sides, to a tolerance."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from autonmf import kernels
from autonmf._types import Array

SWEEPS_PER_CHECK = 10
MAX_CHECKS = 40

NEGLIGIBLE = 1e-60
"""Components of so much less size than the largest: rounding errors would be their weights, and huge ones."""


def solve_nnls(product: Array, gram: Array, tol: float = 1e-6) -> Array:
    r"""Rows :math:`u_i = \arg\min_{u \ge 0} \tfrac12 u^\top G u - a_i^\top u`, from A = X C and G = CᵀC.

    Components count alike, faint or bright: the problem is solved for columns of C of norm one. Column-wise
    descent (HALS) does nearly all rows in a few sweeps. A row is finished when its KKT residual
    ‖u - max(0, u - g/L)‖, relative to its size, is below ``tol``. Rows that are still open after 400 sweeps
    (nearly collinear components) are solved by SciPy's active-set method.
    """
    scales = inverse_norms(gram.diagonal())
    even = (gram * np.outer(scales, scales)).astype(gram.dtype)
    solution = _solved(np.asfortranarray(product * scales, dtype=product.dtype), even, tol)
    solution *= scales
    return solution


def inverse_norms(squares: Array) -> Array:
    """1 / √square, and zero for a component that is not seen, or `NEGLIGIBLE` beside the largest."""
    norms = np.sqrt(squares.astype(np.float64))
    seen = norms > NEGLIGIBLE * norms.max(axis=-1, keepdims=True, initial=0.0)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=seen)


def _solved(product: Array, gram: Array, tol: float) -> Array:
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
        solution[pending] = _by_active_set(product[pending], gram)
    return solution


def _by_active_set(product: Array, gram: Array) -> Array:
    """Exact rows from a square root of G: with G = MᵀM and Mᵀb = a, min ‖Mu - b‖ over u ≥ 0."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    roots = np.sqrt(values[kept])
    square_root = roots[:, None] * vectors[:, kept].T
    targets = (product.astype(np.float64) @ vectors[:, kept]) / roots
    return np.array([nnls(square_root, target)[0] for target in targets])
