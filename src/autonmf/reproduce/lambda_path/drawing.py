"""Paths along λ, and bars of their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autonmf.reproduce.ink import (
    PALE,
    PENS,
    QUIET,
    log_ticks,
    mark_order,
    new_figure,
    titled,
    whole_numbers,
)
from autonmf.reproduce.paper_numbers import PATH_SECONDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from autonmf.reproduce.plateau import Plateau

COLORS = {
    "λ-path": PENS["pasm"].color,
    "decreasing": PENS["s-ipalm"].color,
    "increasing": PENS["cv"].color,
    "exact": PENS["default"].color,
    "exact, full": PENS["palm"].color,
}
PAPER_BARS = ("λ-path", "decreasing", "increasing")


def draw_paths(panels: Sequence[tuple[str, dict[str, Any], Plateau | None]]) -> Figure:
    """A column a data set: rank, error and iterations against λ."""
    figure, axes = new_figure(3.0 * len(panels), 6.4, 3, len(panels), sharex="col")
    pen = PENS["pasm"]
    for column, (title, curve, plateau) in enumerate(panels):
        rank, error, iterations = axes[:, column]
        titled(rank, title)
        lam = curve["lam"]
        rank.step(lam, curve["rank"], where="post", color=pen.color)
        rank.plot(lam, curve["rank"], pen.marker, color=pen.color, markersize=4)
        error.plot(lam, curve["error"], pen.marker + "-", color=pen.color, markersize=4)
        iterations.vlines(lam, 0, curve["n_iter"], color=pen.color, linewidth=2)
        iterations.plot(lam, curve["n_iter"], pen.marker, color=pen.color, markersize=4)
        mark_order(rank, curve["order"])
        iterations.axhline(21, color=QUIET, linewidth=0.8)
        if plateau is not None:
            for ax in (rank, error, iterations):
                ax.axvspan(plateau.low, plateau.high, color=PALE, zorder=0)
        log_ticks(rank.xaxis)
        log_ticks(error.yaxis)
        iterations.set_xlabel("λ", fontsize=9)
    labels = ("rank", "‖X - UVᵀ‖ / ‖X‖", "iterations\n(line: 21, the fewest possible)")
    for row, label in enumerate(labels):
        axes[row, 0].set_ylabel(label, fontsize=9)
        if row != 1:
            highest = max(ax.get_ylim()[1] for ax in axes[row])
            for ax in axes[row]:
                ax.set_ylim(0, highest)
                whole_numbers(ax.yaxis)
    return figure


def draw_times(bars: dict[str, dict[str, tuple[float, float]]]) -> Figure:
    """A panel a data set: seconds, with the ratio to the λ-path, ours and the paper's."""
    figure, axes = new_figure(3.2 * len(bars), 3.2, 1, len(bars))
    for ax, (title, ways) in zip(axes[0], bars.items(), strict=True):
        paper = PATH_SECONDS["synthetic" if title.startswith("synthetic") else "swimmer"]
        base, steps = ways["λ-path"]
        for place, (way, (seconds, iterations)) in enumerate(ways.items()):
            ax.barh(place, seconds, color=COLORS[way])
            text = (
                f"{seconds / base:.1f}x, {iterations / steps:.1f}x the iterations"
                if way != "λ-path"
                else "1x"
            )
            if way in PAPER_BARS[1:]:
                text += f"\n(paper {paper[PAPER_BARS.index(way)] / paper[0]:.1f}x)"
            ax.annotate(
                text, (seconds, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7
            )
        ax.set_yticks(range(len(ways)), ways if ax is axes[0, 0] else [""] * len(ways), fontsize=9)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.9 * max(seconds for seconds, _ in ways.values()))
        ax.set_xlabel("seconds", fontsize=9)
        titled(ax, title)
    return figure
