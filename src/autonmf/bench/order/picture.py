"""The scores at a glance: the share of exact ranks by method and group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from autonmf.bench.order.cells import percent
from autonmf.bench.order.objective import Row
from autonmf.bench.order.ranking import OURS, groups_of, ranked_by_group, ranked_overall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORANGE = "#D55E00"
DARK = 0.6
"""Shares above this are on a dark ground, and written in white."""


def draw(rows: Sequence[Row], file: Path) -> bool:
    """Draw a heat map, the best method on top; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    methods, columns, shares = exact_shares(rows)
    figure = Figure(figsize=(2.0 + 1.1 * len(columns), 1.3 + 0.34 * len(methods)))
    ax = figure.add_subplot()
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    ax.axvline(0.5, color="white", linewidth=5)
    sizes = [len({(row.family, row.seed) for row in rows if row.group == group}) for group in columns[1:]]
    _label(ax, methods, columns, ["mean of groups", *(f"{size} matrices" for size in sizes)])
    _write(ax, methods, shares, _few(rows, methods, columns, sizes))
    figure.savefig(file, dpi=130, bbox_inches="tight", pad_inches=0.15)
    return True


def exact_shares(rows: Sequence[Row]) -> tuple[list[str], list[str], Array]:
    """Methods, "overall" and the groups, and a share for each pair; NaN where there are no answers."""
    ranked = ranked_overall(rows)
    methods, columns = [one.method for one in ranked], ["overall", *groups_of(rows)]
    shares = np.full((len(methods), len(columns)), np.nan)
    for one in (*ranked, *ranked_by_group(rows)):
        shares[methods.index(one.method), columns.index(one.where)] = one.score.exact
    return methods, columns, shares


def _label(ax: Axes, methods: list[str], columns: list[str], below: list[str]) -> None:
    ax.set_xticks(range(len(columns)), [f"{name}\n{text}" for name, text in zip(columns, below, strict=True)])
    ax.set_yticks(range(len(methods)), methods)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("Share of exact ranks", loc="left", pad=12)
    for label in ax.get_yticklabels():
        if label.get_text() == OURS:
            label.set(color=ORANGE, weight="bold")


def _few(
    rows: Sequence[Row], methods: list[str], columns: list[str], sizes: list[int]
) -> dict[tuple[int, int], int]:
    """How many matrices of a group a method answered, where that is not all of them; 0: of some group."""
    few: dict[tuple[int, int], int] = {}
    for i, method in enumerate(methods):
        for j, (group, size) in enumerate(zip(columns[1:], sizes, strict=True), start=1):
            answered = sum(row.method == method and row.group == group for row in rows)
            if answered < size:
                few[i, j], few[i, 0] = answered, 0
    return few


def _write(ax: Axes, methods: list[str], shares: Array, few: dict[tuple[int, int], int]) -> None:
    for (i, j), share in np.ndenumerate(shares):
        text = percent(share) if np.isfinite(share) else "-"
        if (i, j) in few:
            text += f" of {few[i, j]}" if few[i, j] else " *"
        weight = "bold" if methods[i] == OURS else "normal"
        ax.text(
            j, i, text, ha="center", va="center", weight=weight, color="white" if share > DARK else "black"
        )
    if few:
        note = "* did not answer every matrix; 60% of 5: three right of five answered"
        ax.text(0, -0.03, note, transform=ax.transAxes, va="top", fontsize="small")
