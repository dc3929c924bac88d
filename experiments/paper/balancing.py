"""Section VI-D: S-iPALM against iPALM along the path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.paper import document, style
from experiments.paper.document import Picture, Table
from experiments.paper.experiment import (
    Cell,
    Claim,
    Experiment,
    Holds,
    Results,
    Scale,
    Verdict,
    graded,
    judge,
)
from experiments.paper.lambda_path import title_of, trace_cells
from experiments.paper.paths import Plateau, over_ranked, plateau_of, reached, width_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAME = "balancing"
SOLVERS = ("s-ipalm", "ipalm")
SEEDS = {Scale.quick: 3, Scale.standard: 5, Scale.full: 10}


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """A path of each on each data set and seed."""
    return list(trace_cells(NAME, scale, SOLVERS, SEEDS[scale], data_home))


Group = dict[str, list[dict[str, Any]]]


def groups_of(results: Results) -> dict[tuple[str, float], Group]:
    """Curves by data set and by solver, in the order of the seeds."""
    found: dict[tuple[str, float], Group] = {}
    for done in results:
        for curve in done.curves:
            group = found.setdefault((curve["data"], curve["noise"]), {})
            group.setdefault(curve["solver"], []).append(curve)
    return {key: group for key, group in found.items() if set(group) == set(SOLVERS)}


def plateaus_of(curves: list[dict[str, Any]]) -> list[Plateau]:
    """Those of the paths that have one."""
    return [plateau for curve in curves if (plateau := plateau_of(curve))]


HEADER = (
    "data", "solver", "paths that visit r*", "points at r*", "plateau from λ", "to λ", "width (to / from)",
    "error on it", "recovery error on it", "λ where the rank is r* or less", "fraction of the path above r*",
)  # fmt: skip


def tables(results: Results) -> list[Table]:
    """One line per data set and solver."""
    lines = []
    for (data, noise), group in groups_of(results).items():
        for solver, curves in group.items():
            plateaus = plateaus_of(curves)
            lines.append(
                (
                    title_of(data, noise),
                    style.PENS[solver].label,
                    document.share(len(plateaus), len(curves)),
                    document.spread(p.points if (p := plateau_of(curve)) else 0 for curve in curves),
                    document.spread(p.low for p in plateaus),
                    document.spread(p.high for p in plateaus),
                    document.spread(p.width for p in plateaus),
                    document.spread(p.error for p in plateaus),
                    document.spread(p.recovery_error for p in plateaus),
                    document.spread(found[0] for curve in curves if (found := reached(curve))),
                    document.spread((over_ranked(curve) for curve in curves), lambda value: f"{value:.0%}"),
                )
            )
    note = (
        "The paper's grid with 20 points. Median (minimum to maximum) over the seeds; a path that jumps "
        "over r* has no plateau and counts as zero points. Error: ‖X - UVᵀ‖/‖X‖; recovery error: RE of U."
    )
    return [Table("Balanced and unbalanced paths", HEADER, tuple(lines), note)] if lines else []


SMALLER = 0.8
"""λ at which the reference rank is reached, against iPALM's, to count as substantially smaller."""

NEAR_ZERO = 0.01
"""A recovery error on noise-free data that counts as near zero; its largest value is √20."""


def verdict(results: Results) -> Verdict:
    """The sentences of Section VI-D, on every variant of its data."""
    claims = []
    for (data, noise), group in groups_of(results).items():
        title = title_of(data, noise)
        if data == "synthetic":
            claims += [_wider(title, group), _near_zero(title, group, noise)]
        else:
            claims += [_sooner(title, group), _over(title, group)]
    return judge(claims)


def _visits(group: Group) -> str:
    shares = [document.share(len(plateaus_of(group[solver])), len(group[solver])) for solver in SOLVERS]
    return f"r* is visited in {shares[0]} paths by S-iPALM and {shares[1]} by iPALM"


