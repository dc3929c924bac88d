"""Helpers of all plots: axes, colours, and curves over the rank. matplotlib is imported when needed."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from autonmf._types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.gridspec import GridSpecBase
    from matplotlib.lines import Line2D

DECADES = 10.0
"""Positive values that span more than this factor are drawn on a log scale."""

PLAIN = (1e-3, 1e4)
"""Range in which tick labels are written without powers of ten."""


@dataclass(frozen=True)
class PlotStyle:
    """Colours of a plot, from the colour-blind safe palette of Okabe and Ito."""

    data: str
    choice: str  # the chosen rank
    quiet: str  # thresholds and other reference lines
    pale: str  # shading behind the data


LIGHT = PlotStyle(data="#0072B2", choice="#D55E00", quiet="#767676", pale="#E4E4E4")
DARK = PlotStyle(data="#56B4E9", choice="#E69F00", quiet="#A0A0A0", pale="#404040")

BRANCH_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442",
    "#882255", "#117733", "#999933", "#332288", "#AA4499", "#44AA99", "#661100",
)  # fmt: skip
"""Colours of the first branches of a tree, from the palettes of Okabe and Ito and of Tol."""


def branch_colors(count: int) -> list[str]:
    """A colour for each branch of a tree; the first colours do not depend on ``count``.

    When all colours of the palette are used, it is repeated in paler colours.
    """
    colors = []
    for branch in range(count):
        turn, index = divmod(branch, len(BRANCH_COLORS))
        channels = (int(BRANCH_COLORS[index][i : i + 2], 16) for i in (1, 3, 5))
        colors.append("#" + "".join(f"{255 - round((255 - each) * 0.6**turn):02X}" for each in channels))
    return colors


class Display:
    """A plot; its axes exist after ``plot`` was called."""

    ax_: Axes

    @property
    def figure_(self) -> Figure | SubFigure:
        """The figure of the axes."""
        return self.ax_.figure


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes that were given, or those of a new figure of ``size`` inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f'plots need matplotlib ({error}): pip install "autonmf[plot]"') from error
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")[1]
    if not hasattr(ax, "get_subplotspec"):
        raise TypeError(f"ax must be one matplotlib Axes, got {type(ax).__name__}; panels divide it")
    return ax


def grid_in(ax: Axes, rows: int, columns: int, heights: list[float] | None = None) -> GridSpecBase:
    """Hide ``ax`` and divide its area into cells for `add_subplot`."""
    from matplotlib.gridspec import GridSpec

    ax.set_axis_off()
    spec = ax.get_subplotspec()
    if spec is not None:
        return spec.subgridspec(rows, columns, height_ratios=heights)
    box, figure = ax.get_position(), cast("Figure", ax.figure)
    return GridSpec(
        rows, columns, figure, box.x0, box.y0, box.x1, box.y1, wspace=0.3, hspace=0.4, height_ratios=heights
    )  # fmt: skip


def divide_axes(ax: Axes, count: int, columns: int, heights: list[float]) -> list[list[Axes]]:
    """Divide ``ax`` into ``count`` groups of stacked panels with these relative heights, row by row."""
    parts, rows = len(heights), ceil(count / columns)
    cells = grid_in(ax, rows * parts, columns, heights * rows)
    places = [divmod(index, columns) for index in range(count)]
    return [
        [ax.figure.add_subplot(cells[row * parts + part, column]) for part in range(parts)]
        for row, column in places
    ]


def stack_axes(ax: Axes, count: int) -> list[Axes]:
    """Divide ``ax`` into ``count`` stacked axes with a common x axis; ``ax`` itself if one."""
    if count == 1:
        return [ax]
    grid = grid_in(ax, count, 1)
    panels: list[Axes] = []
    for row in range(count):
        panels.append(ax.figure.add_subplot(grid[row, 0], sharex=panels[0] if panels else None))
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    ax.figure.align_ylabels(panels)
    return panels


def style_of(ax: Axes) -> PlotStyle:
    """The colours that match these axes: the dark ones if text is light."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.xaxis.label.get_color())
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else LIGHT


def open_frame(ax: Axes) -> None:
    """Remove the frame at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Any) -> None:
    """Ticks at integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(10, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))


def spans_decades(values: Array) -> bool:
    """Whether the positive values differ by more than a factor of ten."""
    shown = values[np.isfinite(values) & (values > 0)]
    return bool(shown.size and shown.max() > DECADES * shown.min())


def draw_series(ax: Axes, ranks: Array, values: Array, *, log: bool) -> Line2D:
    """Draw values against ranks.

    Values that are not on the scale are drawn as open triangles: infinity at the top; minus infinity, and
    zero on a log scale, at the bottom. NaN is left out.
    """
    values = np.asarray(values, dtype=float)
    log = log and bool((np.isfinite(values) & (values > 0)).any())
    below = (values <= 0) if log else np.isneginf(values)
    above = np.isposinf(values)
    inside = np.isfinite(values) & ~below
    color = style_of(ax).data
    if log:
        log_axis(ax, values[inside])
    size = 4.5 if len(ranks) <= 30 else 3.0
    (line,) = ax.plot(
        ranks, np.where(inside, values, np.nan), color=color, marker="o", markersize=size, linewidth=1.2
    )
    for outside, marker, height in ((below, "v", 0.03), (above, "^", 0.97)):
        if outside.any():
            ax.plot(
                ranks[outside], np.full(outside.sum(), height), transform=ax.get_xaxis_transform(),
                color=color, marker=marker, markerfacecolor="none", markersize=5.5, linestyle="none",
            )  # fmt: skip
    return line


def log_axis(ax: Axes, values: Array) -> None:
    """Set a log scale, with plain numbers instead of powers of ten where they are short."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_yscale("log")
    low, high = PLAIN
    if values.size and low <= values.min() and values.max() <= high:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        if values.max() < 100 * values.min():
            ax.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
            ax.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))


def mark_rank(ax: Axes, ranks: Array, values: Array, rank: int, *, named: bool = True) -> None:
    """Mark the chosen rank: a dashed line, a large dot at its value, and a label above."""
    style = style_of(ax)
    ax.axvline(rank, color=style.choice, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1.5)
    at = np.asarray(values, dtype=float)[np.asarray(ranks) == rank]
    if at.size and np.isfinite(at[0]) and (at[0] > 0 or ax.get_yscale() == "linear"):
        ax.plot([rank], at[:1], color=style.choice, marker="o", markersize=8, linestyle="none", zorder=3)
    if named:
        ax.annotate(
            f"rank {rank}", (rank, 1.0), xycoords=ax.get_xaxis_transform(), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", color=style.choice, fontweight="bold",
        )  # fmt: skip


def draw_level(ax: Axes, ranks: Array, level: Array, name: str) -> None:
    """Draw a threshold: a line with its name at the right end."""
    quiet = style_of(ax).quiet
    ax.plot(ranks, level, color=quiet, linewidth=1.0, label=name)
    ax.annotate(
        name, (1.0, level[-1]), xycoords=ax.get_yaxis_transform(), xytext=(-2, 2),
        textcoords="offset points", ha="right", va="bottom", color=quiet, fontsize="small",
    )  # fmt: skip


def rank_axis(ax: Axes, ranks: Array, label: str | None = "rank") -> None:
    """Set an x axis of integers that covers every rank."""
    open_frame(ax)
    whole_numbers(ax.xaxis)
    margin = 0.5 + 0.01 * np.ptp(ranks)
    ax.set_xlim(np.min(ranks) - margin, np.max(ranks) + margin)
    if label:
        ax.set_xlabel(label)
