"""`StabilityDisplay`: the stability of components, and the intervals of their loadings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.presentation import check_names, top_features
from autonmf.plotting.style import (
    Display,
    axes_or_new,
    divide_axes,
    draw_series,
    mark_rank,
    open_frame,
    rank_axis,
    style_of,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STABLE = 0.9
"""A level to compare with: true components are usually above it."""


class StabilityDisplay(Display):
    """The stability of each component with its interval, and the mean and the lowest one at each rank.

    Parameters
    ----------
    stability : array of shape (r,)
        The cosine of each component that two of three resamples reach.
    interval : array of shape (2, r)
        Quantiles of the cosines.
    ranks, by_rank, lowest_by_rank : arrays of shape (n_ranks,)
        The mean and the lowest stability of the components of each rank.

    Attributes
    ----------
    ax_ : Axes
        The axes given to ``plot``, or new ones; divided.
    axes_ : dict of str to Axes
        The panels "components" and "ranks".
    figure_ : Figure
    """

    def __init__(
        self, stability: Array, interval: Array, ranks: Array, by_rank: Array, lowest_by_rank: Array
    ) -> None:
        self.stability, self.interval, self.ranks = stability, interval, ranks
        self.by_rank, self.lowest_by_rank = by_rank, lowest_by_rank

    @classmethod
    def from_stability(cls, stability: Any) -> Self:
        """The display of a `ComponentStability`."""
        names = ("stability", "interval", "ranks", "by_rank", "lowest_by_rank")
        return cls(*(getattr(stability, name) for name in names))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw both panels in ``ax`` or a new figure."""
        count = len(self.stability)
        self.ax_ = axes_or_new(ax, (8.0, max(2.6, 1.0 + 0.22 * count)))
        (left,), (right,) = divide_axes(self.ax_, 2, 2, [1.0])
        self.axes_ = {"components": left, "ranks": right}
        style = style_of(left)
        rows = np.arange(1, count + 1)
        left.hlines(rows, *self.interval, color=style.data, alpha=0.4, linewidth=4.0)
        left.plot(self.stability, rows, color=style.data, marker="o", markersize=5, linestyle="none")
        left.axvline(STABLE, color=style.quiet, linewidth=1.0)
        left.set_xlim(-0.02, 1.02)
        left.set_ylim(count + 0.6, 0.4)
        whole_numbers(left.yaxis)
        left.set_xlabel("stability (bars: 5 to 95 % of the resamples)")
        left.set_ylabel("component")
        open_frame(left)
        right.axhline(STABLE, color=style.quiet, linewidth=1.0)
        right.plot(self.ranks, self.lowest_by_rank, color=style.data, alpha=0.4, label="lowest")
        draw_series(right, self.ranks, self.by_rank, log=False).set_label("mean")
        mark_rank(right, self.ranks, self.by_rank, count)
        right.set_ylim(-0.02, 1.02)
        right.set_ylabel("stability")
        right.legend(loc="lower left", frameon=False, fontsize="small")
        rank_axis(right, self.ranks)
        return self


def plot_loadings(
    loadings: Array,
    lower: Array,
    upper: Array,
    ax: Axes | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    axis: Array | None = None,
    n_top: int = 10,
) -> Axes:
    """Draw the loadings of one component with their intervals, and return the axes.

    All loadings are drawn as a curve over ``axis``, by default the number of the feature; with
    ``feature_names``, the ``n_top`` largest are drawn.
    """
    if feature_names is None:
        ax = axes_or_new(ax, (5.4, 2.6))
        where = np.arange(1, len(loadings) + 1) if axis is None else np.asarray(axis)
        ax.fill_between(where, lower, upper, color=style_of(ax).data, alpha=0.3, linewidth=0)
        ax.plot(where, loadings, color=style_of(ax).data, linewidth=1.2)
        ax.set_xlabel("feature" if axis is None else "")
        ax.set_ylim(bottom=0.0)
    else:
        names = check_names(feature_names, len(loadings), "feature_names", "features") or ()
        top = top_features(loadings, n_top)
        ax = axes_or_new(ax, (4.0, 0.8 + 0.2 * len(top)))
        rows = np.arange(len(top))
        ax.hlines(rows, lower[top], upper[top], color=style_of(ax).data, alpha=0.4, linewidth=4.0)
        ax.plot(loadings[top], rows, color=style_of(ax).data, marker="o", markersize=5, linestyle="none")
        ax.set_yticks(rows, [names[i] for i in top], parse_math=False)
        ax.set_ylim(len(top) - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        ax.set_xlabel("loading: 5 to 95 %")
    open_frame(ax)
    return ax
