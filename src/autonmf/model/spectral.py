"""Leading singular vectors of X through its two products."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.data import Data


def randomized_svd(
    data: Data, rank: int, rng: np.random.Generator, *, oversample: int = 10, passes: int = 4
) -> tuple[Array, Array, Array]:
    """Approximate leading singular triplets (P, σ, Q) of X, with X ≈ P diag(σ) Qᵀ.

    Randomised subspace iteration (Halko, Martinsson and Tropp, 2011) with ``passes`` rounds of
    products with X and Xᵀ, orthonormalised after each.
    """
    n, m = data.shape
    width = min(rank + oversample, n, m)
    basis = rng.standard_normal((m, width)).astype(data.dtype)
    for _ in range(passes):
        basis = np.linalg.qr(data.right(basis))[0]
        basis = np.linalg.qr(data.left(basis))[0]
    left, values, right = np.linalg.svd(data.right(basis), full_matrices=False)
    rank = min(rank, width)
    return left[:, :rank], values[:rank], (basis @ right.T)[:, :rank]


def spectral_norm(data: Data) -> float:
    """σ₁(X)."""
    return leading_triplet(data)[1]


def leading_triplet(data: Data) -> tuple[Array, float, Array]:
    """(u, σ₁, v) of X, by power iteration on XᵀX from the row sums of X.

    X is nonnegative, so its leading singular vectors are nonnegative (Perron and Frobenius) and the
    start is never orthogonal to them.
    """
    n, _ = data.shape
    v = data.left(np.ones((n, 1), dtype=data.dtype, order="F"))
    sigma = 0.0
    for _ in range(1000):
        v /= np.linalg.norm(v)
        u = data.right(v)
        previous, sigma = sigma, float(np.linalg.norm(u))
        if abs(sigma - previous) <= 4 * np.finfo(data.dtype).eps * sigma:
            break
        v = data.left(u)
    return np.maximum(u / sigma, 0.0), sigma, np.maximum(v / np.linalg.norm(v), 0.0)
