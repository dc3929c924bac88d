"""`AgreementDisplay`: the answers of several methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf.plotting.style import Display, axes_or_new, open_frame, style_of, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 12
"""Answers that differ by more than this factor are drawn on a log scale."""


class AgreementDisplay(Display):
    """The rank that each method found, with its plausible ranks; one method is marked.

    Parameters
    ----------
    ranks : mapping of str to int or None
        Each method's answer; None if it failed.
    plausible : mapping of str to sequence of int, optional
        Other ranks that each method considers plausible.
    ours : str, optional
        The method to mark. Its answer is drawn as a line across all rows.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    def __init__(
        self,
        ranks: Mapping[str, int | None],
        *,
        plausible: Mapping[str, Sequence[int]] | None = None,
        ours: str | None = None,
    ) -> None:
        if ours is not None and ours not in ranks:
            raise ValueError(
                f"ours={ours!r} is not one of the methods: {', '.join(ranks) or 'there are none'}"
            )
        self.ranks = dict(ranks)
        self.plausible = dict(plausible or {})
        self.ours = ours

    @classmethod
    def from_comparison(cls, comparison: Any, *, ours: str | None = None) -> Self:
        """The display of a `Comparison`.

        Parameters
        ----------
        comparison : Comparison
            The result of `compare_ranks`.
        ours : str, optional
            The method to mark. Default: the first that is one of the rules of `select_rank`.
        """
        ranks = {answer.method: answer.rank for answer in comparison.answers}
        plausible = {name: estimate.plausible for name, estimate in comparison.estimates.items()}
        return cls(ranks, plausible=plausible, ours=ours or comparison.ours)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.

        Returns
        -------
        self
        """
        self.ax_ = axes_or_new(ax, (5.4, 1.0 + 0.3 * len(self.ranks)))
        self._rank_axis()
        for row, method in enumerate(self.ranks):
            self._draw_answer(row, method)
        self.ax_.set_yticks(range(len(self.ranks)), list(self.ranks))
        self.ax_.set_ylim(len(self.ranks) - 0.5, -0.5)
        for label in self.ax_.get_yticklabels():
            if label.get_text() == self.ours:
                label.set(color=style_of(self.ax_).choice, fontweight="bold")
        chosen = self.ranks[self.ours] if self.ours else None
        if chosen is not None:
            color = style_of(self.ax_).choice
            self.ax_.axvline(chosen, color=color, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
        return self

    def _rank_axis(self) -> None:
        ax = self.ax_
        open_frame(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("rank (bars: plausible ranks)" if any(self.plausible.values()) else "rank")
        shown = [rank for rank in self.ranks.values() if rank is not None]
        if shown and max(shown) > WIDE * min(shown):
            _log_axis(ax, min(shown), max(shown))
        else:
            whole_numbers(ax.xaxis)
            ax.set_xlim(0.5, max(shown, default=1) * 1.08 + 0.7)

    def _draw_answer(self, row: int, method: str) -> None:
        ax, style, rank = self.ax_, style_of(self.ax_), self.ranks[method]
        color = style.choice if method == self.ours else style.data
        for start, end in consecutive(self.plausible.get(method, ())):
            ax.plot([start - 0.25, end + 0.25], [row, row], color=color, alpha=0.3, linewidth=7,
                    solid_capstyle="butt")  # fmt: skip
        if rank is not None:
            ax.plot([rank], [row], color=color, marker="o", markersize=7, linestyle="none", label=method)
            text, shade = str(rank), color
        else:
            text, shade = "failed", style.quiet
        ax.annotate(
            text, (1.0, row), xycoords=ax.get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
            va="center", color=shade,
        )  # fmt: skip


def consecutive(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive ranks."""
    ordered = np.unique(np.asarray(ranks, dtype=int))
    pieces = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    return [(int(piece[0]), int(piece[-1])) for piece in pieces if piece.size]


def _log_axis(ax: Axes, low: int, high: int) -> None:
    """A log scale from ``low`` to ``high``, labelled at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    ticks = [step * 10**power for power in range(6) for step in (1, 2, 5)]
    ax.set_xscale("log")
    ax.set_xlim(0.8 * low, 1.35 * high)
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
