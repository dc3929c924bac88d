"""Section VI-C: the λ-path, and its time against paths of discrete ranks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from autonmf import RankPath, rank_path, select_rank
from autonmf.baselines import discrete_path
from experiments.paper import document, style
from experiments.paper.document import Block, Paragraph, Picture, Table
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
from experiments.paper.paper_numbers import PATH_SECONDS, path_ratios
from experiments.paper.paths import Plateau, diagnostic, plateau_of, trace_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compare_times(
    *,
    data: str,
    noise: float,
    solver: str,
    seed: int,
    n_points: int,
    max_rank: int,
    last: int,
    tau: float,
    repeats: int,
    size: tuple[int, int] = (100, 80),
    rank: int = 10,
    data_home: str | None = None,
) -> dict[str, Any]:
    """A cell: five paths through the ranks of one matrix; medians of ``repeats`` rounds."""
    given = diagnostic(data, noise, seed, size, rank, data_home)
    X, ranks = given.X, range(2, last + 1)
    common: dict[str, Any] = {"scale": False, "engine": "direct", "random_state": seed}
    ways: dict[str, Callable[[], RankPath]] = {
        "λ-path": lambda: rank_path(X, max_rank, solver=solver, grid="adaptive", n_points=n_points, **common),
        "decreasing": lambda: discrete_path(X, ranks, "decreasing", solver=solver, **common),
        "increasing": lambda: discrete_path(X, ranks, "increasing", solver=solver, **common),
        "exact": lambda: rank_path(X, max_rank, solver=solver, **common),
        "exact, full": lambda: rank_path(X, max_rank, solver=solver, budget="full", **common),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    paths: dict[str, RankPath] = {}
    for _ in range(repeats):
        for way, compute in ways.items():
            began = time.perf_counter()
            paths[way] = compute()
            seconds[way].append(time.perf_counter() - began)
    return {
        "rows": [
            {
                "way": way,
                "seconds": median(seconds[way]),
                "fastest": min(seconds[way]),
                "slowest": max(seconds[way]),
                "iterations": sum(visit.n_iter for visit in path.visits),
                "points": len(path.visits),
                "found": select_rank(path, "marginal", tau=tau).rank,
                "order": given.order,
            }
            for way, path in paths.items()
        ]
    }


NAME = "lambda-path"
N_POINTS = 20
SEEDS = {Scale.quick: 1, Scale.standard: 3, Scale.full: 5}
TIMED_SEEDS = {Scale.quick: 1, Scale.standard: 1, Scale.full: 3}
REPEATS = {Scale.quick: 1, Scale.standard: 3, Scale.full: 3}
# data, noise; where the path starts, the last rank of the discrete paths, the paper's τ; seconds of a timing
SETS: tuple[tuple[str, float, int, int, float, float], ...] = (
    ("synthetic", 0.0, 40, 20, 5.0, 1.5),
    ("synthetic", 0.1, 40, 20, 5.0, 3.0),
    ("swimmer", 0.0, 50, 40, 2.0, 5.5),
    ("swimmer", 1.0, 50, 40, 2.0, 11.5),
)


def title_of(data: str, noise: float) -> str:
    """A data set in words."""
    if data == "synthetic":
        return f"synthetic, noise {noise:g}"
    return "Swimmer, noisy" if noise else "Swimmer, noise-free"


def trace_cells(
    experiment: str, scale: Scale, solvers: tuple[str, ...], seeds: int, data_home: str | None
) -> Iterator[Cell]:
    """A path of each solver on each data set and seed."""
    function = partial(trace_path, data_home=data_home)
    for data, noise, max_rank, *_ in SETS:
        for solver in solvers:
            for seed in range(seeds):
                parameters = {
                    "data": data, "noise": noise, "solver": solver, "seed": seed, "n_points": N_POINTS,
                    "max_rank": max_rank,
                }  # fmt: skip
                name = f"{title_of(data, noise)} {solver} seed {seed}"
                cost = 0.3 if data == "synthetic" else 1.2
                yield Cell(experiment, name, parameters, function, cost)


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Paths of PASM and S-iPALM, and the timings."""
    found = list(trace_cells(NAME, scale, ("pasm", "s-ipalm"), SEEDS[scale], data_home))
    function = partial(compare_times, data_home=data_home)
    for data, noise, max_rank, last, tau, cost in SETS:
        for solver in ("pasm",) if scale is Scale.quick else ("pasm", "s-ipalm"):
            for seed in range(TIMED_SEEDS[scale]):
                parameters = {
                    "data": data, "noise": noise, "solver": solver, "seed": seed, "n_points": N_POINTS,
                    "max_rank": max_rank, "last": last, "tau": tau, "repeats": REPEATS[scale],
                }  # fmt: skip
                name = f"times {title_of(data, noise)} {solver} seed {seed}"
                slower = 1.0 if solver == "pasm" else 2.5
                found.append(Cell(NAME, name, parameters, function, cost * slower * REPEATS[scale]))
    return found


