"""`AgreementDisplay`: the answers of several methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from autonmf.compare import Comparison
from autonmf.plotting.canvas import axes_or_new, ink_of, open_frame, whole_numbers
from autonmf.selection import RULES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

WIDE = 12
"""Answers that differ by more than this factor are drawn on a log scale."""


class AgreementDisplay:
    """The rank that each method found, with its plausible ranks, ours first and marked.

    Parameters
    ----------
    ranks : mapping of str to int or None
        Each method's answer; None if it failed.
    plausible : mapping of str to sequence of int, optional
        The ranks that a method does not rule out.
    ours : str, optional
        The method to mark. Its answer is drawn as a line through all of them.
    reference : int, optional
        A rank known from elsewhere.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        ranks: Mapping[str, int | None],
        *,
        plausible: Mapping[str, Sequence[int]] | None = None,
        ours: str | None = None,
        reference: int | None = None,
    ) -> None:
        if ours is not None and ours not in ranks:
            raise ValueError(f"no method {ours!r} to mark; there are {', '.join(ranks) or 'none'}")
        self.ranks = dict(ranks)
        self.plausible = dict(plausible or {})
        self.ours = ours
        self.reference = reference

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, ours: str | None = None, reference: int | None = None
    ) -> Self:
        """The display of what `compare_ranks` found.

        Parameters
        ----------
        comparison : Comparison
        ours : str, optional
            The method to mark. Default: the first that is one of the rules of `select_rank`.
        reference : int, optional
            A rank known from elsewhere.
        """
        ranks = {answer.method: answer.rank for answer in comparison.answers}
        if ours is None:
            ours = next((name for name in ranks if name.partition("-")[0] in RULES), None)
        plausible = {name: estimate.plausible for name, estimate in comparison.estimates.items()}
        return cls(ranks, plausible=plausible, ours=ours, reference=reference)

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
        self.figure_ = self.ax_.figure
        answers = [rank for rank in self.ranks.values() if rank is not None]
        self._rank_axis(answers)
        for row, method in enumerate(self.ranks):
            self._draw_answer(row, method)
        self.ax_.set_yticks(range(len(self.ranks)), list(self.ranks))
        self.ax_.set_ylim(len(self.ranks) - 0.5, -0.5)
        self._name_ours()
        self._draw_lines()
        return self

    def _rank_axis(self, answers: list[int]) -> None:
        ax = self.ax_
        open_frame(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("rank (bars: plausible)" if any(self.plausible.values()) else "rank")
        shown = [*answers, *([self.reference] if self.reference else [])]
        if shown and max(shown) > WIDE * min(shown):
            _log_axis(ax, min(shown), max(shown))
        else:
            whole_numbers(ax.xaxis)
            ax.set_xlim(0.5, max(shown, default=1) * 1.08 + 0.7)

    def _draw_answer(self, row: int, method: str) -> None:
        ax, ink, rank = self.ax_, ink_of(self.ax_), self.ranks[method]
        color = ink.choice if method == self.ours else ink.data
        for start, end in _runs(self.plausible.get(method, ())):
            ax.plot([start - 0.25, end + 0.25], [row, row], color=color, alpha=0.3, linewidth=7,
                    solid_capstyle="butt")  # fmt: skip
        if rank is not None:
            ax.plot([rank], [row], color=color, marker="o", markersize=7, linestyle="none", label=method)
            text, shade = str(rank), color
        else:
            text, shade = "failed", ink.quiet
        ax.annotate(
            text, (1.0, row), xycoords=ax.get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
            va="center", color=shade,
        )  # fmt: skip

    def _name_ours(self) -> None:
        for label in self.ax_.get_yticklabels():
            if label.get_text() == self.ours:
                label.set(color=ink_of(self.ax_).choice, fontweight="bold")

    def _draw_lines(self) -> None:
        ax, ink = self.ax_, ink_of(self.ax_)
        chosen = self.ranks[self.ours] if self.ours else None
        if chosen is not None:
            ax.axvline(chosen, color=ink.choice, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
        if self.reference is not None:
            ax.axvline(self.reference, color=ink.quiet, linewidth=1.0, zorder=0.9)
            ax.annotate(f"reference {self.reference}", (self.reference, 1.0),
                        xycoords=ax.get_xaxis_transform(), xytext=(0, 2), textcoords="offset points",
                        ha="center", va="bottom", color=ink.quiet, fontsize="small")  # fmt: skip


def _runs(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive ranks."""
    ordered = np.unique(np.asarray(ranks, dtype=int))
    if not ordered.size:
        return []
    pieces = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    return [(int(piece[0]), int(piece[-1])) for piece in pieces]


def _log_axis(ax: Axes, low: int, high: int) -> None:
    """A log scale from ``low`` to ``high``, labelled at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    ticks = [step * 10**power for power in range(6) for step in (1, 2, 5)]
    ax.set_xscale("log")
    ax.set_xlim(0.8 * low, 1.35 * high)
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
