r"""Noise that keeps X nonnegative and adds no component of its own: :math:`\mathbb E X = M`.

Gaussian noise clipped at zero has a positive mean wherever M is small. That mean is a component like any
other, and with few components (many zeros in M) or strong noise it is larger than the noise's own spectral
norm, so that "the true rank" is no longer r*. Only the paper's generator clips. The noises here have mean
zero given M.

`visibility`, :math:`\sigma_{r^*}(M)/\|X-M\|_2`, measures how far the weakest component is above the noise.
For noise of constant variance σ², a component leaves a trace in the singular values of X from
:math:`\sigma_{r^*} > \sigma(nm)^{1/4}` on, while the edge of the noise is :math:`\sigma(\sqrt n+\sqrt m)`:
for a square matrix that is a visibility of one half, less for others (Benaych-Georges and Nadakuditi, 2012).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import svdvals
from scipy.sparse.linalg import svds

from autonmf._types import Array
from autonmf.bench.order.family import Instance

Generator = np.random.Generator


def bounded(M: Array, sigma: float, rng: Generator) -> Array:
    """Uniform noise of standard deviation σ, narrower where M is small: never below zero, never biased."""
    noise: Array = np.minimum(M, np.sqrt(3.0) * sigma) * rng.uniform(-1.0, 1.0, M.shape)
    return M + noise


def speckle(M: Array, looks: float, rng: Generator) -> Array:
    """Gamma noise in proportion to M: relative standard deviation 1/√looks."""
    return M * rng.gamma(looks, 1.0 / looks, M.shape)


def overdispersed(M: Array, scale: float, rng: Generator) -> Array:
    """Gamma noise of mean M and variance scale · M: a continuous twin of counts."""
    return rng.gamma(np.maximum(M, 1e-12) / scale, scale)


def counts(M: Array, rng: Generator) -> Array:
    """Poisson counts of mean M."""
    return rng.poisson(M).astype(np.float64)


def weakest(U: Array, V: Array) -> float:
    """σ_r(U Vᵀ), the weakest of the r singular values."""
    R_U, R_V = np.linalg.qr(U)[1], np.linalg.qr(V)[1]
    return float(svdvals(R_U @ R_V.T)[-1])


def edge(variance: Array) -> float:
    """About the spectral norm of independent noise with these variances (one an entry)."""
    return float(np.sqrt(variance.sum(axis=1).max()) + np.sqrt(variance.sum(axis=0).max()))


def visibility(instance: Instance) -> float:
    """σ_r*(U Vᵀ) divided by the spectral norm of the noise X - U Vᵀ."""
    if instance.U is None or instance.V is None:
        return float("nan")
    noise = instance.X - instance.U @ instance.V.T
    largest = float(svds(noise, k=1, return_singular_vectors=False, random_state=0)[0])
    return weakest(instance.U, instance.V) / max(largest, 1e-300)
