r"""Weights of entries as the product of scales of rows and columns and of remaining weights.

.. math:: w_{ij} = \alpha_i\,\beta_j\,\omega_{ij}, \qquad 0 \le \omega \le 1.

Scales cost nothing: the loss with weights αβ is the ordinary loss of X with scaled rows and columns. Only ω
needs the completion of `autonmf.data.masked`, which converges faster the closer ω is to one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array

ROUNDS = 3
"""Rounds over rows and columns; one is enough if w is a product of the two."""


class Weighting(NamedTuple):
    """w = α β ω."""

    alpha: Array  # n, positive
    beta: Array  # m, positive
    omega: Array | None = None  # n x m; None: one everywhere


def split_weights(weights: Array) -> Weighting:
    """α and β with the smallest range such that ω = w / (αβ) is one somewhere in each row and column."""
    alpha, beta = np.ones(weights.shape[0]), np.ones(weights.shape[1])
    for _ in range(ROUNDS):
        alpha = _one_where_zero((weights / beta).max(axis=1))
        beta = _one_where_zero((weights / alpha[:, None]).max(axis=0))
    omega = np.minimum(weights / np.outer(alpha, beta), 1.0)
    return Weighting(alpha, beta, None if np.all(omega >= 1.0 - 1e-12) else omega)


def check_weights(weights: Any, shape: tuple[int, int]) -> Array:
    """Weights of the entries of X as an array; a ValueError says what is wrong with them."""
    return _check_numbers("weights", weights, shape)


def check_sample_weight(sample_weight: Any, n: int) -> Array:
    """Weights of the rows of X as an array; one number is taken for all."""
    sample_weight = np.asarray(sample_weight)
    if sample_weight.ndim == 0:
        sample_weight = np.full(n, sample_weight)
    return _check_numbers("sample_weight", sample_weight, (n,))


def _check_numbers(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {type(values).__name__}") from None
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, as X has, got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{name} must be finite and nonnegative; a weight of zero leaves an entry out")
    if not array.any():
        raise ValueError(f"{name} are all zero: there is nothing to factorise")
    return array


def _one_where_zero(values: Array) -> Array:
    return np.where(values > 0, values, 1.0)
