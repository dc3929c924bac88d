"""`PathDisplay`: the loss and the plateau of each rank of a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.style import (
    Display,
    axes_or_new,
    draw_series,
    mark_rank,
    rank_axis,
    spans_decades,
    stack_axes,
    style_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = ("loss", "lambda")


class PathDisplay(Display):
    """The loss of each rank of a path, and its plateau: the interval of λ over which the path has that rank.

    With several initialisations the losses are the best of all of them; the plateaus are those of one, the
    initialisation with the lowest loss at the marked rank.

    Parameters
    ----------
    ranks : array of shape (n_ranks,)
        Increasing.
    relative_losses : array of shape (n_ranks,)
        ‖X - UVᵀ‖²/‖X‖² at each rank.
    plateaus : array of shape (n_plateaus, 3)
        Rank, first and last λ of each plateau.
    rank : int, optional
        The chosen rank, which is marked.

    Attributes
    ----------
    ax_ : Axes
        The axes given to ``plot``, or new ones; divided if there are two panels.
    axes_ : dict of str to Axes
        The panels by name, "loss" and "lambda".
    figure_ : Figure

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> from autonmf.plotting import PathDisplay
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> display = PathDisplay.from_path(rank_path(X, max_rank=6, random_state=0), rank=3)
    >>> display.ranks.tolist()
    [1, 2, 3, 4, 5, 6]
    """

    axes_: dict[str, Axes]

    def __init__(
        self, ranks: Array, relative_losses: Array, plateaus: Array, *, rank: int | None = None
    ) -> None:
        self.ranks = np.asarray(ranks)
        self.relative_losses = np.asarray(relative_losses)
        self.plateaus = np.asarray(plateaus, dtype=float).reshape(-1, 3)
        self.rank = rank

    @classmethod
    def from_path(cls, path: Any, *, rank: int | None = None) -> Self:
        """The display of a `RankPath`, with ``rank`` marked if it is given."""
        return cls(path.ranks, path.relative_losses, find_plateaus(path.visits, rank), rank=rank)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """The display of the path of a fitted `AutoNMF`, with its rank marked."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        return cls.from_path(estimator.path_, rank=int(estimator.n_components_))

    def plot(self, ax: Axes | None = None, *, panels: str | Sequence[str] = PANELS) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.
        panels : "loss", "lambda" or both
            The panels, from the top.

        Returns
        -------
        self
        """
        names = self._check_panels(panels)
        self.ax_ = axes_or_new(ax, (5.4, 1.0 + 2.3 * len(names)))
        self.axes_ = dict(zip(names, stack_axes(self.ax_, len(names)), strict=True))
        for name, panel in self.axes_.items():
            rank_axis(panel, self.ranks, "rank" if name == names[-1] else None)
            draw = self._draw_loss if name == "loss" else self._draw_plateaus
            draw(panel, named=name == names[0])
        return self

    def _check_panels(self, panels: str | Sequence[str]) -> list[str]:
        names = [panels] if isinstance(panels, str) else list(panels)
        if not names or any(name not in PANELS for name in names):
            raise ValueError(f"panels must be 'loss', 'lambda' or both, got {panels!r}")
        if "lambda" in names and len(self.plateaus) == 0:
            names.remove("lambda")
        return names or ["loss"]

    def _draw_loss(self, ax: Axes, *, named: bool) -> None:
        losses = self.relative_losses
        draw_series(ax, self.ranks, losses, log=spans_decades(losses))
        ax.set_ylabel("relative loss\n" + r"$\Vert X-UV^\mathsf{T}\Vert^2\,/\,\Vert X\Vert^2$")
        if self.rank is not None:
            mark_rank(ax, self.ranks, losses, self.rank, named=named)

    def _draw_plateaus(self, ax: Axes, *, named: bool) -> None:
        ranks, first, last = self.plateaus.T
        style = style_of(ax)
        colors = [style.choice if rank == self.rank else style.data for rank in ranks]
        log = spans_decades(np.concatenate([first, last]))
        floor = 0.7 * last[last > 0].min() if log else 0.0
        ax.set_yscale("log" if log else "linear")
        first, last = np.maximum(first, floor), np.maximum(last, floor)
        ax.vlines(ranks, first, last, colors=colors, linewidth=3.0 if len(ranks) <= 30 else 2.0)
        ax.scatter(ranks, first, c=colors, s=9, linewidths=0)
        ax.set_ylim(bottom=floor)
        ax.set_ylabel("plateau of each rank:\nfirst to last " + r"$\lambda$")
        if self.rank is not None:
            mark_rank(ax, np.array([]), np.array([]), self.rank, named=named)


def find_plateaus(visits: Sequence[Any], rank: int | None = None) -> Array:
    """Rank, first and last λ of each plateau, from the visits of one initialisation, by increasing rank.

    It is the initialisation with the lowest loss at ``rank``; without a rank, the one with the lowest loss
    at most ranks.
    """
    start = _best_start(visits, rank)
    rows = []
    for each in sorted({visit.rank for visit in visits}):
        seen = [visit for visit in visits if visit.rank == each and visit.start == start]
        if seen:
            first = min(visit.lam for visit in seen)
            rows.append((each, first, max(first, *(visit.next_lam for visit in seen))))
    return np.array(rows, dtype=float).reshape(-1, 3)


def _best_start(visits: Sequence[Any], rank: int | None) -> int:
    best: dict[int, tuple[float, int]] = {}
    for visit in visits:
        best[visit.rank] = min(best.get(visit.rank, (np.inf, 0)), (visit.loss, visit.start))
    if rank in best:
        return best[rank][1]
    return int(np.bincount([start for _, start in best.values()]).argmax()) if best else 0
