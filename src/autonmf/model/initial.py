"""Initial factors, and the singular vectors that some of them need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Block, Compressed, Data, is_tall, lead_tall, unscale
from autonmf.data.factors import map_rows, norm, persist, scale_columns
from autonmf.data.masked import count_columns, count_rows

OVERSAMPLE, PASSES = 10, 4
"""Columns beyond the rank, and rounds of products with X and Xᵀ, of a randomised SVD."""

INITIALS = ("random", "nndsvd", "nndsvda")

MOST_STEPS, SLOW_STEPS = 500, 3
"""Of the iteration for the leading singular pair: at most, and without progress before it ends."""


def draw_factors(data: Data, rank: int, init: str, rng: np.random.Generator) -> tuple[Any, Array]:
    """Draw (U⁰, V⁰) with ``rank`` columns by the method ``init``, up to a common scale.

    Random entries are uniform and drawn component by component. Blocks of rows are drawn where they are
    stored: each advances the generator to its own part of the stream.
    """
    if init in ("nndsvd", "nndsvda"):
        return _nndsvd(data, rank, rng, fill=init == "nndsvda")
    if init != "random":
        raise ValueError(f"unknown init {init!r}; choose one of {', '.join(INITIALS)}, or pass (U, V)")
    n, m = data.shape
    source = rng.bit_generator
    if not isinstance(source, np.random.PCG64 | np.random.PCG64DXSM):  # others cannot be advanced
        source = np.random.PCG64(int(rng.integers(2**63)))
        rng = np.random.Generator(source)
    rows = unscale(data) if unscale(data).shape == (n, m) else data  # scales are not needed
    U, _ = rows.map_blocks(_draw_rows, None, source.state, n, rank, data.dtype)
    source.advance(rank * n)
    return U, rng.random((rank, m)).T.astype(data.dtype)


def check_factors(data: Data, init: tuple[Any, Any]) -> tuple[Array, Array]:
    """Check and copy the factors given by a caller."""
    n, m = data.shape
    try:
        U, V = (np.array(factor, dtype=data.dtype, order="F") for factor in init)
    except (TypeError, ValueError):
        raise ValueError("init must be a name or a pair (U, V) of numeric arrays") from None
    if U.ndim != 2 or V.ndim != 2 or U.shape[0] != n or V.shape[0] != m or U.shape[1] != V.shape[1]:
        raise ValueError(f"init=(U, V) must have shapes ({n}, r) and ({m}, r), got {U.shape} and {V.shape}")
    for name, factor in (("U", U), ("V", V)):
        if not np.isfinite(factor).all() or (factor < 0).any():
            raise ValueError(f"init: {name} must be finite and nonnegative")
    if not (U.any(axis=0) & V.any(axis=0)).any():
        raise ValueError("init: every component is zero; at least one must be nonzero")
    return U, V


def _draw_rows(block: Block, _: None, state: Any, n: int, rank: int, dtype: Any) -> tuple[Array, None]:
    start, stop = block.rows.start, block.rows.stop
    drawn = np.empty((stop - start, rank), dtype=dtype, order="F")
    source = getattr(np.random, state["bit_generator"])()
    for j in range(rank):
        source.state = state
        source.advance(j * n + start)
        drawn[:, j] = np.random.Generator(source).random(stop - start)
    return drawn, None


def _nndsvd(data: Data, rank: int, rng: np.random.Generator, fill: bool) -> tuple[Array, Array]:
    """NNDSVD (Boutsidis and Gallopoulos, 2008): the larger nonnegative half of each singular pair.

    Exact zeros stay zero in multiplicative steps and slow down others; ``fill`` (NNDSVDa) replaces them by
    a value derived from the mean of X.
    """
    n, m = data.shape
    P, sigma, Q = randomized_svd(data, rank, rng)
    U, V = np.zeros((n, rank), data.dtype, order="F"), np.zeros((m, rank), data.dtype, order="F")
    for j in range(len(sigma)):
        halves = [(np.maximum(s * P[:, j], 0), np.maximum(s * Q[:, j], 0)) for s in (1.0, -1.0)]
        sizes = [np.linalg.norm(u) * np.linalg.norm(v) for u, v in halves]
        u, v = halves[int(np.argmax(sizes))]
        if max(sizes) > 0:
            U[:, j] = np.sqrt(sigma[j] * max(sizes)) * u / np.linalg.norm(u)
            V[:, j] = np.sqrt(sigma[j] * max(sizes)) * v / np.linalg.norm(v)
    if fill:
        mean = float(data.right(np.ones((m, 1), data.dtype)).sum(dtype=np.float64)) / (n * m)
        U[U == 0] = V[V == 0] = np.sqrt(mean / rank) * 0.1
    return U, V


def randomized_svd(data: Data, rank: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Approximate leading singular triplets (P, σ, Q) of X, with X ≈ P diag(σ) Qᵀ.

    Randomised subspace iteration (Halko, Martinsson and Tropp, 2011) with four rounds of products with X and
    Xᵀ, orthonormalised after each.
    """
    n, m = data.shape
    width = min(rank + OVERSAMPLE, n, m)
    basis = rng.standard_normal((m, width)).astype(data.dtype)
    for _ in range(PASSES):
        basis = np.linalg.qr(data.right(basis))[0]
        basis = np.linalg.qr(data.left(basis))[0]
    left, values, right = np.linalg.svd(data.right(basis), full_matrices=False)
    rank = min(rank, width)
    return left[:, :rank], values[:rank], (basis @ right.T)[:, :rank]


