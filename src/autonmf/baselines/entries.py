"""The entries of X for methods that hide, permute or cut them; solvers need two products only.

This is the one module here that knows how X is stored.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data, Dense, Sparse, wrap
from autonmf.data.blocks import row_blocks
from autonmf.data.rowwise import Turned

READ_AGAIN = 1 << 25
"""Entries of a block of a matrix that is read across its lines, all of it for each: 256 MB."""


def submatrix(data: Data, rows: Array, columns: Array) -> Data:
    """X restricted to some rows and columns, stored as X is."""
    if isinstance(data, Sparse):
        return wrap(data.X.tocsr()[rows][:, columns])
    return wrap(_dense(data)[np.ix_(rows, columns)])


def permuted_columns(data: Data, rng: np.random.Generator) -> Data:
    """X with the entries of each column in a random order, each column in its own.

    The same permutations are drawn for sparse and dense X, so that both give the same matrix.
    """
    n, m = data.shape
    if isinstance(data, Sparse):
        by_columns = data.X.tocsc()
        moved = np.empty_like(by_columns.indices)
        for j in range(m):
            stored = slice(by_columns.indptr[j], by_columns.indptr[j + 1])
            moved[stored] = rng.permutation(n)[by_columns.indices[stored]]
        return wrap(sparse.csc_matrix((by_columns.data, moved, by_columns.indptr), shape=(n, m)))
    X = _dense(data)
    shuffled = np.empty((n, m), dtype=X.dtype, order="F")
    for j in range(m):
        shuffled[rng.permutation(n), j] = X[:, j]
    return wrap(shuffled)


def singular_values(data: Data) -> Array:
    """All min(n, m) singular values of X, decreasing, in double precision.

    They are the roots of the eigenvalues of the smaller Gram matrix, which is summed over blocks of rows.
    That is exact to σ₁·√ε; where the smaller half is not far above it (data without noise), the blocks are
    reduced by QR factorisations instead, which is exact to σ₁·ε.
    """
    tall = data if data.shape[0] >= data.shape[1] else data.T
    m = tall.shape[1]
    entries = READ_AGAIN if isinstance(tall, Turned) else 1 << 20
    blocks = list(row_blocks(tall.shape, max(entries, m * m)))
    with one_pool():
        gram = np.zeros((m, m))
        for block in blocks:
            X_b = tall.rows(block).astype(np.float64, copy=False)
            gram += X_b.T @ X_b
        squares = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
        if np.median(squares) > 1e-10 * squares[0]:
            return np.asarray(np.sqrt(squares))
        triangle = np.zeros((0, m))
        for block in blocks:
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, tall.rows(block)])).R)
        return np.asarray(np.linalg.svd(triangle, compute_uv=False))


def _dense(data: Data) -> Array:
    if not isinstance(data, Dense):
        raise TypeError(
            "bi-cross-validation and parallel analysis rearrange the entries of X, but this one is in a file "
            "or on a cluster: load it into memory, or choose another method"
        )
    return data.X
