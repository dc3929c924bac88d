"""Parallel analysis (Horn, 1965): singular values against those of X with its columns permuted.

Permuting each column by itself keeps the distribution of every variable and destroys all that connects them.
A component is real if its singular value exceeds what such data reach by chance, at the same index.

J. L. Horn, A rationale and test for the number of factors in factor analysis, Psychometrika 30 (1965). With
permutations: A. Buja and N. Eyuboglu, Remarks on parallel analysis, Multivariate Behav. Research 27 (1992).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array, Seed
from autonmf.baselines.bounds import upper_bound
from autonmf.baselines.entries import permuted_columns
from autonmf.data import as_data
from autonmf.model.spectral import randomized_svd
from autonmf.selection import RankEstimate


def parallel_analysis(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    n_permutations: int = 20,
    quantile: float = 0.95,
) -> RankEstimate:
    """The number of leading singular values above those of column-wise permuted data.

    X is not centred: its first singular value is mostly the mean of X, which permuting keeps and NMF has to
    explain too. It always counts; those after it have to be above chance. A dominant component makes the
    permuted columns noisier and hides weak ones.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data. The variables that are permuted are its columns.
    max_rank : int, optional
        Singular values to look at. Default: min(⌈min(n, m)/2⌉, 50).
    random_state : int, generator or None
        Seed.
    n_permutations : int
        Permuted copies of X, made one at a time.
    quantile : float
        Of the permuted singular values, at each index, that is to be exceeded.

    Returns
    -------
    RankEstimate
        With the singular value, the quantile and the mean under permutation at each rank.

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
        raise ValueError(
            f"n_permutations >= 1 and 0 < quantile <= 1 are needed, got {n_permutations} and {quantile}"
        )
    count = upper_bound(data.shape, max_rank)
    shuffle, sketch = as_generator(random_state).spawn(2)
    with one_pool():
        values = randomized_svd(data, count, sketch)[1]
        by_chance = np.array(
            [randomized_svd(permuted_columns(data, shuffle), count, sketch)[1] for _ in range(n_permutations)]
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
        why=f"singular values up to number {rank} exceed the {quantile:.0%} quantile under permutation",
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
    """How many come before the first that is not above chance; the first of all, the mean, is given."""
    below = np.flatnonzero(~above[1:])
    return int(below[0]) + 1 if below.size else len(above)