def leading_triplet(data: Data, start: Array | None = None) -> tuple[Any, float, Array]:
    """(u, σ₁, v) of X, by conjugate gradients on XᵀX from the row sums of X, or from a given column.

    Each step takes the best vector in the plane of the last one, its residual and the last direction (LOBPCG;
    Knyazev, 2001). X is nonnegative, so its leading singular vectors are nonnegative (Perron and Frobenius)
    and the initial vector is never orthogonal to them. With missing entries, the rank-one fit of the known
    ones.
    """
    n, _ = data.shape
    if not data.complete:
        return _fit_known_entries(data)
    if isinstance(data, Compressed):
        v = data.R @ np.linalg.eigh(data.R.T @ data.R)[1][:, -1:]
        return _triplet_at(data, np.abs(v))
    if start is None and is_tall(data):  # to all digits at once
        return _triplet_at(data, np.abs(lead_tall(data, 1).R))
    v = data.left(np.ones((n, 1), dtype=data.dtype, order="F")) if start is None else start
    v = v.astype(np.float64)
    v /= np.linalg.norm(v)
    exponent = math.frexp(norm(data.right(_as_column(v, data))))[1]  # XᵀX may be out of range

    def apply(x: Array) -> Array:
        u = scale_columns(data.right(_as_column(x, data)), math.ldexp(1.0, -exponent))
        return np.asarray(data.left(u), dtype=np.float64)

    basis, images = v, apply(v)
    rounding, slow, previous = float(np.finfo(data.dtype).eps), 0, 0.0
    for _ in range(MOST_STEPS):
        square = float(np.vdot(basis[:, 0], images[:, 0]))
        residual = images[:, :1] - square * basis[:, :1]
        size = float(np.linalg.norm(residual))
        slow = slow + 1 if square - previous <= 0.1 * rounding * square else 0
        if size <= max(1e-9, 4.0 * rounding) * square or slow == SLOW_STEPS:
            break
        previous = square
        for _ in range(2):  # to all digits
            residual = residual - basis @ (basis.T @ residual)
        beyond = float(np.linalg.norm(residual))
        if beyond <= 1e-6 * size:  # there is nothing else
            break
        residual = residual / beyond
        basis, images = np.hstack([basis, residual]), np.hstack([images, apply(residual)])
        basis, images = _improve(basis, images)
    return _triplet_at(data, basis[:, :1] if basis[:, 0].sum() >= 0 else -basis[:, :1])


def _triplet_at(data: Data, v: Array) -> tuple[Any, float, Array]:
    """(u, σ₁, v) from v up to its length and rounding errors."""
    v = _clip(_as_column(v, data))
    v /= np.linalg.norm(v)
    u = data.right(v)
    sigma = norm(u)
    u = scale_columns(u, np.asarray(1.0 / sigma, dtype=data.dtype))
    return persist(map_rows(_clip, u)), sigma, v


def _as_column(x: Array, data: Data) -> Array:
    return np.asfortranarray(x, dtype=data.dtype)


def _improve(basis: Array, images: Array) -> tuple[Array, Array]:
    """The best vector in an orthonormal basis, the direction to it from the first one, and their images."""
    inner = basis.T @ images
    best = np.linalg.eigh(0.5 * (inner + inner.T))[1][:, -1:]
    along = best - np.eye(len(best))[:, :1] * best[0]
    along -= best * (best.T @ along)
    size = np.linalg.norm(along)
    pair = np.hstack([best, along / size]) if size > 0 else best
    return basis @ pair, images @ pair


def _clip(u: Array) -> Array:
    return np.maximum(u, 0.0)


def explained_norm(data: Data, u: Array, sigma: float, v: Array) -> float:
    """The square root of the part of ‖X‖² that σuvᵀ explains: σ₁ for the leading triplet of a complete X."""
    if data.complete:
        return sigma
    return float(np.sqrt(max(data.squared_norm() - data.squared_residual(sigma * u, v), 0.0)))


def _fit_known_entries(data: Data) -> tuple[Array, float, Array]:
    """The rank-one fit of the known entries of X, by alternating least squares."""
    tolerance = max(1e-9, 4 * float(np.finfo(data.dtype).eps))
    v = data.left(np.ones((data.shape[0], 1), dtype=data.dtype, order="F"))
    sigma = 0.0
    for _ in range(1000):
        v /= np.linalg.norm(v)
        u = _divide(data.right(v), count_rows(data, v * v))
        v = _divide(data.left(u), count_columns(data, u * u))
        previous, sigma = sigma, float(np.linalg.norm(u) * np.linalg.norm(v))
        if abs(sigma - previous) <= tolerance * sigma:
            break
    return u / np.linalg.norm(u), sigma, v / np.linalg.norm(v)


def _divide(product: Array, count: Array) -> Array:
    """``product / count``, zero where ``count`` is zero; Fortran-ordered."""
    return np.divide(product, count, out=np.zeros_like(product, order="F"), where=count > 0)
