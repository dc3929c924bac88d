"""The paper's generator (Section VI-E)."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array, Seed, as_generator


def make_low_rank(
    n: int, m: int, rank: int, noise: float = 0.1, *, random_state: Seed = None
) -> tuple[Array, Array, Array]:
    r"""A noisy matrix of known nonnegative rank.

    :math:`X = \max(0, U V^\top + \sigma E)` with :math:`U, V = \max(0, \mathcal N(0,1))` (half their
    entries are zero) and E standard normal.

    Parameters
    ----------
    n, m : int
        Shape of X.
    rank : int
        Number of components r*.
    noise : float
        σ. The clipping at zero gives the noise a positive mean where U Vᵀ is small, which at high σ
        is an additional component.
    random_state : int, generator or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n, m)
    U : ndarray of shape (n, rank)
    V : ndarray of shape (m, rank)

    Examples
    --------
    >>> from autonmf.datasets import make_low_rank
    >>> X, U, V = make_low_rank(100, 40, rank=3, random_state=0)
    >>> X.shape, bool((X >= 0).all())
    ((100, 40), True)
    """
    if min(n, m, rank) < 1:
        raise ValueError(f"n, m and rank must be at least 1, got {n}, {m} and {rank}")
    if not noise >= 0:
        raise ValueError(f"noise must be nonnegative, got {noise}")
    rng = as_generator(random_state)
    U = np.maximum(rng.standard_normal((n, rank)), 0.0)
    V = np.maximum(rng.standard_normal((m, rank)), 0.0)
    X = U @ V.T
    if noise > 0:
        X += noise * rng.standard_normal((n, m))
        np.maximum(X, 0.0, out=X)
    return X, U, V
