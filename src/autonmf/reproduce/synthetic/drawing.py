"""Table 1 at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autonmf.reproduce import form
from autonmf.reproduce.ink import (
    BAD,
    GOOD,
    NEAR,
    PENS,
    QUIET,
    legend_below,
    log_ticks,
    new_figure,
    titled,
)  # fmt: skip
from autonmf.reproduce.paper_numbers import TABLE_1, Config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Lines = dict[Config, dict[str, list[dict[str, Any]]]]


def draw_hits(lines: Lines, methods: Sequence[str], in_paper: Sequence[str]) -> Figure:
    """A tile a configuration and method: the ranks, on a ground that says how many are right."""
    columns = [(m, source) for m in methods for source in (("paper", "ours") if m in in_paper else ("ours",))]
    figure, axes = new_figure(11.0, 1.4 + 0.27 * len(lines))
    ax = axes[0, 0]
    for y, (config, by) in enumerate(lines.items()):
        for x, (method, source) in enumerate(columns):
            if source == "paper":
                found = [TABLE_1[config][method].rank]
            else:
                found = [row["found"] for row in by.get(method, [])]
            found = form.known(found)
            if not found:
                continue
            right = sum(rank == config.rank for rank in found)
            ground = GOOD if right == len(found) else NEAR if right else BAD
            ax.add_patch(_tile(x, y, ground, dashed=source == "paper"))
            bold = "bold" if right < len(found) else "normal"
            ax.text(x, y, form.ranks(found), ha="center", va="center", fontsize=8, fontweight=bold)
    labels = [f"{PENS[m].label}\n{source}".replace(", exact", ",\nexact") for m, source in columns]
    ax.set_xticks(range(len(columns)), labels, fontsize=8)
    ax.xaxis.tick_top()
    ax.set_yticks(
        range(len(lines)), [f"{c.n} x {c.m}, noise {c.noise:g}, r* = {c.rank}" for c in lines], fontsize=8
    )
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    text = (
        "blue: every seed right; yellow: some; orange: none; bold: not every seed. Thin frame: the paper's."
    )
    ax.set_xlabel(text, fontsize=8, color=QUIET)
    return figure


def _tile(x: float, y: float, color: str, dashed: bool) -> Any:
    from matplotlib.patches import Rectangle

    edge = "#444444" if dashed else "white"
    return Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=color, edgecolor=edge, linewidth=0.8)


def draw_numbers(lines: Lines) -> Figure:
    """Recovery errors where the rank is right, and times by size."""
    figure, axes = new_figure(10.5, 4.4, 1, 2)
    errors, times = axes[0]
    for method in ("ipalm", "pasm", "default"):
        points = [
            (TABLE_1[c]["pasm"].error, row["recovery_error"])
            for c, by in lines.items()
            for row in by.get(method, [])
            if row["found"] == c.rank
        ]
        if points:
            x, y = zip(*points, strict=True)
            pen = PENS[method]
            errors.scatter(x, y, s=34, facecolors="none", edgecolors=pen.color, marker=pen.marker)
    ends = [
        min(by["pasm"].error or 1 for by in TABLE_1.values()),
        max(by["pasm"].error or 0 for by in TABLE_1.values()),
    ]
    errors.plot(ends, ends, color=QUIET, linewidth=0.8, zorder=0)
    log_ticks(errors.xaxis)
    log_ticks(errors.yaxis)
    errors.set_xlabel("recovery error in the paper (PASM)", fontsize=9)
    errors.set_ylabel("ours, where the rank is right", fontsize=9)
    titled(errors, "on the line: the same error")
    for method in ("ipalm", "pasm", "default", "svht", "cv"):
        _times(times, lines, method)
    log_ticks(times.xaxis)
    log_ticks(times.yaxis)
    sizes = dict.fromkeys((c.n, c.m) for c in lines)
    times.set_xticks([n * m for n, m in sizes], [f"{n} x {m}" for n, m in sizes], rotation=40, ha="right")
    times.minorticks_off()
    times.set_xlabel("X, by its number of entries", fontsize=9)
    times.set_ylabel("seconds", fontsize=9)
    titled(times, "filled: ours; open, thin: the paper's (another machine)")
    legend_below(figure, times, 5)
    return figure


def _times(ax: Any, lines: Lines, method: str) -> None:
    """Medians over the configurations of a size."""
    pen = PENS[method]
    sizes = dict.fromkeys((c.n, c.m) for c in lines)
    ours, paper = [], []
    for n, m in sizes:
        rows = [row for c, by in lines.items() if (c.n, c.m) == (n, m) for row in by.get(method, [])]
        ours.append(form.middle(row["seconds"] for row in rows))
        known = [by[method].seconds for c, by in TABLE_1.items() if (c.n, c.m) == (n, m) and method in by]
        paper.append(form.middle(known))
    x = [n * m for n, m in sizes]
    for values, style in (
        (ours, {"linewidth": 1.8, **pen.line}),
        (paper, {"linewidth": 0.8, "color": pen.color}),
    ):
        pairs = [(a, b) for a, b in zip(x, values, strict=True) if b is not None]
        if pairs:
            fill = pen.color if values is ours else "white"
            ax.plot(*zip(*pairs, strict=True), marker=pen.marker, markersize=6, markerfacecolor=fill, **style)
