"""`ComponentTree`: which component of a smaller rank each component of a path comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from autonmf._types import Array
from autonmf.metrics import unit_columns
from autonmf.path.result import PathPoint, RankPath, not_visited
from autonmf.solvers import HIGH_RANK


@dataclass(frozen=True, eq=False)
class ComponentTree:
    """The components of a path as a tree: what splits when one more component is allowed.

    The columns have an entry per component of every rank, by increasing rank. Between two ranks, each
    component of the smaller one is matched with one of the larger one such that the sum of the cosines
    between their loadings (rows of H) is largest; it is the parent of its match. Components without a match,
    one if no rank was skipped, have the parent with the largest cosine.

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> tree = rank_path(X, max_rank=4, random_state=0).tree()
    >>> tree.rank.tolist()
    [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]
    >>> tree.parent[tree.rank == 2].tolist()
    [0, 0]
    """

    rank: Array  # int
    component: Array  # int: its index at this rank
    parent: Array  # int: index of its parent at the next smaller rank of the tree; -1 at the smallest rank
    similarity: Array  # cosine between its loadings and those of its parent; NaN at the smallest rank
    energy: Array  # ‖U_j‖²‖V_j‖²
    weight: Array  # sum of its weights over the samples, with loadings that sum to one: the sum of U_j V_jᵀ
    branch: Array  # int: that of its parent if they were matched, otherwise a new one; 0 to k - 1 at rank k
    components: tuple[Array, ...]  # H of each rank, k x m

    @property
    def ranks(self) -> Array:
        """The distinct ranks, increasing."""
        return np.array([len(H) for H in self.components], dtype=int)

    def at_rank(self, rank: int) -> dict[str, Array]:
        """The columns for the components of one rank, by name."""
        if rank not in self.ranks:
            raise not_visited(rank, self.ranks.tolist())
        return {name: column[self.rank == rank] for name, column in self.table.items()}

    @property
    def table(self) -> dict[str, Array]:
        """All columns by name; ``pandas.DataFrame(tree.table)`` shows them."""
        names = ("rank", "component", "parent", "similarity", "energy", "weight", "branch")
        return {name: getattr(self, name) for name in names}

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the tree and return its display; ``options`` are those of `TreeDisplay.from_tree`."""
        from autonmf.plotting import TreeDisplay

        return TreeDisplay.from_tree(self, **options).plot(ax)

    def __str__(self) -> str:
        """Which component splits at each rank, and into which; components are numbered from 1."""
        lines = ["rank  component  becomes (similarity)"]
        for rank in self.ranks[1:]:
            here = self.at_rank(rank)
            parents, counts = np.unique(here["parent"], return_counts=True)
            for parent in parents[counts > 1]:
                children = np.flatnonzero(here["parent"] == parent)
                into = ", ".join(f"{child + 1} ({here['similarity'][child]:.2f})" for child in children)
                lines.append(f"{rank:4}  {parent + 1:9}  {into}")
        return "\n".join(lines)


def select_levels(path: RankPath, max_rank: int | None) -> list[PathPoint]:
    """The points of a path that its tree shows: up to a rank, by default the last that is iterated well."""
    bound = max(HIGH_RANK, int(path.ranks[0])) if max_rank is None else max_rank
    points = [point for point in path.points if point.rank <= bound]
    if not points:
        raise ValueError(f"max_rank={bound} is below the smallest rank of this path, {path.ranks[0]}")
    return points


def make_tree(points: Sequence[PathPoint]) -> ComponentTree:
    """The tree of points by increasing rank."""
    units = [unit_columns(point.V) for point in points]
    count = points[0].rank
    parents, similarities, branches = [np.full(count, -1)], [np.full(count, np.nan)], [np.arange(count)]
    for before, here in pairwise(units):
        cosines = np.minimum(before.T @ here, 1.0)
        matched, matches = linear_sum_assignment(cosines, maximize=True)
        parent, branch = np.argmax(cosines, axis=0), np.full(here.shape[1], -1)
        parent[matches] = matched
        branch[matches] = branches[-1][matched]
        branch[branch < 0] = np.arange(before.shape[1], here.shape[1])
        parents.append(parent)
        similarities.append(cosines[parent, np.arange(here.shape[1])])
        branches.append(branch)
    sums_U = np.asarray(np.concatenate([point.U.sum(axis=0, dtype=np.float64) for point in points]))
    sums_V = np.concatenate([point.V.sum(axis=0, dtype=np.float64) for point in points])
    squares = np.concatenate([np.square(point.V, dtype=np.float64).sum(axis=0) for point in points])
    return ComponentTree(
        rank=np.repeat([point.rank for point in points], [point.rank for point in points]),
        component=np.concatenate([np.arange(point.rank) for point in points]),
        parent=np.concatenate(parents),
        similarity=np.concatenate(similarities),
        energy=squares**2,  # balanced: ‖U_j‖ = ‖V_j‖
        weight=sums_U * sums_V,
        branch=np.concatenate(branches),
        components=tuple(point.V.T for point in points),
    )