def _wider(title: str, group: Group) -> Claim:
    pairs = [(width_of(a), width_of(b)) for a, b in zip(*(group[s] for s in SOLVERS), strict=True)]
    wider, narrower = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    widths = [median(side) for side in zip(*pairs, strict=True)]
    return Claim(
        f"{title}: S-iPALM has a wider plateau at r*",
        f"wider in {wider} seeds of {len(pairs)}, narrower in {narrower}; λ at its end over λ at its "
        f"start is {widths[0]:.2f} against {widths[1]:.2f} (medians, 1 for a path that jumps over r*); "
        f"{_visits(group)}",
        graded(wider / max(wider + narrower, 1), 0.7, 0.5),
    )


def _near_zero(title: str, group: Group, noise: float) -> Claim:
    balanced, plain = ([p.recovery_error for p in plateaus_of(group[s])] for s in SOLVERS)
    ours, other = document.middle(balanced), document.middle(plain)
    limit = NEAR_ZERO if noise == 0 else 2 * noise
    return Claim(
        f"{title}: S-iPALM's recovery error on the plateau is near zero",
        f"RE {document.digits(ours)} (median; iPALM {document.digits(other)})"
        + ("" if noise == 0 else "; the noise does not allow much less"),
        Holds.yes if ours is not None and ours <= limit else Holds.no,
    )


def _sooner(title: str, group: Group) -> Claim:
    pairs = [(reached(a), reached(b)) for a, b in zip(*(group[s] for s in SOLVERS), strict=True)]
    both = [(a, b) for a, b in pairs if a and b]
    paper = f"{title}: S-iPALM reaches 16 at a substantially smaller λ and with a lower error"
    if not both:
        return Claim(paper, f"no seed where both come down to 16; {_visits(group)}", Holds.no)
    ratio = median(a[0] / b[0] for a, b in both)
    lower = sum(a[1] < b[1] for a, b in both)
    good = [ratio <= SMALLER, lower > len(both) / 2]
    return Claim(
        paper,
        f"16 or less is reached at {ratio:.2f} times iPALM's λ (median), with a lower error in {lower} of "
        f"{len(both)} seeds; {_visits(group)}",
        Holds.yes if all(good) else Holds.partly if any(good) else Holds.no,
    )


def _over(title: str, group: Group) -> Claim:
    balanced, plain = (median(over_ranked(curve) for curve in group[s]) for s in SOLVERS)
    more, much = plain > balanced + 0.05, plain >= 0.5
    return Claim(
        f"{title}: without balancing the path remains over-ranked over much of it",
        f"above 16 for {plain:.0%} of iPALM's points and {balanced:.0%} of S-iPALM's (medians)",
        Holds.yes if more and much else Holds.partly if more else Holds.no,
    )


Panel = tuple[str, list[tuple[str, dict[str, Any]]]]


def draw(panels: Sequence[Panel]) -> Figure:
    """One column per data set: rank and error against λ."""
    figure, axes = style.new_figure(3.0 * len(panels), 5.4, 2, len(panels), sharex="col")
    for column, (title, curves) in enumerate(panels):
        rank, error = axes[:, column]
        style.set_title(rank, title)
        for place, (solver, curve) in enumerate(curves):
            pen = style.PENS[solver]
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
        style.mark_order(rank, curves[0][1]["order"])
        style.use_integer_ticks(rank.yaxis)
        style.use_log_ticks(rank.xaxis)
        rank.set_ylim(0, 1.25 * max(max(curve["rank"]) for _, curve in curves))
        style.use_log_ticks(error.yaxis)
        error.set_xlabel("λ", fontsize=9)
    axes[0, 0].set_ylabel("rank", fontsize=9)
    axes[1, 0].set_ylabel("‖X - UVᵀ‖ / ‖X‖", fontsize=9)
    style.legend_below(figure, axes[0, 0], 2)
    return figure


def figures(results: Results) -> list[Picture]:
    """The paths of the first seed."""
    panels = [
        (title_of(data, noise), [(solver, group[solver][0]) for solver in SOLVERS])
        for (data, noise), group in groups_of(results).items()
    ]
    caption = "Paths with and without balancing (seed 0, 20 points): rank and error; bars: the rank is r*."
    return [Picture("balancing", caption, partial(draw, panels))] if panels else []


EXPERIMENT = Experiment(
    NAME,
    "Scale balancing along the path",
    "Sec. VI-D",
    "S-iPALM and iPALM on the paper's grid with N_λ = 20, on the data of Sec. VI-C.",
    cells,
    figures,
    tables,
    verdict,
)
