"""What the methods share: the largest rank, and X with entries rearranged or cut out.

This is the one module here that knows how X is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Block, Data, Dense, Scaled, Sparse, wrap
from autonmf.data.protocol import RowBlocks, as_array
from autonmf.path import PathOptions

COLUMN_ENTRIES = 1 << 25
"""Entries of a block of columns (256 MB) of a matrix that is read by rows, completely for each block."""


def upper_bound(shape: tuple[int, int], max_rank: int | None) -> int:
    """``max_rank`` checked as `rank_path` checks it; by default min(⌈min(n, m)/2⌉, 50)."""
    return PathOptions(max_rank=max_rank).first_rank(shape)


def check_ranks(ranks: Iterable[int], shape: tuple[int, int]) -> list[int]:
    """The ranks, increasing, if X can have all of them."""
    wanted = sorted({int(rank) for rank in ranks})
    if not wanted or wanted[0] < 1 or wanted[-1] > min(shape):
        raise ValueError(f"ranks must be between 1 and min(X.shape)={min(shape)}, got {wanted}")
    return wanted


def in_storage_order(data: Data) -> Data:
    """X or its transpose, whichever can be read by rows."""
    return data.data if isinstance(data, Scaled) and data.scaling.transposed else data


def read_rows(data: Data, rows: slice) -> Array:
    """A few rows of X, as an ordinary array."""
    if isinstance(data, RowBlocks):
        return as_array(data.read(rows))
    start, stop, _ = rows.indices(data.shape[0])
    return np.asarray(data.map_blocks(_pick_rows, None, start, stop)[0])


def _pick_rows(block: Block, _: None, start: int, stop: int) -> tuple[Array, None]:
    """The rows from ``start`` to ``stop`` that a block has."""
    first, last = block.rows.start, block.rows.stop
    return block.dense()[max(start - first, 0) : max(min(stop, last) - first, 0)], None


def submatrix(data: Data, rows: Array, columns: Array) -> Dense | Sparse:
    """The given rows and columns of X, stored like X."""
    if isinstance(data, Sparse):
        return wrap(data.X.tocsr()[rows][:, columns])
    return wrap(_dense(data)[np.ix_(rows, columns)])


def permute_columns(data: Data, rng: np.random.Generator) -> Data:
    """X with the entries of each column permuted independently.

    The permutations are the same for sparse and dense X.
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

    They are the square roots of the eigenvalues of the smaller Gram matrix, summed over blocks, which is
    accurate to σ₁·√ε. If half of them are not well above that (data without noise), the blocks are reduced by
    QR factorisations instead, which is accurate to σ₁·ε.
    """
    data = in_storage_order(data)
    if data.shape[0] < data.shape[1] and isinstance(data, Dense | Sparse):
        data = data.T
    with one_pool():
        by_rows = data.shape[0] >= data.shape[1]
        gram = (
            data.map_blocks(_multiply_block, None)[1]
            if by_rows
            else sum(columns @ columns.T for columns in _columns(data))
        )
        squares = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
        if np.median(squares) > 1e-10 * squares[0]:
            return np.asarray(np.sqrt(squares))
        reduced = data.map_blocks(_reduce_block, None)[0] if by_rows else _reduce_columns(data)
        return np.asarray(np.linalg.svd(reduced, compute_uv=False))


def _multiply_block(block: Block, _: None) -> tuple[None, Array]:
    X = block.dense().astype(np.float64, copy=False)
    return None, X.T @ X


def _reduce_block(block: Block, _: None) -> tuple[Array, None]:
    X = block.dense().astype(np.float64, copy=False)
    return (X if X.shape[0] <= X.shape[1] else np.linalg.qr(X).R), None


def _columns(data: Data) -> Iterator[Array]:
    """The columns of X in blocks; all of X is read for each of them."""
    n, m = data.shape
    width = max(COLUMN_ENTRIES // n, 1)
    for start in range(0, m, width):
        stop = min(start + width, m)
        selection = np.zeros((m, stop - start), dtype=data.dtype, order="F")
        selection[np.arange(start, stop), np.arange(stop - start)] = 1.0
        yield np.asarray(data.right(selection), dtype=np.float64)


def _reduce_columns(data: Data) -> Array:
    triangle = np.zeros((0, data.shape[0]))
    for columns in _columns(data):
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, columns.T])).R)
    return triangle


def _dense(data: Data) -> Array:
    if not isinstance(data, Dense):
        raise TypeError(
            "bi-cross-validation and parallel analysis need X in memory, but it is in a file or on a "
            "cluster: load it into memory, or choose another method"
        )
    return data.X
