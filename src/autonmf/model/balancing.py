"""Scale balancing with co-sparsity (Algorithm 2, step 2)."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array


def balancing_scales(norms_U: Array, norms_V: Array) -> Array:
    """S_jj = √(‖V_j‖/‖U_j‖), and 0 where either column is zero.

    U·S and V·S⁻¹ have equal column norms and the same product; a component that is zero in one factor
    becomes zero in both.
    """
    alive = (norms_U > 0) & (norms_V > 0)
    ratio = np.divide(norms_V, norms_U, out=np.zeros_like(norms_V), where=alive)
    return np.asarray(np.sqrt(ratio))


def inverse_scales(scales: Array) -> Array:
    """S⁻¹ with 0⁻¹ = 0, the scales of the other factor."""
    return np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0)


def balance(U: Array, V: Array) -> tuple[Array, Array]:
    """Equalise the norms of paired columns; U Vᵀ does not change."""
    scales = balancing_scales(np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0))
    return U * scales, V * inverse_scales(scales)
