"""Initial points: random, NNDSVD, or the caller's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.spread import by_columns, random_rows
from autonmf.model.balancing import balance
from autonmf.model.objective import gram
from autonmf.model.spectral import randomized_svd

INITIALS = ("random", "nndsvd", "nndsvda")


def initial_point(
    data: Data, rank: int, init: str | tuple[Any, Any], rng: np.random.Generator
) -> tuple[Array, Array]:
    """(U⁰, V⁰) with ``rank`` columns, balanced and of the scale of X."""
    if isinstance(init, str):
        if init == "random":
            U, V = _random(data, rank, rng)
        elif init in ("nndsvd", "nndsvda"):
            U, V = _nndsvd(data, rank, rng, fill=init == "nndsvda")
        else:
            raise ValueError(f"unknown init {init!r}; choose one of {', '.join(INITIALS)}, or pass (U, V)")
        return _fitted_scale(data, U, V)
    return _given(data, init)


def _random(data: Data, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Uniform entries, drawn component by component."""
    _, m = data.shape
    U, V = random_rows(data, rank, rng), rng.random((rank, m)).T
    return U.astype(data.dtype), V.astype(data.dtype)


def _nndsvd(data: Data, rank: int, rng: np.random.Generator, fill: bool) -> tuple[Array, Array]:
    """NNDSVD (Boutsidis and Gallopoulos, 2008): the larger nonnegative half of each singular pair.

    Exact zeros never move in multiplicative steps and slow others down; ``fill`` (NNDSVDa) replaces
    them by the mean of X, in the units of the factors.
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


def _fitted_scale(data: Data, U: Array, V: Array) -> tuple[Array, Array]:
    """Balance, after scaling U Vᵀ to its least-squares fit c = ⟨X, UVᵀ⟩/‖UVᵀ‖²."""
    fitted = float(np.sum(gram(U) * gram(V), dtype=np.float64))
    if fitted > 0:
        factor = float(np.sum(U * data.right(V), dtype=np.float64)) / fitted
        U = U * np.asarray(factor, dtype=U.dtype)
    return _ordered(*balance(U, V))


def _given(data: Data, init: tuple[Any, Any]) -> tuple[Array, Array]:
    """A caller's factors, checked and copied; never modified."""
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
        raise ValueError("init: every component is zero; nothing would ever leave this point")
    return U, V


def _ordered(U: Array, V: Array) -> tuple[Array, Array]:
    return by_columns(U), by_columns(V)
