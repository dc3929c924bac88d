"""`RankPath`: the result of a path search, rank by rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data.noise import WhitenedSpectrum

if TYPE_CHECKING:
    from autonmf.path.tree import ComponentTree


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The best solution found at one rank: X ≈ U Vᵀ."""

    U: Array  # n x rank, balanced with V, components by decreasing ‖U_j‖‖V_j‖ after the known ones
    V: Array  # m x rank
    loss: float  # for example ½‖X - UVᵀ‖²
    lam: float  # the λ at which the path reached it
    n_iter: int  # iterations spent at that λ
    on_X: bool = True  # False: the loss is that of a compression of X

    @property
    def rank(self) -> int:
        return int(self.U.shape[1])


class Visit(NamedTuple):
    """One λ at which the path stopped."""

    start: int  # which initial point
    lam: float
    rank: int
    loss: float
    n_iter: int
    seconds: float  # since the path began
    reason: str  # why the iteration ended
    next_lam: float  # smallest λ that would drop a component: the end of the plateau


@dataclass(frozen=True, eq=False)
class Evidence:
    """The input of the default rule: the path of the equilibrated X, called Y, and the noise of X.

    Losses and squares are fractions of ‖Y‖². With the Kullback-Leibler loss the path is that of X, losses are
    fractions of that of rank one, and Y is X divided by the roots of the sums of its rows and columns.
    """

    shape: tuple[int, int]
    ranks: Array  # visited, increasing
    losses: Array  # ‖Y - UVᵀ‖² at each of them
    spectrum: Array  # σ₁², σ₂², ... of Y; a few more than the largest rank
    whitened: WhitenedSpectrum  # of X with noise of unit variance
    complete: bool = True  # False if the path was interrupted
    all_known: bool = True  # False if entries are missing or weighted
    n_known: int = 0  # known components: the spectrum is what they explain, then σ² of Y beyond them
    known_drops: Array = field(default_factory=partial(np.zeros, 0))  # drops of the known components in Y


def format_intervals(ranks: Sequence[int]) -> str:
    """Ranks as intervals.

    >>> format_intervals([1, 2, 4, 5, 6, 9])
    '1, 2, 4 to 6 and 9'
    """
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and rank == parts[-1][-1] + 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    words: list[str] = []
    for part in parts:
        words += [f"{part[0]} to {part[-1]}"] if len(part) > 2 else map(str, part)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def not_visited(rank: Any, ranks: list[int]) -> ValueError:
    """The error for a rank that is not on a path."""
    return ValueError(f"rank {rank!r} is not on this path; it visited {format_intervals(ranks)}")


@dataclass(frozen=True, eq=False)
class RankPath:
    """The best solution of every rank, and the values of λ that were visited.

    λ, μ and δ are in the units of X: if X was divided by s for the computation, they are s²λ', sμ' and sδ'
    with λ', μ' and δ' those of the scaled problem.
    """

    points: tuple[PathPoint, ...]  # by increasing rank
    visits: tuple[Visit, ...]  # by initial point if there are several, and by decreasing rank or increasing λ
    shape: tuple[int, int]
    squared_norm: float  # ‖X‖²
    rank_one_loss: float  # the smallest of any rank-one matrix: ½(‖X‖² - σ₁²) with the Frobenius loss
    energy: float  # the loss by which relative losses are divided: ½‖X‖², or with counts the rank-one loss
    mu: float
    delta: float
    complete: bool  # False if interrupted or stopped by a callback
    settings: dict[str, Any]  # the parameters that are saved, and the engine that was used
    evidence: Evidence | None = None  # of a path of the equilibrated X
    n_known: int = 0  # number of known components, which are the first of every point

    @property
    def ranks(self) -> Array:
        """The distinct ranks, increasing."""
        return np.array([point.rank for point in self.points], dtype=int)

    @property
    def losses(self) -> Array:
        """The loss of the best solution at each of `ranks`, for example ½‖X - UVᵀ‖²."""
        return np.array([point.loss for point in self.points])

    @property
    def relative_losses(self) -> Array:
        """`losses` divided by `energy`: the fraction that is not explained."""
        return self.losses / self.energy

    @property
    def lambdas(self) -> Array:
        """The λ at which the best solution of each of `ranks` was reached."""
        return np.array([point.lam for point in self.points])

    @property
    def beta_loss(self) -> str:
        """The name of the loss."""
        return str(self.settings.get("beta_loss", "frobenius"))

    def computed(self) -> RankPath:
        """The path with U as ordinary arrays; where X is a Dask array they are lazy Dask arrays."""
        return replace(self, points=tuple(replace(point, U=np.asarray(point.U)) for point in self.points))

    def at_rank(self, rank: int) -> PathPoint:
        """The best solution at ``rank``.

        Raises
        ------
        ValueError
            The path did not visit that rank; the message lists the visited ranks.
        """
        for point in self.points:
            if point.rank == rank:
                return point
        raise not_visited(rank, self.ranks.tolist())

    def tree(self, max_rank: int | None = None) -> ComponentTree:
        """The tree of components up to ``max_rank``: the parent of each component at the next smaller rank.

        The default is 25, since the exact path makes few iterations at higher ranks. If X is a Dask array, it
        is read once, for the sums of the weights.
        """
        from autonmf.path.tree import make_tree, select_levels

        return make_tree(select_levels(self, max_rank))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the path and return its display; ``options`` are those of `PathDisplay.plot`."""
        from autonmf.plotting import PathDisplay

        return PathDisplay.from_path(self).plot(ax, **options)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the path to one file (npz with JSON, no pickle)."""
        from autonmf.path.storage import save_path

        save_path(self.computed(), file)

    @staticmethod
    def load(file: str | PathLike[str]) -> RankPath:
        """Read a path written by `save`."""
        from autonmf.path.storage import load_path

        return load_path(file)

    def __repr__(self) -> str:
        n, m = self.shape
        ranks = self.ranks
        state = "" if self.complete else ", incomplete"
        return f"RankPath({n} x {m}, ranks {ranks[-1]}..{ranks[0]}, {len(self.visits)} λ{state})"
