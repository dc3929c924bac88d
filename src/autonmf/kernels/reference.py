"""The kernels in NumPy: the definition that every other implementation is tested against.

Steps work on one *block*, a factor B (n x r, Fortran-ordered), given ``product`` = X C and
``gram`` = CᵀC of the other factor C. The same call updates U (C = V) and V (C = U, X transposed).
Products are those of a sparse X.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array

SWEEPS_BEFORE_NEWTON, RIDGE, KEPT, ROUNDING = 3, 1e-10, 0.1, 1e-14
"""Newton's step of a row: after so many sweeps, with what is added to its curvature, the fraction of a weight
that it keeps at least, and the change of the loss, as a fraction of the fit, that says nothing."""


def forward_step(block: Array, product: Array, gram: Array, mu: float, gamma: float) -> tuple[Array, Array]:
    """Projected gradient step of F_μ on one block, and the squared norms of its columns.

    Returns ``Z = max(0, B - (B·CᵀC - X·C + μB)/γ)`` and ``‖Z_j‖²`` (the paper's P̂, Q̂ or Z_U,
    before hard thresholding).
    """
    forward = (gram @ block.T).T
    forward -= product
    forward /= -gamma
    forward += (1.0 - mu / gamma) * block
    np.maximum(forward, 0.0, out=forward)
    return forward, np.einsum("ij,ij->j", forward, forward)


def hals_sweeps(block: Array, product: Array, gram: Array, mu: float, sweeps: int) -> None:
    """Minimise ½‖X - B Cᵀ‖² + μ/2‖B‖² over each column of B ≥ 0 in turn, in place.

    One column: ``B_j = max(0, (XC_j - Σ_{l≠j} B_l (CᵀC)_lj) / ((CᵀC)_jj + μ))``. A column whose
    partner is zero and has μ = 0 has no minimiser and becomes zero.
    """
    for _ in range(sweeps):
        for j in range(block.shape[1]):
            curvature = gram[j, j] + mu
            column = block[:, j]
            if curvature <= 0.0:
                column[:] = 0.0
                continue
            step = product[:, j] - block @ gram[:, j]
            step += gram[j, j] * column
            step /= curvature
            np.maximum(step, 0.0, out=column)


def whole_vectors(rank: int, dtype: np.dtype[np.floating]) -> int:
    """How many columns F and ``out`` of the sparse products need for a given rank."""
    return rank


def csr_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """Add rows of X·F to ``out``, for a CSR matrix X and C-ordered F and out."""
    out[rows] += X[rows] @ factor


def csr_transposed_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """Add X_rowsᵀ·F_rows to ``out``, for a CSR matrix X and C-ordered F and out."""
    out += X[rows].T @ factor[rows]


TINY = {np.dtype(np.float64): 1e-200, np.dtype(np.float32): 1e-30}
"""No fit is smaller than this."""

FLOOR = {np.dtype(np.float64): 1e-20, np.dtype(np.float32): 1e-12}
"""No step leads to a smaller weight: a fit that is zero where X is not could never grow."""

SMALL = {dtype: 1e3 * floor for dtype, floor in FLOOR.items()}
"""Weights up to this are left alone unless they have to grow."""


def kl_sweeps(
    X: Any,
    other: Array,
    sums: Array,
    block: Array,
    sweeps: int,
    tol: float = 0.0,
    ratio: Array | None = None,
    first: int = 0,
) -> float:
    r"""Coordinate descent on the Kullback-Leibler loss over each column of B in turn, in place.

    Columns before ``first`` stay as they are.

    The loss of a row x with the fit :math:`\lambda = \sum_k w_k h_k` is
    :math:`\sum_j x_j\log(x_j/\lambda_j) - x_j + \sum_k w_k s_k`, with the sums s of the other factor's
    columns, which may differ by row (n x r). With :math:`g = \sum_j x_j h_j/\lambda_j` and
    :math:`q = \sum_j x_j h_j^2/\lambda_j^2` a weight becomes

    .. math:: w + \frac gq\Bigl(\frac gs-1\Bigr) \text{ if } g > s, \qquad
        \frac{w^2 q}{wq + s - g} \text{ if } g < s,

    and neither step raises the loss (docs/counts.md). Each sweep begins with the weights that are not small.
    The first one, and every one where ``tol`` is to be met, then goes on to the small ones with g > s, which
    alone will grow. Sweeps over a row end when one moves less than ``tol`` of its fit; from the third on
    Newton's step on all its weights follows each where it lowers the loss, since coordinate descent is slow
    where components are nearly multiples of each other. Rows without entries get weights of zero, apart from
    those that stay.

    Returns
    -------
    float
        Σ x log(x/λ) - x after the sweeps; with ``sweeps=0`` that of the given weights. ``ratio``, an array of
        the shape of X or of its stored entries, gets x/λ.
    """
    dtype = block.dtype
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    sums = np.broadcast_to(np.asarray(sums, dtype=np.float64), block.shape)
    fit = np.maximum(block @ other.T, TINY[dtype])
    moving = np.ones(len(block), dtype=bool)
    for sweep in range(sweeps):
        moved, size = np.zeros(len(block)), np.zeros(len(block))
        for large in (True, False) if sweep == 0 or tol > 0 else (True,):
            small = block <= SMALL[dtype]
            growing = ~small if large else small & (sums > 0) & ((dense / fit) @ other > sums)
            for k in first + np.flatnonzero(growing[:, first:].any(axis=0)):
                part = other[:, k] / fit
                g = np.sum(dense * part, axis=1, dtype=np.float64)
                q = np.sum(dense * part * part, axis=1, dtype=np.float64)
                w, s = block[:, k].astype(np.float64), sums[:, k]
                with np.errstate(divide="ignore", invalid="ignore"):
                    grown, shrunk = w + g / q * (g / s - 1.0), w * w * q / (w * q + s - g)
                new = np.where((s > 0) & (g > s), grown, np.where((s > 0) & (g < s), shrunk, w))
                new = np.maximum(new, FLOOR[dtype]).astype(dtype)
                here = moving & growing[:, k]
                change = np.where(here, new - block[:, k], 0).astype(dtype)
                block[:, k] += change
                least = np.outer(block[:, k], other[:, k]) + TINY[dtype]
                fit = np.where(here[:, None], np.maximum(fit + np.outer(change, other[:, k]), least), fit)
                moved += np.where(here, s * np.abs(change), 0.0)
                size += np.where(here, s * block[:, k], 0.0)
        moving &= moved >= tol * size
        if not moving.any():
            break
        if tol > 0 and SWEEPS_BEFORE_NEWTON <= sweep + 1 < sweeps:
            for i in np.flatnonzero(moving & dense.any(axis=1)):
                _newton_step(dense[i], other, sums[i], block[i], fit[i], first)
    if sweeps:
        block[~dense.any(axis=1), first:] = 0.0
    quotient = dense / fit
    if ratio is not None:
        rows, columns = (
            (slice(None),) * 2
            if dense is X
            else (np.repeat(np.arange(len(fit)), np.diff(X.indptr)), X.indices)
        )
        ratio[:] = quotient[rows, columns]
    positive = dense > 0
    return float(np.sum(dense[positive] * (np.log(quotient[positive]) - 1.0), dtype=np.float64))


def _newton_step(x: Array, other: Array, s: Array, weights: Array, fit: Array, first: int) -> None:
    """Newton's step on the weights of a row that are not small, if it or a tenth lowers the loss, in place.

    No weight loses more than nine tenths: those that would lose exactly that, and the others make the best of
    it.
    """
    free = first + np.flatnonzero(weights[first:] > SMALL[weights.dtype])
    if not len(free):
        return
    columns, old = other[:, free].astype(np.float64), weights[free].astype(np.float64)
    gradient = columns.T @ (x / fit) - s[free]
    there = fit > TINY[weights.dtype]  # a component has mass
    curvature = (columns.T * np.where(there, x, 0.0) / np.where(there, fit, 1.0) ** 2) @ columns
    if not curvature.any():
        return
    curvature[np.diag_indices_from(curvature)] += RIDGE * curvature.diagonal().max()
    least = (KEPT - 1.0) * old
    step, bound = least.copy(), np.zeros(len(free), dtype=bool)
    while not bound.all():
        rest = gradient - curvature[:, bound] @ least[bound]
        step[~bound] = np.linalg.solve(curvature[np.ix_(~bound, ~bound)], rest[~bound])
        if not np.any(beyond := step < least):
            break
        step[beyond], bound = least[beyond], bound | beyond
    for length in (1.0, 0.1):
        trial = weights.copy()
        trial[free] = old + length * step
        after = np.maximum(other @ trial, TINY[weights.dtype])
        rise = float(s[free] @ (trial[free] - old)) - float(np.sum(x * np.log(after / fit)))
        if rise <= ROUNDING * float(s[free] @ old):
            weights[:], fit[:] = trial, after
            return


def pad_rows(factor: Array, *, sparse: bool = False) -> Array:
    """The other factor as `kl_sweeps` needs it, with zeros that fill whole vectors.

    Its columns are contiguous for a dense X, its rows for a sparse one.
    """
    return factor


def kl_pairs(profiles: Array, sizes: Array) -> Array:
    r"""How far the columns p of a factor are from their mixtures, for every pair (j, k).

    :math:`\sum_i (p_{ij}-p_{ik})^2 / (\pi p_{ij} + (1-\pi) p_{ik})` with
    :math:`\pi = s_j/(s_j+s_k)`, where s are the sizes; zero on the diagonal.
    """
    rank = profiles.shape[1]
    distances = np.zeros((rank, rank))
    for j in range(rank):
        for k in range(j + 1, rank):
            p, q, part = profiles[:, j], profiles[:, k], sizes[j] / (sizes[j] + sizes[k])
            mixture = part * p + (1.0 - part) * q + TINY[profiles.dtype]
            distances[j, k] = distances[k, j] = np.sum((p - q) ** 2 / mixture, dtype=np.float64)
    return distances
