"""Plot style: the colours of Okabe and Ito, a marker and a dash pattern per method, open frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Pen(NamedTuple):
    """How a method is drawn; methods differ in more than colour."""

    label: str
    color: str
    marker: str
    dash: Any = "-"

    @property
    def line(self) -> dict[str, Any]:
        return {"color": self.color, "linestyle": self.dash, "label": self.label}

    @property
    def dots(self) -> dict[str, Any]:
        return {"color": self.color, "marker": self.marker, "label": self.label}


PENS = {
    "palm": Pen("PALM", "#767676", "v", (0, (1, 1))),
    "ipalm": Pen("iPALM", "#E69F00", "s", (0, (5, 1.5))),
    "s-ipalm": Pen("S-iPALM", "#0072B2", "^", (0, (4, 1, 1, 1))),
    "pasm": Pen("PASM", "#D55E00", "o"),
    "pasm exact": Pen("PASM, exact path", "#8C3D00", "P"),
    "default": Pen("our default", "#009E73", "D"),
    "svht": Pen("SVHT", "#CC79A7", "X"),
    "cv": Pen("cross-validation", "#56B4E9", "p"),
}
PAPER = "#000000"
QUIET = "#767676"
PALE = "#E4E4E4"
GOOD, NEAR, BAD = "#BBDDF2", "#FFF2B8", "#F3B48B"  # blue, yellow, orange


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """A figure and its axes in an array, without pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    figure: Figure = NewFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8, which="both")
    return figure, axes


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """One legend for all axes, under them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def use_integer_ticks(axis: Any) -> None:
    """Ticks at integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(7, integer=True, min_n_ticks=1))


def set_title(ax: Axes, text: str) -> None:
    """A title at the left."""
    ax.set_title(text, loc="left", fontsize=10)


def mark_order(ax: Axes, order: int) -> None:
    """A line at the true rank."""
    ax.axhline(order, color=QUIET, linewidth=0.8)
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "bottom"}
    ax.annotate(f"r* = {order}", (0.01, order), fontsize=8, color=QUIET, **place)


def use_log_ticks(axis: Any) -> None:
    """A log scale with few labels: powers of ten, or 1, 2 and 5 where there are not enough of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = axis.get_view_interval()
    narrow = math.log10(high / low) < 2
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e5 else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
