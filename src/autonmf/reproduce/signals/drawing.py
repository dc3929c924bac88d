"""Table 2 at a glance, and the readings as tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autonmf.reproduce.ink import BAD, GOOD, PENS, QUIET, legend_below, log_ticks, new_figure
from autonmf.reproduce.signals.cells import METHODS
from autonmf.reproduce.signals.rows import Lines, paper_answer
from autonmf.reproduce.signals.tried import Ranks
from autonmf.reproduce.work.inputs import SIGNALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_orders(lines: Lines) -> Figure:
    """A row a data set: the reference order, the paper's answers above, ours below."""
    figure, axes = new_figure(9.5, 1.2 + 0.75 * len(lines))
    ax = axes[0, 0]
    seen = set()
    for y, (data, by) in enumerate(lines.items()):
        order = SIGNALS[data].order
        ax.axhspan(y - 0.42, y + 0.42, color="#F5F5F5", zorder=0)
        ax.plot([order, order], [y - 0.42, y + 0.42], color=QUIET, linewidth=3, zorder=1,
                label=None if y else "reference order")  # fmt: skip
        for place, method in enumerate(METHODS):
            pen, height = PENS[method], y - 0.3 + 0.2 * place
            answer = paper_answer(data, method)
            if answer is not None and answer.rank is not None:
                ax.plot(answer.rank, height, pen.marker, markersize=8, markerfacecolor="none",
                        markeredgecolor=pen.color, zorder=2)  # fmt: skip
            for row in by.get(method, []):
                label = None if method in seen else pen.label
                seen.add(method)
                ax.plot(
                    row["found"], height, pen.marker, color=pen.color, markersize=5, label=label, zorder=3
                )
    titles = [SIGNALS[data].title + ("\n(variant)" if SIGNALS[data].variant else "") for data in lines]
    ax.set_yticks(range(len(lines)), titles, fontsize=9)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    log_ticks(ax.xaxis)
    ax.set_xlabel("model order; filled: ours, every seed; open: the paper's", fontsize=9)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    legend_below(figure, ax, 5)
    return figure


def draw_readings(ranks: Ranks) -> Figure:
    """A tile a reading, data set and solver: the rank, blue where it is the paper's."""
    from matplotlib.patches import Rectangle

    columns = list(ranks["as read"])
    figure, axes = new_figure(2.2 + 0.78 * len(columns), 1.3 + 0.3 * (len(ranks) + 1))
    ax = axes[0, 0]
    for x, (data, solver) in enumerate(columns):
        answer = paper_answer(data, solver)
        wanted = answer.rank if answer else None
        ax.text(x, -1, str(wanted), ha="center", va="center", fontsize=9, fontweight="bold")
        for y, by in enumerate(ranks.values()):
            rank = by.get((data, solver))
            if rank is None:
                continue
            same = rank == wanted
            color = GOOD if same else BAD
            ax.add_patch(Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=color, edgecolor="white"))
            weight = "bold" if same else "normal"
            ax.text(x, y, str(rank), ha="center", va="center", fontsize=9, fontweight=weight)
    names = [f"{data}\n{PENS[solver].label}" for data, solver in columns]
    ax.set_xticks(range(len(columns)), names, fontsize=7)
    ax.xaxis.tick_top()
    ax.set_yticks(range(-1, len(ranks)), ["the paper", *ranks], fontsize=8)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(ranks) - 0.5, -1.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("blue, bold: the paper's rank", fontsize=8, color=QUIET)
    return figure
