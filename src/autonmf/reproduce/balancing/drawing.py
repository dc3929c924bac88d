"""Two solvers along λ, their plateaus at the true rank as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autonmf.reproduce.ink import (
    PENS,
    legend_below,
    log_ticks,
    mark_order,
    new_figure,
    titled,
    whole_numbers,
)
from autonmf.reproduce.plateau import plateau_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Panel = tuple[str, list[tuple[str, dict[str, Any]]]]


def draw(panels: Sequence[Panel]) -> Figure:
    """A column a data set: rank and error against λ."""
    figure, axes = new_figure(3.0 * len(panels), 5.4, 2, len(panels), sharex="col")
    for column, (title, curves) in enumerate(panels):
        rank, error = axes[:, column]
        titled(rank, title)
        for place, (solver, curve) in enumerate(curves):
            pen = PENS[solver]
            rank.step(curve["lam"], curve["rank"], where="post", linewidth=1.6, **pen.line)
            rank.plot(curve["lam"], curve["rank"], pen.marker, color=pen.color, markersize=4)
            error.plot(curve["lam"], curve["error"], linewidth=1.6, **pen.line)
            error.plot(curve["lam"], curve["error"], pen.marker, color=pen.color, markersize=4)
            plateau = plateau_of(curve)
            text = "jumps over r*" if plateau is None else f"{plateau.points} points at r*"
            rank.annotate(f"{pen.label}: {text}", (0.98, 0.97 - 0.08 * place), xycoords="axes fraction",
                          ha="right", va="top", fontsize=8, color=pen.color)  # fmt: skip
            if plateau is not None:
                height = curve["order"] - 2.0 - 1.6 * place
                rank.hlines(height, plateau.low, plateau.high, color=pen.color, linewidth=5)
        mark_order(rank, curves[0][1]["order"])
        whole_numbers(rank.yaxis)
        log_ticks(rank.xaxis)
        rank.set_ylim(0, 1.25 * max(max(curve["rank"]) for _, curve in curves))
        log_ticks(error.yaxis)
        error.set_xlabel("λ", fontsize=9)
    axes[0, 0].set_ylabel("rank", fontsize=9)
    axes[1, 0].set_ylabel("‖X - UVᵀ‖ / ‖X‖", fontsize=9)
    legend_below(figure, axes[0, 0], 2)
    return figure
