"""Cross-validation: the rank that best predicts entries it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array, Seed
from autonmf.baselines.bicv import HiddenBlock, hidden_blocks
from autonmf.baselines.bounds import upper_bound
from autonmf.baselines.wold import MOST_FOLDS, EntryFolds, PartlySeen, masked_path
from autonmf.data import Data, as_data
from autonmf.data.rowwise import as_it_lies
from autonmf.path import PathOptions, explore
from autonmf.selection import RankEstimate

KINDS = ("wold", "bicv")

ITERATIONS = 20
"""At each rank of a bi-cross-validated path: all ranks are compared, so none is passed by in haste."""


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
    r"""The rank with the least error on entries that were hidden from the fit.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    kind : {"wold", "bicv"}
        "wold" hides single entries at random, in ``folds`` turns, and fits the others (Wold, 1978; see
        `autonmf.baselines.wold`). "bicv" hides a block of rows and columns where they cross and predicts it
        from the rest (Owen and Perry, 2009; see `autonmf.baselines.bicv`).
    folds : int or (h, l)
        Number of folds. For "bicv" a pair crosses h groups of rows with l groups of columns, hl fits; an int
        makes that many fits.
    ranks : sequence of int, optional
        Ranks to compare. Default: 1 to ``max_rank``.
    max_rank : int, optional
        Default: min(⌈min(n, m)/2⌉, 50). Not used if ``ranks`` are given.
    tol, max_iter : float, int
        Of the fits to the entries that are seen: steps are made until one lowers the loss by less than
        ``tol`` of itself. More iterations cost time and mostly make the superfluous ranks look worse. Not for
        "bicv", which fits its blocks by `rank_path`.
    random_state : int, generator or None
        Seed.

    Returns
    -------
    RankEstimate
        With the mean and the standard error of the error at each rank: Σ(X - UVᵀ)² over ΣX², both over
        the hidden entries. ``plausible`` are the ranks whose error is within one standard error of the least,
        of the difference between both over the same folds.

    Notes
    -----
    Each fold follows one path, from the largest rank down: a solution starts from the one before. On a path
    of partly seen entries the component that is dropped is the one of least energy over the entries *seen*.

    "bicv" makes 20 iterations at each rank. It is sensitive to that: iterated to the end, it overestimates on
    matrices where it is right as it is (``docs/baselines.md``); ``folds=(2, 2)`` is less so.

    Prediction is not the same as a number of sources: on real data every weak, smooth or non-Gaussian
    structure that repeats itself is predictable, and the answer is often much larger than what people count.

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
    wanted = _wanted_ranks(data.shape, ranks, max_rank)
    rng = as_generator(random_state)
    with one_pool():
        if kind == "wold":
            errors = list(_wold_errors(data, folds, wanted, rng, tol, max_iter))  # type: ignore[arg-type]
        else:
            errors = list(_bicv_errors(data, folds, wanted, rng))
    return _least(_Errors(wanted, np.array(errors)), f"cv-{kind}")


def _wold_errors(
    data: Data, folds: int, ranks: Array, rng: np.random.Generator, tol: float, max_iter: int
) -> Iterator[list[float]]:
    data = as_it_lies(data)
    dealt = EntryFolds(data.shape, folds, int(rng.integers(2**32)))
    for fold, start in enumerate(rng.spawn(folds)):
        seen = PartlySeen(data.rows, dealt, fold).scaled()
        path = masked_path(seen, int(ranks[-1]), int(ranks[0]), start, tol=tol, max_iter=max_iter)
        found = {U.shape[1]: seen.error(U, V) for U, V in path if U.shape[1] in ranks}
        yield [found[rank] for rank in ranks]


def _bicv_errors(
    data: Data, folds: int | tuple[int, int], ranks: Array, rng: np.random.Generator
) -> Iterator[list[float]]:
    for rows, columns in hidden_blocks(data.shape, folds, rng):
        hidden = HiddenBlock.of(data, rows, columns)
        if hidden.D.squared_norm() == 0.0:
            raise ValueError(
                "every entry that is not hidden is zero: there is nothing to fit; use fewer folds"
            )
        last = min(int(ranks[-1]), *hidden.D.shape)
        options = PathOptions(
            max_rank=last,
            min_rank=min(int(ranks[0]), last),
            budget=lambda rank: ITERATIONS,
            random_state=rng.spawn(1)[0],
        )
        points = {point.rank: point for point in explore(hidden.D, options).path.points}
        yield [hidden.error(points[rank]) if rank in points else np.nan for rank in ranks]


@dataclass(frozen=True)
class _Errors:
    ranks: Array
    by_fold: Array  # folds x ranks; NaN where a fold has no such rank

    @property
    def mean(self) -> Array:
        return np.asarray(self.by_fold.mean(axis=0))

    def standard_error(self, values: Array) -> Array:
        folds = len(values)
        if folds == 1:
            return np.zeros(values.shape[1])
        exponent = np.frexp(np.nanmax(np.abs(values)))[1]  # squares of huge errors would overflow
        deviation = np.ldexp(values, -exponent).std(axis=0, ddof=1)
        return np.asarray(np.ldexp(deviation, exponent) / np.sqrt(folds))


def _least(errors: _Errors, rule: str) -> RankEstimate:
    """The rank of least mean error, and those that the folds cannot tell from it."""
    mean = errors.mean
    best = int(np.nanargmin(mean))
    beyond = errors.by_fold - errors.by_fold[:, [best]]
    close = beyond.mean(axis=0) <= errors.standard_error(beyond)
    ranks = errors.ranks
    warnings = []
    if best == len(ranks) - 1 and len(ranks) > 1:
        warnings.append(f"the error still falls at the largest rank, {ranks[-1]}: raise max_rank")
    if np.isnan(mean).any():
        lost = ", ".join(str(rank) for rank in ranks[np.isnan(mean)])
        warnings.append(f"left out ranks {lost}, which some fold has no solution of")
    return RankEstimate(
        rank=int(ranks[best]),
        rule=rule,
        why=f"rank {ranks[best]} predicts hidden entries best: it misses {mean[best]:.3g} of their energy",
        evidence={
            "rank": ranks,
            "error": mean,
            "standard_error": errors.standard_error(errors.by_fold),
        },
        plausible=tuple(int(rank) for rank in ranks[close]),
        warnings=tuple(warnings),
    )


def _wanted_ranks(shape: tuple[int, int], ranks: Sequence[int] | None, max_rank: int | None) -> Array:
    if ranks is None:
        return np.arange(1, upper_bound(shape, max_rank) + 1)
    wanted = np.unique(np.asarray(ranks, dtype=int))
    if wanted.size == 0 or wanted[0] < 1 or wanted[-1] > min(shape):
        raise ValueError(f"ranks must be between 1 and min(X.shape)={min(shape)}, got {list(ranks)}")
    return wanted


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
