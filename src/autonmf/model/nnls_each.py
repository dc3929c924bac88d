"""Nonnegative least squares where every row has normal equations of its own."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.model.nnls import MAX_CHECKS, SWEEPS_PER_CHECK, inverse_norms, solve_nnls


def solve_nnls_each(product: Array, grams: Array, tol: float = 1e-6) -> Array:
    r"""Rows :math:`u_i = \arg\min_{u \ge 0} \tfrac12 u^\top G_i u - a_i^\top u`, from A and G (n x r x r).

    As `solve_nnls`, whose rows share one G: column-wise descent on all open rows at once, and what is still
    open after 400 sweeps row by row.
    """
    scales = inverse_norms(np.einsum("ikk->ik", grams))
    return _solved(product * scales, grams * scales[:, :, None] * scales[:, None, :], tol) * scales


def _solved(product: Array, grams: Array, tol: float) -> Array:
    rows, rank = product.shape
    solution = np.zeros((rows, rank))
    tolerance = np.maximum(tol * _conditioning(grams), 8 * float(np.finfo(np.float64).eps))
    pending = np.flatnonzero(product.any(axis=1)) if rank else np.arange(0)
    for _ in range(MAX_CHECKS):
        if pending.size == 0:
            return solution
        u, a, G = solution[pending], product[pending], grams[pending]
        inverse = _inverse(np.einsum("ikk->ik", G))
        for _ in range(SWEEPS_PER_CHECK):
            for k in range(rank):
                u[:, k] = _step(u[:, k], a[:, k] - np.einsum("ij,ij->i", G[:, k], u), inverse[:, k])
        solution[pending] = u
        stepped = _step(u, a - np.einsum("ikj,ij->ik", G, u), inverse)
        size = np.maximum(np.linalg.norm(u, axis=1), np.linalg.norm(a * inverse, axis=1))
        pending = pending[np.linalg.norm(u - stepped, axis=1) > tolerance[pending] * size]
    for i in pending:
        solution[i] = solve_nnls(product[i : i + 1], grams[i], tol)
    return solution


def _step(u: Array, descent: Array, inverse: Array) -> Array:
    return np.asarray(np.maximum(u + descent * inverse, 0.0))


def _inverse(curvature: Array) -> Array:
    """1 / curvature, and zero where a component is not seen at all."""
    return np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 0)


def _conditioning(grams: Array) -> Array:
    """A short step sees little of a direction of small curvature: tolerances shrink with it."""
    if grams.shape[1] == 0:
        return np.zeros(len(grams))
    values = np.linalg.eigvalsh(grams)
    smallest, largest = np.maximum(values[:, 0], 0.0), values[:, -1]
    return np.sqrt(np.divide(smallest, largest, out=np.zeros_like(largest), where=largest > 0))
