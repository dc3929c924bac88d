"""The distance of an estimated factor from the true one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from autonmf._types import Array


def recovery_error(W_true: ArrayLike, W: ArrayLike) -> float:
    r"""The paper's recovery error (Section VI-E), invariant to the scale and order of components.

    .. math:: \mathrm{RE}(W^*, W) = \|\bar W^* - \bar W\Pi^*\|_F + \|\bar W_{:,\mathcal M^c}\|_F,

    with columns of unit norm (zero columns stay zero), Π* the best partial permutation (Hungarian
    algorithm) and 𝓜 the matched columns of W. A missing component adds its unit norm to the first
    term, a superfluous one to the second.

    Parameters
    ----------
    W_true : array of shape (n, r*)
        The true factor.
    W : array of shape (n, r)
        The estimated factor, of any rank.

    Returns
    -------
    float
        0 for a perfect match.

    Examples
    --------
    >>> import numpy as np
    >>> recovery_error(np.eye(3), 5 * np.eye(3)[:, [2, 0, 1]])
    0.0
    """
    truth, estimate = unit_columns(W_true), unit_columns(W)
    if truth.shape[0] != estimate.shape[0]:
        raise ValueError(
            f"both factors need the same number of rows, got {truth.shape[0]} and {estimate.shape[0]}"
        )
    # A pair costs ‖a - b‖², and an unmatched true column ‖a‖².
    squares_true, squares = (np.einsum("ij,ij->j", F, F) for F in (truth, estimate))
    inner = truth.T @ estimate
    pairs = squares_true[:, None] + squares[None, :] - 2.0 * inner
    rows, columns = linear_sum_assignment(pairs - squares_true[:, None])
    aligned = np.zeros_like(truth)
    aligned[:, rows] = estimate[:, columns]
    unmatched = np.delete(estimate, columns, axis=1)
    return float(np.linalg.norm(truth - aligned) + np.linalg.norm(unmatched))


def unit_columns(W: ArrayLike) -> Array:
    """The columns scaled to unit norm; zero columns stay zero."""
    array = np.array(W, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"a factor must be a matrix, got {array.ndim} dimension(s)")
    largest = np.abs(array).max(axis=0, initial=0.0)
    array /= np.where(largest > 0, largest, 1.0)  # first, so that no square overflows or vanishes
    norms = np.linalg.norm(array, axis=0)
    array /= np.where(norms > 0, norms, 1.0)
    return array
