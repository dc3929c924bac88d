r"""Fully constrained least squares: weights that are nonnegative and sum to one.

.. math:: a_i = \arg\min_{a \ge 0,\ 1^\top a = 1} \tfrac12 \|x_i - E^\top a\|^2

The nearest point to x in the convex hull of the rows of E, for many x at once. A primal active-set method:
rows of X with the same support share one least-squares solution on it, so that a pass over all rows takes a
product with a small matrix per support.
"""

from __future__ import annotations

import numpy as np

from autonmf._types import Array

MAX_WEIGHTS = 62
"""Supports are numbered by the bits of an integer."""

ROWS = 8192
"""Number of rows that are solved together, which limits the memory."""

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Gradients this small, relative to their terms, are rounding errors."""


def solve_fcls(X: Array, E: Array, start: Array | None = None) -> Array:
    """Weights A (n x r), nonnegative with rows that sum to one, that minimise ‖X - A E‖.

    A row moves from one feasible point to the next: to the least-squares solution on its support or, if that
    has negative weights, towards it until a weight becomes zero, which leaves the support. At a solution on
    the support, the weight with the most negative reduced gradient joins it; if there is none, the KKT
    conditions hold. The points of a support are affinely independent, because the reduced gradient of any
    other point in their affine hull is zero. If the solution is not unique, it is one with few weights.

    Parameters
    ----------
    X : array of shape (n, m)
    E : array of shape (r, m)
        At most `MAX_WEIGHTS` rows.
    start : array of shape (n, r), optional
        Weights to begin with, which must be feasible: a solution for a similar E.
    """
    E = np.asarray(E, dtype=np.float64)
    origin = E.mean(axis=0)  # with weights that sum to one, any point can be the origin
    basis = np.linalg.qr((E - origin).T)[0]
    P, A = (E - origin) @ basis, np.empty((len(X), len(E)))
    for first in range(0, len(X), ROWS):
        rows = slice(first, first + ROWS)
        Y = np.asarray(X[rows], dtype=np.float64) @ basis - origin @ basis
        A[rows] = _solve_rows(Y, P, _nearest(Y, P) if start is None else start[rows])
    return A


def _nearest(Y: Array, P: Array) -> Array:
    """All weight on the point of P that is nearest to each row."""
    nearest = np.argmin(np.square(P).sum(axis=1) / 2.0 - Y @ P.T, axis=1)
    return np.asarray(np.eye(len(P))[nearest])


def _solve_rows(Y: Array, P: Array, start: Array) -> Array:
    """The weights of points P for each row of Y."""
    A = np.array(start, dtype=np.float64)
    longest = float(np.sqrt(np.square(P).sum(axis=1).max()))
    smallest = ROUNDING * longest * (longest + np.linalg.norm(Y, axis=1))
    support, joined = A > 0, np.full(len(Y), -1)
    open_rows = np.arange(len(Y))
    for _ in range(10 * len(P) + 10):
        y, a, s = Y[open_rows], A[open_rows], support[open_rows]
        target = _solve_on_supports(y, P, s)
        down = s & (target < 0)
        steps = np.divide(a, a - target, out=np.full_like(a, np.inf), where=down)
        leaving = np.argmin(steps, axis=1)
        here = np.arange(len(a))
        step = np.minimum(steps[here, leaving], 1.0)[:, None]
        a = np.maximum(a + step * (target - a), 0.0)
        blocked = np.flatnonzero(down.any(axis=1))
        a[blocked, leaving[blocked]] = 0.0
        s[blocked, leaving[blocked]] = False
        gradient = (a @ P - y) @ P.T
        reduced = gradient - np.einsum("ij,ij->i", a, gradient)[:, None]
        reduced[s] = np.inf
        joining = np.argmin(reduced, axis=1)
        grows = reduced[here, joining] < -smallest[open_rows]
        grows[blocked] = False
        s[here[grows], joining[grows]] = True
        A[open_rows], support[open_rows] = a, s
        unfinished = grows.copy()
        # A weight that joined and would be negative at once: its gradient was a rounding error.
        unfinished[blocked] = leaving[blocked] != joined[open_rows[blocked]]
        joined[open_rows] = np.where(grows, joining, -1)
        open_rows = open_rows[unfinished]
        if open_rows.size == 0:
            break
    return np.asarray(A / A.sum(axis=1, keepdims=True))


def _solve_on_supports(Y: Array, P: Array, support: Array) -> Array:
    """The weights on the support of each row that sum to one and minimise its residual; may be negative."""
    weights = np.zeros(support.shape)
    codes = support @ (1 << np.arange(len(P)))
    _, first, group = np.unique(codes, return_index=True, return_inverse=True)
    sizes = support[first].sum(axis=1)
    for size in np.unique(sizes):
        same_size = np.flatnonzero(sizes == size)
        members = np.nonzero(support[first[same_size]])[1].reshape(-1, size)
        origins = P[members[:, 0]]
        inverses = _invert(P[members[:, 1:]] - origins[:, None])
        place = np.full(len(sizes), -1)
        place[same_size] = np.arange(len(same_size))
        rows = np.flatnonzero(place[group] >= 0)
        at = place[group[rows]]
        found = np.einsum("nd,ndk->nk", Y[rows] - origins[at], inverses[at])
        weights[rows[:, None], members[at, 1:]] = found
        weights[rows, members[at, 0]] = 1.0 - found.sum(axis=1)
    return weights


def _invert(D: Array) -> Array:
    """The pseudoinverses (d x k) of k x d matrices; rows that depend on those before them get weight zero."""
    Q, R = np.linalg.qr(np.swapaxes(D, 1, 2))
    diagonal = np.einsum("gkk->gk", R)
    largest = np.abs(diagonal).max(axis=1, keepdims=True, initial=np.finfo(np.float64).tiny)
    np.copyto(diagonal, largest / ROUNDING, where=np.abs(diagonal) <= ROUNDING * largest)
    return np.swapaxes(np.linalg.solve(R, np.swapaxes(Q, 1, 2)), 1, 2)
