r"""The rank from singular values: optimal hard thresholding, and parallel analysis.

**Hard thresholding** (SVHT). For X = signal + noise with independent entries of standard deviation σ, keeping
the singular values above

.. math:: \lambda_*(\beta)\sqrt{n}\,\sigma, \qquad
    \lambda_*(\beta) = \sqrt{2(\beta+1) + \frac{8\beta}{(\beta+1)+\sqrt{\beta^2+14\beta+1}}},

with n the larger dimension and β ≤ 1 the ratio of the two, has the least asymptotic mean squared error. If σ
is unknown, the threshold is :math:`\omega(\beta)` times the median singular value, where
:math:`\omega = \lambda_*/\sqrt{\mu_\beta}` and :math:`\mu_\beta` is the median of the Marchenko-Pastur law:
for independent entries of variance 1/n the eigenvalues of :math:`X^\top X` have, in the limit, the density

.. math:: f(x) = \frac{\sqrt{(b-x)(x-a)}}{2\pi\beta x}, \qquad a, b = (1\mp\sqrt\beta)^2.

M. Gavish and D. L. Donoho, The optimal hard threshold for singular values is 4/√3, IEEE Trans. Inf. Theory 60
(2014).

**Parallel analysis** compares the singular values with those of X with its columns permuted. Permuting each
column by itself keeps the distribution of every variable and destroys all correlation. A component counts if
its singular value exceeds what permuted data reach by chance, at the same index.

J. L. Horn, A rationale and test for the number of factors in factor analysis, Psychometrika 30 (1965). With
permutations: A. Buja and N. Eyuboglu, Remarks on parallel analysis, Multivariate Behav. Research 27 (1992).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import brentq

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.data import Block, Data, Dense, Scaled, Sparse, wrap
from autonmf.distributed import as_data
from autonmf.model.initial import randomized_svd
from autonmf.path import PathOptions
from autonmf.selection import RankEstimate

NEAR = 0.05
"""Ranks are plausible if they differ only by singular values within this fraction of the threshold."""


def threshold_factor(beta: float) -> float:
    """λ*(β): the threshold in units of √n·σ."""
    return float(np.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1))))


def median_factor(beta: float) -> float:
    """ω(β) = λ*(β)/√μ_β: the threshold in units of the median singular value."""
    return threshold_factor(beta) / float(np.sqrt(marchenko_pastur_median(beta)))


def noise_level(values: Array, shape: tuple[int, int]) -> float:
    """σ from all singular values: their median is √(n μ_β)·σ if at most half of them carry signal."""
    n, m = max(shape), min(shape)
    return float(np.median(values) / np.sqrt(n * marchenko_pastur_median(m / n)))


def check_noise(noise: float | None) -> None:
    """Refuse a standard deviation that is negative or NaN."""
    if noise is not None and not noise >= 0:
        raise ValueError(f"noise must be a nonnegative standard deviation, got {noise}")


def svht(
    X: Any, *, noise: float | None = None, max_rank: int | None = None, random_state: Seed = None
) -> RankEstimate:
    """Choose the number of singular values above the optimal hard threshold of Gavish and Donoho.

    This estimates the linear rank. Nonnegative factors may need more components, and noise that is not
    independent (in spectra, in documents) adds singular values that do not belong to components.

    Parameters
    ----------
    X
        As in `bic`.
    noise : float, optional
        Standard deviation of the noise. None: estimated from the median singular value.
    max_rank, random_state
        Ignored; accepted so that all methods have the same signature. All singular values are computed and
        nothing is random.

    Returns
    -------
    RankEstimate
        Its evidence has ``singular_value``, ``threshold`` and ``kept`` for each index.

    Examples
    --------
    >>> from autonmf.baselines import svht
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> svht(X).rank
    3
    """
    data = as_data(X)
    check_noise(noise)
    values = singular_values(data)
    n, m = max(data.shape), min(data.shape)
    rounding = n * float(np.finfo(np.float64).eps) * float(values[0])
    warnings: list[str] = []
    if noise is not None:
        threshold = threshold_factor(m / n) * float(np.sqrt(n)) * noise
        source = f"for noise of standard deviation {noise:.3g}"
    else:
        threshold = median_factor(m / n) * float(np.median(values))
        source = f"{median_factor(m / n):.4g} times the median singular value"
        if np.median(values) <= rounding:
            warnings.append(
                "half of the singular values are zero, so there is no noise: this is the linear rank"
            )
    threshold = max(threshold, rounding)
    kept = values > threshold
    rank = max(1, int(kept.sum()))
    if not kept.any():
        warnings.append("no singular value is above the threshold: X looks like noise")
    least, most = (int((values > threshold * (1 + side * NEAR)).sum()) for side in (1, -1))
    return RankEstimate(
        rank=rank,
        rule="svht",
        why=f"{int(kept.sum())} singular values are above {threshold:.4g}, {source}",
        evidence={
            "rank": np.arange(1, m + 1),
            "singular_value": values,
            "threshold": np.full(m, threshold),
            "kept": kept,
        },
        plausible=tuple(range(max(1, least), max(rank, most) + 1)),
        warnings=tuple(warnings),
    )


def parallel_analysis(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    n_permutations: int = 20,
    quantile: float = 0.95,
) -> RankEstimate:
    """Choose the number of leading singular values above those of column-wise permuted data.

    X is not centred: the first singular value is mostly the mean of X, which permutation preserves and which
    NMF has to explain too. It always counts; the others must be above chance. A dominant component makes the
    permuted columns noisier and hides weak components.

    Parameters
    ----------
    X, random_state
        As in `bic`.
    max_rank : int, optional
        Number of singular values to compare. Default: min(⌈min(n, m)/2⌉, 50).
    n_permutations : int
        Number of permuted copies of X, made one at a time.
    quantile : float
        Quantile of the permuted singular values that has to be exceeded, at each index.

    Returns
    -------
    RankEstimate
        Its evidence has the singular value, the quantile and the mean under permutation at each rank.

    Examples
    --------
    >>> from autonmf.baselines import parallel_analysis
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> parallel_analysis(X, random_state=0).rank
    3
    """
    data = as_data(X)
    if n_permutations < 1 or not 0 < quantile <= 1:
        raise ValueError(f"need n_permutations >= 1 and 0 < quantile <= 1, got {n_permutations}, {quantile}")
    count = PathOptions(max_rank=max_rank).first_rank(data.shape)
    shuffle, sketch = as_generator(random_state).spawn(2)
    with one_pool():
        values = randomized_svd(data, count, sketch)[1]
        by_chance = np.array(
            [randomized_svd(permute_columns(data, shuffle), count, sketch)[1] for _ in range(n_permutations)]
        )
    limit = np.quantile(by_chance, quantile, axis=0)
    rank, low, high = (
        _leading(values > chance) for chance in (limit, by_chance.max(axis=0), by_chance.mean(axis=0))
    )
    warnings = []
    if rank == count > 1:
        warnings.append(f"all {count} singular values are above chance: raise max_rank")
    if rank == 1:
        warnings.append("no singular value beyond the first is above chance: the columns look independent")
    return RankEstimate(
        rank=rank,
        rule="parallel",
        why=f"the first {rank} singular values exceed the {quantile:.0%} quantile under permutation",
        evidence={
            "rank": np.arange(1, count + 1),
            "singular_value": values,
            "permuted_quantile": limit,
            "permuted_mean": by_chance.mean(axis=0),
        },
        plausible=tuple(range(min(low, rank), max(rank, high) + 1)),
        warnings=tuple(warnings),
    )


def _leading(above: Array) -> int:
    """The number of leading values above chance; the first, which is the mean of X, always counts."""
    below = np.flatnonzero(~above[1:])
    return int(below[0]) + 1 if below.size else len(above)


def marchenko_pastur_median(beta: float) -> float:
    r"""The median :math:`\mu_\beta` of the Marchenko-Pastur law, to about twelve digits.

    With :math:`x = 1+\beta-2\sqrt\beta\cos\theta` the density becomes
    :math:`\tfrac2\pi\sin^2\theta/x` on [0, π], without the roots at its ends; its integral is inverted by
    Brent's method.
    """
    if not 0 < beta <= 1:
        raise ValueError(f"beta must be in (0, 1], got {beta}")
    root = np.sqrt(beta)

    def point(theta: float) -> float:
        # (1 - √β)² + 4√β sin²(θ/2): the same, without cancellation near the lower end.
        return float((1.0 - root) ** 2 + 4.0 * root * np.sin(0.5 * theta) ** 2)

    def excess(theta: float) -> float:
        integral, _ = quad(
            lambda t: np.sin(t) ** 2 / point(t), 0.0, theta, epsabs=1e-13, epsrel=1e-12, limit=200
        )
        return float(2.0 / np.pi * integral - 0.5)

    return point(float(brentq(excess, 1e-12, np.pi, xtol=1e-14, rtol=1e-13)))


# X itself: all of its singular values, and copies with permuted columns

COLUMN_ENTRIES = 1 << 25
"""Entries of a block of columns (256 MB) of a matrix that is read by rows, completely for each block."""


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
    X = in_memory(data)
    shuffled = np.empty((n, m), dtype=X.dtype, order="F")
    for j in range(m):
        shuffled[rng.permutation(n), j] = X[:, j]
    return wrap(shuffled)


def in_storage_order(data: Data) -> Data:
    """X or its transpose, whichever is stored by rows."""
    return data.data if isinstance(data, Scaled) and data.scaling.transposed else data


def in_memory(data: Data) -> Array:
    """X as an array; a TypeError if it is not in memory."""
    if not isinstance(data, Dense):
        raise TypeError(
            "bi-cross-validation and parallel analysis need X in memory, but it is in a file or on a "
            "cluster: load it into memory, or choose another method"
        )
    return data.X