Timings = dict[tuple[str, float, str], dict[str, list[dict[str, Any]]]]
"""Rows by (data, noise, solver) and by way, in the order of the seeds."""


def curves_of(results: Results) -> list[dict[str, Any]]:
    """Every path."""
    return [curve for done in results for curve in done.curves]


def timings_of(results: Results) -> Timings:
    """Rows of the timings by (data, noise, solver) and by way."""
    found: Timings = {}
    for done in results:
        for row in done.rows:
            if "way" in row:
                key = (row["data"], row["noise"], row["solver"])
                found.setdefault(key, {}).setdefault(row["way"], []).append(row)
    return found


def ratio_of(ways: dict[str, list[dict[str, Any]]], way: str, key: str = "seconds") -> float:
    """Of a way to the λ-path, the median over the seeds."""
    return float(median(a[key] / b[key] for a, b in zip(ways[way], ways["λ-path"], strict=True)))


def error_below(curve: dict[str, Any]) -> float | None:
    """The error at the first point with fewer components than the true rank."""
    pairs = zip(curve["rank"], curve["error"], strict=True)
    return next((error for rank, error in pairs if rank < curve["order"]), None)


def iterations_of(curve: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Medians at the first point, where the rank changes, and elsewhere."""
    ranks, counts = curve["rank"], curve["n_iter"]
    changes = [counts[i] for i in range(1, len(ranks)) if ranks[i] != ranks[i - 1]]
    rests = [counts[i] for i in range(1, len(ranks)) if ranks[i] == ranks[i - 1]]
    return counts[0], document.middle(changes), document.middle(rests)


WAYS = ("λ-path", "decreasing", "increasing", "exact", "exact, full")


def tables(results: Results) -> list[Table]:
    """The paths, then the times."""
    found = []
    lines = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for curve in curves_of(results):
        groups.setdefault((title_of(curve["data"], curve["noise"]), curve["solver"]), []).append(curve)
    for (title, solver), curves in groups.items():
        plateaus = [plateau_of(curve) for curve in curves]
        lines.append(
            (
                title,
                style.PENS[solver].label,
                f"{sum(p is not None for p in plateaus)}/{len(plateaus)}",
                document.ranks([p.points if p else 0 for p in plateaus]),
                document.spread(p.error for p in plateaus if p),
                document.spread(error_below(curve) for curve in curves),
                *(document.spread(counts[i] for counts in map(iterations_of, curves)) for i in range(3)),
                " ".join(map(str, curves[0]["rank"])),
            )
        )
    if lines:
        found.append(
            Table(
                f"The λ-path with {N_POINTS} points",
                (
                    "data", "solver", "paths that visit r*", "points at r*", "error there",
                    "error at the next smaller rank", "iterations: first point", "where the rank changes",
                    "elsewhere", "ranks, seed 0",
                ),
                tuple(lines),
                "Error: ‖X - UVᵀ‖/‖X‖. Median (minimum to maximum) over the seeds.",
            )
        )  # fmt: skip
    if timings := timings_of(results):
        found.append(_time_table(timings))
    return found


def _time_table(timings: Timings) -> Table:
    lines = []
    for (data, noise, solver), ways in timings.items():
        paper = dict(zip(WAYS, PATH_SECONDS[data], strict=False))
        for way, rows in ways.items():
            lines.append(
                (
                    title_of(data, noise),
                    style.PENS[solver].label,
                    way,
                    document.spread((row["seconds"] for row in rows), document.digits),
                    document.spread(row["iterations"] for row in rows),
                    str(rows[0]["points"]),
                    document.ranks([row["found"] for row in rows]),
                    document.times(ratio_of(ways, way)),
                    document.times(ratio_of(ways, way, "iterations")),
                    document.seconds(paper.get(way)),
                    document.times(paper[way] / paper["λ-path"]) if way in paper else document.NONE,
                )
            )
    return Table(
        "Times and iterations of five paths through the ranks",
        (
            "data", "solver", "path", "seconds", "iterations", "points", "rank by the rule", "time / λ-path",
            "iterations / λ-path", "paper, seconds", "paper, time / λ-path",
        ),
        tuple(lines),
        "All five paths use the same matrix, solver, kernels and stopping criterion, and alternate in one "
        "process; medians over the rounds, then over the seeds. λ-path: the paper's grid with 20 points, "
        "from 40 components (synthetic) or 50 (Swimmer). Decreasing and increasing: λ = 0 and r = 2..20 or "
        "2..40. exact: every rank from the same largest one down to 1, with the few iterations per rank "
        "that the package makes; exact, full: the same, iterated until the stopping criterion holds at "
        "every rank.",
    )  # fmt: skip


NEAR_PAPER = 0.8
"""The fraction of the paper's ratio of times from which on it counts as reached."""

FEW = 1.5
"""Iterations on a plateau against the fewest that the stopping criterion allows, 21, to count as few."""


def verdict(results: Results) -> Verdict:
    """Plateau, iterations and times."""
    claims = []
    curves = curves_of(results)
    for data in ("synthetic", "swimmer"):
        of_data = [curve for curve in curves if curve["data"] == data]
        if of_data:
            claims.append(_plateau_claim(data, of_data))
    if curves:
        claims.append(_iterations_claim(curves))
    timings = timings_of(results)
    for data in ("synthetic", "swimmer"):
        of_times = {key: ways for key, ways in timings.items() if key[0] == data}
        if of_times:
            claims.append(_time_claim(data, of_times))
    return judge(claims)


def _plateau_claim(data: str, curves: list[dict[str, Any]]) -> Claim:
    """Clear: several points, no other rank has more, and the error jumps below it."""
    clear = visited = 0
    for curve in curves:
        plateau, below = plateau_of(curve), error_below(curve)
        if plateau is None:
            continue
        visited += 1
        counts = {rank: curve["rank"].count(rank) for rank in set(curve["rank"]) - {1, max(curve["rank"])}}
        low = below is None or plateau.error is None or below > 1.2 * plateau.error
        clear += plateau.points >= 2 and plateau.points >= max(counts.values()) and low
    return Claim(
        f"{data}: the rank is piecewise constant with a clear plateau at r*, and the error is low there",
        f"{clear} of {len(curves)} paths have their longest plateau at r*, with a clearly larger error at "
        f"lower ranks; {visited} visit r* at all",
        graded(clear / len(curves), 0.9, 0.5),
    )


def _iterations_claim(curves: list[dict[str, Any]]) -> Claim:
    first, changing, resting = (
        document.middle(counts) for counts in zip(*map(iterations_of, curves), strict=True)
    )
    holds = Holds.yes if resting is not None and resting <= 21 * FEW else Holds.no
    return Claim(
        "apart from the first solve and rank transitions, warm-started points need few iterations",
        f"median iterations: {document.digits(first)} at the first point, {document.digits(changing)} where "
        f"the rank changes, {document.digits(resting)} elsewhere; the stopping criterion allows "
        "no fewer than 21",
        holds,
    )


def _time_claim(data: str, timings: Timings) -> Claim:
    down, up = path_ratios(data)
    ours = [(ratio_of(ways, "decreasing"), ratio_of(ways, "increasing")) for ways in timings.values()]
    lowest, highest = min(map(min, ours)), max(map(max, ours))
    reached = median(min(a / down, b / up) for a, b in ours)
    return Claim(
        f"{data}: the λ-path is {down:.1f} and {up:.1f} times faster than the decreasing and increasing "
        "paths",
        f"{lowest:.1f} to {highest:.1f} times over inputs, solvers and directions",
        graded(reached, NEAR_PAPER, min(1 / down, 1 / up)),
    )


COLORS = {
    "λ-path": style.PENS["pasm"].color,
    "decreasing": style.PENS["s-ipalm"].color,
    "increasing": style.PENS["cv"].color,
    "exact": style.PENS["default"].color,
    "exact, full": style.PENS["palm"].color,
}
PAPER_BARS = ("λ-path", "decreasing", "increasing")


def draw_paths(panels: Sequence[tuple[str, dict[str, Any], Plateau | None]]) -> Figure:
    """One column per data set: rank, error and iterations against λ."""
    figure, axes = style.new_figure(3.0 * len(panels), 6.4, 3, len(panels), sharex="col")
    pen = style.PENS["pasm"]
    for column, (title, curve, plateau) in enumerate(panels):
        rank, error, iterations = axes[:, column]
        style.set_title(rank, title)
        lam = curve["lam"]
        rank.step(lam, curve["rank"], where="post", color=pen.color)
        rank.plot(lam, curve["rank"], pen.marker, color=pen.color, markersize=4)
        error.plot(lam, curve["error"], pen.marker + "-", color=pen.color, markersize=4)
        iterations.vlines(lam, 0, curve["n_iter"], color=pen.color, linewidth=2)
        iterations.plot(lam, curve["n_iter"], pen.marker, color=pen.color, markersize=4)
        style.mark_order(rank, curve["order"])
        iterations.axhline(21, color=style.QUIET, linewidth=0.8)
        if plateau is not None:
            for ax in (rank, error, iterations):
                ax.axvspan(plateau.low, plateau.high, color=style.PALE, zorder=0)
        style.use_log_ticks(rank.xaxis)
        style.use_log_ticks(error.yaxis)
        iterations.set_xlabel("λ", fontsize=9)
    labels = ("rank", "‖X - UVᵀ‖ / ‖X‖", "iterations\n(line: 21, the fewest possible)")
    for row, label in enumerate(labels):
        axes[row, 0].set_ylabel(label, fontsize=9)
        if row != 1:
            highest = max(ax.get_ylim()[1] for ax in axes[row])
            for ax in axes[row]:
                ax.set_ylim(0, highest)
                style.use_integer_ticks(ax.yaxis)
    return figure


def draw_times(bars: dict[str, dict[str, tuple[float, float]]]) -> Figure:
    """One panel per data set: seconds, with the ratio to the λ-path, ours and the paper's."""
    figure, axes = style.new_figure(3.2 * len(bars), 3.2, 1, len(bars))
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
        style.set_title(ax, title)
    return figure


def figures(results: Results) -> list[Picture]:
    """PASM's paths of the first seed, and the times."""
    first = [c for c in curves_of(results) if c["seed"] == 0 and c["solver"] == "pasm"]
    timings = {key: ways for key, ways in timings_of(results).items() if key[2] == "pasm"}
    found = []
    if first:
        panels = [(title_of(curve["data"], curve["noise"]), curve, plateau_of(curve)) for curve in first]
        caption = (
            "The λ-path of PASM with 20 points: rank, error and iterations along λ; shaded: the rank is r*."
        )
        found.append(Picture("lambda-path", caption, partial(draw_paths, panels)))
    if timings:
        bars = {
            title_of(data, noise): {
                way: (median(r["seconds"] for r in rows), median(r["iterations"] for r in rows))
                for way, rows in ways.items()
            }
            for (data, noise, _), ways in timings.items()
        }
        caption = "Time of the λ-path of PASM against paths of discrete ranks, and of the exact path."
        found.append(Picture("lambda-path-times", caption, partial(draw_times, bars)))
    return found


def readings(results: Results) -> list[Block]:
    """What the section leaves open."""
    return [
        Paragraph(
            "Section VI-C does not name the solver; we run PASM and S-iPALM. The discrete paths start "
            "from 20 or 40 components, the λ-path from 40 or 50, as in the paper. At λ = 0 PASM's "
            "discrete path makes the same steps as its λ-path (a proximal step and one HALS sweep), not "
            "the three HALS sweeps per iteration of the package's default."
        )
    ]


EXPERIMENT = Experiment(
    NAME,
    "The λ-path, and its time against discrete paths",
    "Sec. VI-C",
    "The paper's grid with N_λ = 20 on the synthetic matrix (100x80, r* = 10, noise 0 and 0.1, from 40 "
    "components) and on both Swimmers (r* = 16, from 50), then the times of the λ-path and of two "
    "discrete paths.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
