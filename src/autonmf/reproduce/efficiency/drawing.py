"""Objective, projected gradient and rank, by iterations and by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autonmf.reproduce.cell import Done
from autonmf.reproduce.ink import (
    PENS,
    legend_below,
    log_ticks,
    mark_order,
    new_figure,
    titled,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(done: Done) -> Figure:
    """One matrix, all algorithms; markers where the paper's stop rule holds."""
    figure, axes = new_figure(10.5, 6.2, 2, 3, sharey="col")
    ended = {row["solver"]: row for row in done.rows if row["setting"] == "cold"}
    for curve in done.curves:
        pen, stop = PENS[curve["solver"]], ended[curve["solver"]]["iterations"]
        steps = range(1, len(curve["objective"]) + 1)
        for row, x in enumerate((steps, curve["seconds"])):
            for column, key in enumerate(("objective", "projected_gradient", "rank_found")):
                ax = axes[row, column]
                ax.plot(x, curve[key], linewidth=1.8, **pen.line)
                if stop <= len(steps):
                    ax.plot(x[stop - 1], curve[key][stop - 1], pen.marker, color=pen.color, markersize=7)
    for row, label in enumerate(("iterations", "seconds")):
        for ax in axes[row]:
            log_ticks(ax.xaxis)
            ax.set_xlabel(label, fontsize=9)
    for column, title in enumerate(("objective Φ", "norm of the projected gradient", "rank")):
        titled(axes[0, column], title)
        if column < 2:
            for ax in axes[:, column]:
                log_ticks(ax.yaxis)
    for ax in axes[:, 2]:
        whole_numbers(ax.yaxis)
        mark_order(ax, done.parameters["rank"])
    n, m = done.parameters["n"], done.parameters["m"]
    pasm, palm = ended["pasm"], ended["palm"]
    figure.suptitle(
        f"{n} x {m}: PASM stops at rank {pasm['rank_found']} after {pasm['iterations']} iterations, "
        f"PALM at rank {palm['rank_found']} after {palm['iterations']} (markers: the stop rule holds)",
        fontsize=11,
    )
    legend_below(figure, axes[0, 0], 4)
    return figure
