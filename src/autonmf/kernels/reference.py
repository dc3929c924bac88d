"""The kernels in NumPy: the definition that every other implementation is tested against.

Steps work on one *block*, a factor B (n x r, Fortran-ordered), given ``product`` = X C and
``gram`` = CᵀC of the other factor C. The same call updates U (C = V) and V (C = U, X transposed).
Products are those of a sparse X.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array


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
    """How many columns F and out of the sparse products must have to hold ``rank`` ones."""
    return rank


def csr_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """Add rows of X·F to ``out``, for a CSR matrix X and C-ordered F and out."""
    out[rows] += X[rows] @ factor


def csr_transposed_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """Add X_rowsᵀ·F_rows to ``out``, for a CSR matrix X and C-ordered F and out."""
    out += X[rows].T @ factor[rows]
