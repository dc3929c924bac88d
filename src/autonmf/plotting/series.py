"""One value for each rank, with the choice marked: what most plots here are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from autonmf.plotting.canvas import ink_of, open_frame, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

DECADES = 10.0
"""Positive values that span more than this factor are drawn on a log scale."""

PLAIN = (1e-2, 1e4)
"""Between these, numbers are easy to read."""


def spans_decades(values: Array) -> bool:
    """Whether a log scale shows more: the positive values differ by more than a factor of ten."""
    shown = values[np.isfinite(values) & (values > 0)]
    return bool(shown.size and shown.max() > DECADES * shown.min())


def draw_series(ax: Axes, ranks: Array, values: Array, *, log: bool) -> Line2D:
    """Values against ranks.

    What has no place on the scale is drawn at the edge as an open triangle: infinity at the top, minus
    infinity, and zero on a log scale, at the bottom. NaN is left out.
    """
    values = np.asarray(values, dtype=float)
    log = log and bool((np.isfinite(values) & (values > 0)).any())
    below = (values <= 0) if log else np.isneginf(values)
    above = np.isposinf(values)
    inside = np.isfinite(values) & ~below
    color = ink_of(ax).data
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
    """A log scale; numbers that are easy to read are written without powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_yscale("log")
    low, high = PLAIN
    if low <= values.min() and values.max() <= high:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    if values.max() < 100 * values.min():
        ax.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        ax.yaxis.set_minor_formatter(StrMethodFormatter("{x:.2g}"))


def mark_rank(ax: Axes, ranks: Array, values: Array, rank: int, *, named: bool = True) -> None:
    """A line at the chosen rank, a large dot on its value, and its name above."""
    ink = ink_of(ax)
    ax.axvline(rank, color=ink.choice, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1.5)
    at = np.asarray(values, dtype=float)[np.asarray(ranks) == rank]
    if at.size and np.isfinite(at[0]) and (at[0] > 0 or ax.get_yscale() == "linear"):
        ax.plot([rank], at[:1], color=ink.choice, marker="o", markersize=8, linestyle="none", zorder=3)
    if named:
        ax.annotate(
            f"rank {rank}", (rank, 1.0), xycoords=ax.get_xaxis_transform(), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", color=ink.choice, fontweight="bold",
        )  # fmt: skip


def draw_limit(ax: Axes, ranks: Array, limit: Array, meaning: str) -> None:
    """What values are compared with: a line with its name at the right end."""
    quiet = ink_of(ax).quiet
    ax.plot(ranks, limit, color=quiet, linewidth=1.0, label=meaning)
    ax.annotate(
        meaning, (1.0, limit[-1]), xycoords=ax.get_yaxis_transform(), xytext=(-2, 2),
        textcoords="offset points", ha="right", va="bottom", color=quiet, fontsize="small",
    )  # fmt: skip


def rank_axis(ax: Axes, ranks: Array, label: str | None = "rank") -> None:
    """An x axis of whole numbers that holds every rank."""
    open_frame(ax)
    whole_numbers(ax.xaxis)
    margin = 0.5 + 0.01 * np.ptp(ranks)
    ax.set_xlim(np.min(ranks) - margin, np.max(ranks) + margin)
    if label:
        ax.set_xlabel(label)
