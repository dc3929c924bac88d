r"""Cross-validation: the rank that best predicts entries held out from the fit.

Wold's scheme holds out single entries (`autonmf.baselines.wold`). Bi-cross-validation (Owen and Perry, 2009)
holds out a block and predicts it from the rest. With rows and columns ordered so that the held-out block A is
first,

.. math:: X = \begin{pmatrix} A & B \\ C & D \end{pmatrix}, \qquad
    D \approx U_D V_D^\top, \quad
    U_A = \arg\min_{U\ge0}\|B-UV_D^\top\|, \quad V_A = \arg\min_{V\ge0}\|C-U_DV^\top\|, \quad
    \hat A = U_A V_A^\top.

Neither :math:`U_A` nor :math:`V_A` depends on A, so the error grows again when components fit the noise of D.

A. B. Owen and P. O. Perry, Bi-cross-validation of the SVD and the nonnegative matrix factorization, Annals of
Applied Statistics 3 (2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.baselines.common import check_ranks, in_storage_order, read_rows, submatrix, upper_bound
from autonmf.baselines.wold import MOST_FOLDS, EntryFolds, TrainingData, masked_path
from autonmf.data import Data, Dense, OpenedData, Sparse
from autonmf.distributed import as_data
from autonmf.losses import FROBENIUS
from autonmf.path import PathOptions, PathPoint, search
from autonmf.selection import RankEstimate

KINDS = ("wold", "bicv")

ITERATIONS = 20
"""Iterations at each rank of a bi-cross-validated path; high ranks get as many, since all are compared."""


def cross_validate(
    X: Any,
    *,
    kind: Literal["wold", "bicv"] = "wold",
    folds: int | tuple[int, int] = 5,
    ranks: Sequence[int] | None = None,
    max_rank: int | None = None,
    tol: float = 1e-3,
    max_iter: int = 30,
    random_state: Seed = None,
) -> RankEstimate:
    r"""The rank with the lowest error on entries held out from the fit.

    Parameters
    ----------
    X, random_state
        As in `bic`.
    kind : {"wold", "bicv"}
        "wold" holds out random entries, one fold at a time, and fits the others (Wold, 1978; see
        `autonmf.baselines.wold`). "bicv" holds out a block, the intersection of some rows and columns, and
        predicts it from the rest (Owen and Perry, 2009).
    folds : int or (h, l)
        Number of folds. For "bicv" a pair crosses h groups of rows with l groups of columns, hl fits; an int
        makes that many fits.
    ranks : sequence of int, optional
        Ranks to compare. Default: 1 to ``max_rank``.
    max_rank : int, optional
        Default: min(⌈min(n, m)/2⌉, 50). Not used if ``ranks`` are given.
    tol, max_iter : float, int
        Stopping criterion of the fits to the remaining entries: a relative decrease of the loss below
        ``tol``. More iterations cost time and mostly raise the error of ranks that are too large. Not used
        by "bicv", which fits its blocks with `rank_path`.

    Returns
    -------
    RankEstimate
        Its evidence has the mean error at each rank, Σ(X - UVᵀ)² / ΣX² over the held-out entries, and its
        standard error. ``plausible`` are the ranks whose error exceeds the lowest by at most one standard
        error of the difference over the folds.

    Notes
    -----
    Each fold has one warm-started path from the largest rank down. With "wold" the component that is dropped
    is the one with the lowest energy over the entries that are *not* held out.

    "bicv" makes 20 iterations at each rank and is sensitive to that: iterated to convergence it overestimates
    the rank of matrices on which it is right with 20 (``docs/baselines.md``); ``folds=(2, 2)`` is less
    sensitive.

    Predictability is not the number of sources: on real data any weak, smooth or non-Gaussian structure that
    repeats can be predicted, and the answer is often much larger than the number of sources.

    Examples
    --------
    >>> from autonmf.baselines import cross_validate
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> cross_validate(X, max_rank=6, random_state=0).rank
    3
    """
    data = as_data(X)
    _check(kind, folds, data.shape)
    if ranks is None:
        ranks = range(1, upper_bound(data.shape, max_rank) + 1)
    wanted = np.array(check_ranks(ranks, data.shape))
    rng = as_generator(random_state)
    with one_pool():
        if kind == "wold":
            errors = list(_wold_errors(data, folds, wanted, rng, tol, max_iter))  # type: ignore[arg-type]
        else:
            errors = list(_bicv_errors(data, folds, wanted, rng))
    return _choose_rank(wanted, np.array(errors), f"cv-{kind}")


def _wold_errors(
    data: Data, folds: int, ranks: Array, rng: np.random.Generator, tol: float, max_iter: int
) -> Iterator[list[float]]:
    data = in_storage_order(data)
    dealt = EntryFolds(data.shape, folds, int(rng.integers(2**32)))
    for fold, start in enumerate(rng.spawn(folds)):
        training = TrainingData(partial(read_rows, data), dealt, fold).scaled()
        path = masked_path(training, int(ranks[-1]), int(ranks[0]), start, tol=tol, max_iter=max_iter)
        found = {U.shape[1]: training.error(U, V) for U, V in path if U.shape[1] in ranks}
        yield [found[rank] for rank in ranks]


def _bicv_errors(
    data: Data, folds: int | tuple[int, int], ranks: Array, rng: np.random.Generator
) -> Iterator[list[float]]:
    for held_out in held_out_blocks(data.shape, folds, rng):
        rows, columns = ((np.flatnonzero(mask), np.flatnonzero(~mask)) for mask in held_out)
        A, B, C, D = (submatrix(data, some, others) for some in rows for others in columns)
        if D.squared_norm() == 0.0:
            raise ValueError("all entries that are not held out are zero: use fewer folds")
        last = min(int(ranks[-1]), *D.shape)
        options = PathOptions(
            max_rank=last,
            min_rank=min(int(ranks[0]), last),
            budget=lambda rank: ITERATIONS,
            random_state=rng.spawn(1)[0],
        )
        points = {point.rank: point for point in search(OpenedData(D), options).path.points}
        yield [_block_error(A, B, C, points[rank]) if rank in points else np.nan for rank in ranks]


def _standard_error(values: Array) -> Array:
    """The standard error of the mean over the folds (rows)."""
    folds = len(values)
    exponent = np.frexp(np.nanmax(np.abs(values)))[1]  # squares of huge errors would overflow
    deviation = np.ldexp(values, -exponent).std(axis=0, ddof=1)
    return np.asarray(np.ldexp(deviation, exponent) / np.sqrt(folds))


def _choose_rank(ranks: Array, by_fold: Array, rule: str) -> RankEstimate:
    """The rank of lowest mean error; errors are folds x ranks, NaN where a fold has no such rank."""
    mean = by_fold.mean(axis=0)
    best = int(np.nanargmin(mean))
    beyond = by_fold - by_fold[:, [best]]
    close = beyond.mean(axis=0) <= _standard_error(beyond)
    warnings = []
    if best == len(ranks) - 1 and len(ranks) > 1:
        warnings.append(f"the error still decreases at the largest rank, {ranks[-1]}: raise max_rank")
    if np.isnan(mean).any():
        lost = ", ".join(str(rank) for rank in ranks[np.isnan(mean)])
        warnings.append(f"ranks {lost} are left out: some folds have no solution there")
    return RankEstimate(
        rank=int(ranks[best]),
        rule=rule,
        why=f"rank {ranks[best]} predicts held-out entries best, with a relative error of {mean[best]:.3g}",
        evidence={"rank": ranks, "error": mean, "standard_error": _standard_error(by_fold)},
        plausible=tuple(int(rank) for rank in ranks[close]),
        warnings=tuple(warnings),
    )


def _check(kind: str, folds: int | tuple[int, int], shape: tuple[int, int]) -> None:
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    if kind == "wold":
        if not isinstance(folds, int) or not 2 <= folds <= MOST_FOLDS:
            raise ValueError(f"folds must be an int from 2 to {MOST_FOLDS}, got {folds!r}")
        return
    pair = (folds, folds) if isinstance(folds, int) else tuple(folds)
    if len(pair) != 2 or not all(2 <= k <= size for k, size in zip(pair, shape, strict=True)):
        raise ValueError(f"folds must be at least 2 and at most the shape {shape} of X, got {folds!r}")


def _block_error(A: Data, B: Data, C: Dense | Sparse, point: PathPoint) -> float:
    """‖A - Â‖² / ‖A‖² of the block that is held out, for factors of D."""
    energy = A.squared_norm()
    if energy == 0.0:
        return 0.0
    U_A = FROBENIUS.project(B, point.V.astype(B.dtype, copy=False)).W
    V_A = FROBENIUS.project(C.T, point.U.astype(C.dtype, copy=False)).W
    return A.squared_residual(U_A, V_A) / energy


def held_out_blocks(
    shape: tuple[int, int], folds: int | tuple[int, int], rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Rows and columns to hold out, as boolean masks.

    ``(h, l)`` divides the rows into h groups and the columns into l, and combines every group of rows with
    every group of columns. An int k makes k groups of each and combines the i-th with the i-th: k fits
    instead of k², with each row and column held out once.
    """
    h, l = (folds, folds) if isinstance(folds, int) else folds
    row_group, column_group = (
        rng.permutation(np.arange(size) % k) for size, k in zip(shape, (h, l), strict=True)
    )
    pairs = [(i, i) for i in range(h)] if isinstance(folds, int) else list(np.ndindex(h, l))
    for i, j in pairs:
        yield row_group == i, column_group == j
