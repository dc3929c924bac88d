"""Leading singular vectors of X through its two products."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.blocks import row_blocks


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


def explained_norm(data: Data, u: Array, sigma: float, v: Array) -> float:
    """The root of what σuvᵀ explains of ‖X‖²: σ₁ if X is complete and they are its leading triplet."""
    if data.complete:
        return sigma
    return float(np.sqrt(max(data.squared_norm() - data.squared_residual(sigma * u, v), 0.0)))


def leading_triplet(data: Data) -> tuple[Array, float, Array]:
    """(u, σ₁, v) of X, by power iteration on XᵀX from the row sums of X.

    X is nonnegative, so its leading singular vectors are nonnegative (Perron and Frobenius) and the
    start is never orthogonal to them. With missing entries: the pair of rank one that fits the known ones.
    """
    n, _ = data.shape
    if not data.complete:
        return _known_triplet(data)
    v = data.left(np.ones((n, 1), dtype=data.dtype, order="F"))
    sigma = 0.0
    for _ in range(1000):
        v /= np.linalg.norm(v)
        u = data.right(v)
        previous, sigma = sigma, float(np.linalg.norm(u))
        if abs(sigma - previous) <= 4 * np.finfo(data.dtype).eps * sigma:
            break
        v = data.left(np.ldexp(u, -np.frexp(sigma)[1]))  # a power of two: XᵀX may be out of range
    return np.maximum(u / sigma, 0.0), sigma, np.maximum(v / np.linalg.norm(v), 0.0)


def _known_triplet(data: Data) -> tuple[Array, float, Array]:
    """The pair of rank one that fits what is known of X: least squares for u and v in turns."""
    counts = _Counts(data)
    tolerance = max(1e-9, 4 * float(np.finfo(data.dtype).eps))
    v = data.left(np.ones((data.shape[0], 1), dtype=data.dtype, order="F"))
    sigma = 0.0
    for _ in range(1000):
        v /= np.linalg.norm(v)
        u = _quotient(data.right(v), counts.right(v * v))
        v = _quotient(data.left(u), counts.left(u * u))
        previous, sigma = sigma, float(np.linalg.norm(u) * np.linalg.norm(v))
        if abs(sigma - previous) <= tolerance * sigma:
            break
    return u / np.linalg.norm(u), sigma, v / np.linalg.norm(v)


class _Counts:
    """Products with the weights ω of X."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.blocks = list(row_blocks(data.shape))

    def right(self, v: Array) -> Array:
        return np.concatenate([self.data.omega(b) @ v for b in self.blocks])

    def left(self, u: Array) -> Array:
        return np.asarray(sum(self.data.omega(b).T @ u[b] for b in self.blocks))


def _quotient(product: Array, count: Array) -> Array:
    """Their quotient, and zero where nothing counts; Fortran-ordered."""
    return np.divide(product, count, out=np.zeros_like(product, order="F"), where=count > 0)
