"""Section VI-E, Table 1: ranks, recovery errors and times on 24 synthetic configurations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from autonmf import AutoNMF
from autonmf.baselines import cross_validate, svht
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error
from experiments.core import Array
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
from experiments.paper.paper_numbers import TABLE_1, Config
from experiments.paper.paths import PASM_ONLY, READINGS, bisected, paper_grid, reading_of, rule_readings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TAU = 5.0
"""The paper's threshold for synthetic data."""


def solve(
    *, n: int, m: int, noise: float, rank: int, seed: int, method: str, **reading: Any
) -> dict[str, Any]:
    """A cell: the rank that a method finds, its recovery error and its time.

    ``reading`` holds what `paper_grid` may be told beside the solver.
    """
    X, U, _ = make_low_rank(n, m, rank, noise, random_state=seed)
    if method in ("ipalm", "s-ipalm", "pasm"):
        found = paper_grid(X, method, tau=TAU, seed=seed, **reading)
        between = {} if reading else bisected(X, method, found.curve, tau=TAU, seed=seed, wanted=rank)
        return {"rows": [found.row | _error(U, found.U) | between], "curves": [found.curve]}
    if method == "svht":
        began = time.perf_counter()
        estimate = svht(X)
        return {"rows": [{"found": estimate.rank, "seconds": time.perf_counter() - began}]}
    if method == "cv":
        return {"rows": [_cross_validate(X, U, seed)]}
    options: dict[str, Any] = {"rule": "marginal", "tau": TAU} if method == "pasm exact" else {}
    return {"rows": [_estimate(X, U, seed, options)]}


def _estimate(X: Array, U: Array, seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """`AutoNMF` with these options and no others."""
    model = AutoNMF(random_state=seed, **options)
    began = time.perf_counter()
    W = model.fit_transform(X)
    seconds = time.perf_counter() - began
    estimate = model.rank_estimate_
    return {
        "found": model.n_components_,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "confidence": estimate.confidence if estimate else None,
        **_error(U, W),
    }


def _cross_validate(X: Array, U: Array, seed: int) -> dict[str, Any]:
    """Wold's cross-validation, then a factorisation at the rank that it finds."""
    began = time.perf_counter()
    estimate = cross_validate(X, random_state=seed)
    W = AutoNMF(estimate.rank, random_state=seed).fit_transform(X)
    seconds = time.perf_counter() - began
    return {"found": estimate.rank, "seconds": seconds, **_error(U, W)}


def _error(U: Array, W: Array | None) -> dict[str, Any]:
    return {"recovery_error": None if W is None else recovery_error(U, W)}


NAME = "synthetic"
METHODS = ("ipalm", "pasm", "pasm exact", "default", "svht", "cv")
IN_PAPER = ("ipalm", "pasm", "svht", "cv")
SIZES = tuple(dict.fromkeys((config.n, config.m) for config in TABLE_1))
KINDS = {
    "ipalm": "grid",
    "pasm": "grid",
    "pasm exact": "exact",
    "default": "exact",
    "svht": "exact",
    "cv": "cv",
}
# How many seeds at each size, in the order of Table 1.
SEEDS: dict[Scale, dict[str, tuple[int, ...]]] = {
    Scale.quick: {"grid": (1, 1), "exact": (1, 1), "cv": (1,)},
    Scale.standard: {"grid": (3, 3, 1, 1), "exact": (3, 3, 3, 3), "cv": (1, 1)},
    Scale.full: {"grid": (3,) * 6, "exact": (3,) * 6, "cv": (3, 3, 1)},
}
READ_AT = (1000, 400)
"""The size at which other readings of the text are tried."""

READ_SEEDS = {Scale.quick: 1, Scale.standard: 1, Scale.full: 2}
SOME_READINGS = ("N_λ = 50", "start uniform / 100")
ALL_READINGS = tuple(name for name in READINGS if name != "as read" and not name.startswith("X "))


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Table 1, then the readings at one size."""
    found = []
    for config in TABLE_1:
        for method in METHODS:
            seeds = SEEDS[scale][KINDS[method]]
            place = SIZES.index((config.n, config.m))
            for seed in range(seeds[place] if place < len(seeds) else 0):
                found.append(_cell(config, method, seed, "as read"))
    names = SOME_READINGS if scale is Scale.quick else ALL_READINGS
    for config in TABLE_1:
        if (config.n, config.m) == READ_AT:
            for reading in names:
                for method in ("pasm",) if reading in PASM_ONLY else ("ipalm", "pasm"):
                    found += [_cell(config, method, seed, reading) for seed in range(READ_SEEDS[scale])]
    return found


def _cell(config: Config, method: str, seed: int, reading: str) -> Cell:
    parameters = {**config._asdict(), "method": method, "seed": seed, **READINGS[reading]}
    name = f"{config.n}x{config.m} noise {config.noise:g} r* {config.rank} {method} seed {seed}"
    name += "" if reading == "as read" else f" {reading}"
    return Cell(NAME, name, parameters, solve, _cost(config, method, READINGS[reading]))


def _cost(config: Config, method: str, reading: dict[str, Any]) -> float:
    """Seconds, from a few that were measured."""
    size = config.n * config.m
    if KINDS[method] == "grid":
        return (0.5 + 1.3e-6 * size) * float(reading.get("n_points", 30)) / 30
    return {"cv": 2 + 8e-6 * size, "svht": 2.5e-7 * size}.get(method, 0.1 + 1.2e-7 * size)


Lines = dict[Config, dict[str, list[dict[str, Any]]]]


def lines_of(results: Results, reading: str = "as read") -> Lines:
    """Rows by configuration and method, in the order of the seeds."""
    found: Lines = {}
    for done in results:
        if reading_of(done.parameters) == reading:
            for row in done.rows:
                config = Config(row["n"], row["m"], row["noise"], row["rank"])
                found.setdefault(config, {}).setdefault(row["method"], []).append(row)
    return found


def hits(lines: Lines, method: str) -> tuple[int, int]:
    """Right ranks, and how many there are."""
    answers = [row["found"] == config.rank for config, by in lines.items() for row in by.get(method, [])]
    return sum(answers), len(answers)


def tables(results: Results) -> list[Table]:
    """Hits, ranks, recovery errors, times, and why the grid missed."""
    lines = lines_of(results)
    if not lines:
        return []
    return [
        _hits_table(lines),
        _table(lines, "Table 1: ranks (paper / ours)", "found", "rank", document.ranks,
               "Several numbers: one per seed; one number: all seeds agree, or only one was run. PASM, exact "
               "path: every rank, by HALS sweeps and mergers, with the paper's rule and τ = 5; our default: "
               "`AutoNMF()`."),
        _table(lines, "Table 1: recovery error of U (paper / ours)", "recovery_error", "error",
               document.spread,
               "Median (minimum to maximum) over the seeds."),
        _table(lines, "Table 1: seconds (paper / ours)", "seconds", "seconds",
               lambda values: document.spread(values, document.seconds),
               "The paper: MATLAB on an i9-14900HX. Ours: see the end of the page for the machine. "
               "Cross-validation: Wold's, five folds, ranks 1 to 50, one warm-started path per fold."),
        *_misses(results),
    ]  # fmt: skip


def _hits_table(lines: Lines) -> Table:
    rows = []
    for method in METHODS:
        right, total = hits(lines, method)
        if total == 0:
            continue
        every = [config for config, by in lines.items() if method in by]
        always = sum(all(row["found"] == c.rank for row in lines[c][method]) for c in every)
        paper = [
            TABLE_1[c][method].rank == c.rank
            for c in TABLE_1
            if method in IN_PAPER and TABLE_1[c][method].rank
        ]
        rows.append(
            (
                style.PENS[method].label + (", paper's grid" if KINDS[method] == "grid" else ""),
                document.share(sum(paper), len(paper)) if paper else document.NONE,
                document.share(always, len(every)),
                document.share(right, total),
            )
        )
    return Table(
        "Right ranks", ("method", "paper", "configurations right at every seed", "right answers"), tuple(rows)
    )


def _table(lines: Lines, title: str, key: str, field: str, show: Any, note: str) -> Table:
    def cell(config: Config, method: str) -> str:
        rows = lines[config].get(method)
        ours = show([row.get(key) for row in rows]) if rows else document.NONE
        if method not in IN_PAPER:
            return ours
        value = getattr(TABLE_1[config][method], field)
        paper = (
            document.NONE if value is None else str(value) if field != "error" else document.digits(value, 4)
        )
        return f"{paper} / {ours}"

    shown = [method for method in METHODS if not (key == "recovery_error" and method == "svht")]
    rows = tuple(
        (f"{c.n}x{c.m}", f"{c.noise:g}", str(c.rank), *(cell(c, method) for method in shown)) for c in lines
    )
    return Table(title, ("size", "noise", "r*", *(style.PENS[m].label for m in shown)), rows, note)


def _misses(results: Results) -> Iterator[Table]:
    """Every miss of the paper's grid: what it visited, and the ratios that the rule saw."""
    rows = []
    for done in results:
        if reading_of(done.parameters) != "as read" or not done.curves:
            continue
        row, curve = done.rows[0], done.curves[0]
        if row["found"] == row["rank"]:
            continue
        ranks = dict.fromkeys(curve["rank"])
        why = "jumps over r*" if row["rank"] not in ranks else "visits r*"
        rows.append(
            (
                f"{row['n']}x{row['m']}, {row['noise']:g}",
                str(row["rank"]),
                style.PENS[row["method"]].label,
                str(row["seed"]),
                str(row["found"]),
                why,
                " ".join(map(str, ranks)),
                ratios_text(curve, row["found"]),
                _between_text(row),
            )
        )
    if rows:
        header = (
            "matrix",
            "r*",
            "solver",
            "seed",
            "rank",
            "the grid",
            "ranks visited",
            "ratio of drops at rank",
            "with bisection",
        )
        yield Table("Where the paper's grid misses, and why", header, tuple(rows), BISECTION)


BISECTION = (
    "With bisection: where two consecutive points of the grid jump over r*, λ is halved between them, each "
    "time from the last solution with more components. Shown are the ranks that this visits, and what the "
    "rule then gives. This is our remark and no part of the paper."
)


def _between_text(row: dict[str, Any]) -> str:
    """What a bisection of λ visited, and the rank of the rule with it."""
    between = row.get("between")
    if not between:
        return document.NONE
    return f"{' '.join(map(str, between))}: rank {row['found_between']}"


def ratios_text(curve: dict[str, Any], found: int, around: int = 3) -> str:
    """The ratios at the rank found and its neighbours on the path, as rank: ratio."""
    ranks, ratios = curve["rule_rank"], curve["rule_ratio"]
    at = ranks.index(found) if found in ranks else 0
    near = range(max(at - around, 1), min(at + around + 1, len(ranks)))
    return ", ".join(f"{ranks[i]}: {document.digits(ratios[i], 2)}" for i in near)


CLOSE = 0.1
"""Recovery errors within this fraction of the paper's count as the same: the matrices are other draws."""

MUCH_FASTER = 10.0


def verdict(results: Results) -> Verdict:
    """The sentences below Table 1."""
    lines = lines_of(results)
    claims = [*_rank_claims(lines), *_svht_claim(lines), *_error_claim(lines), *_time_claim(lines)]
    return judge(claims)


def _rank_claims(lines: Lines) -> Iterator[Claim]:
    texts = {
        "pasm": ("PASM recovers r* in every configuration", 1.0),
        "ipalm": ("iPALM recovers r* in all but one configuration", 23 / 24),
    }
    for method, (text, wanted) in texts.items():
        right, total = hits(lines, method)
        if total:
            exact = hits(lines, "pasm exact")
            more = (
                f"; on the exact path PASM is right in {document.share(*exact)}" if method == "pasm" else ""
            )
            measured = f"on the paper's grid right in {document.share(right, total)}{more}"
            yield Claim(text, measured, graded(right / total, wanted, 0.75))


def _svht_claim(lines: Lines) -> Iterator[Claim]:
    seen = [(c, row["found"]) for c, by in lines.items() for row in by.get("svht", [])]
    if not seen:
        return
    paper = sum((answer.rank or 0) > c.rank for c, by in TABLE_1.items() for answer in [by["svht"]])
    over = sum(rank > c.rank for c, rank in seen)
    same = sum(rank == TABLE_1[c]["svht"].rank for c, rank in seen)
    large = [(c, rank) for c, rank in seen if c.n >= 3000]
    grows = sum(rank > c.rank for c, rank in large) > sum(rank > c.rank for c, rank in seen if c.n < 3000)
    holds = Holds.partly if not large else graded(same / len(seen), 0.8, 0.5) if grows else Holds.no
    yield Claim(
        f"SVHT overestimates systematically as dimensions grow (in its table by one, in {paper} of 24 lines)",
        f"overestimates in {document.share(over, len(seen))}; the paper's rank in "
        f"{document.share(same, len(seen))}",
        holds,
    )


def _error_claim(lines: Lines) -> Iterator[Claim]:
    ratios = [
        row["recovery_error"] / paper
        for c, by in lines.items()
        for method in ("ipalm", "pasm", "pasm exact", "default")
        for row in by.get(method, [])
        if row["found"] == c.rank and (paper := TABLE_1[c]["pasm"].error)
    ]
    if ratios:
        close = sum(abs(ratio - 1) <= CLOSE for ratio in ratios) / len(ratios)
        yield Claim(
            "with the right rank the recovery error is that of its table",
            f"ours / paper's: {document.spread(ratios)}; {close:.0%} within {CLOSE:.0%}",
            graded(close, 0.9, 0.5),
        )


def _time_claim(lines: Lines) -> Iterator[Claim]:
    pairs = [
        (cv["seconds"] / pasm["seconds"], cv["seconds"] / default["seconds"])
        for by in lines.values()
        for cv, pasm, default in zip(
            by.get("cv", []), by.get("pasm", []), by.get("default", []), strict=False
        )
    ]
    if pairs:
        ratio, ours = (document.middle(side) or 0.0 for side in zip(*pairs, strict=True))
        yield Claim(
            "the λ-path takes seconds where cross-validation faces severe bottlenecks (about 100 to 300 "
            "times)",
            f"cross-validation takes {document.times(ratio)} the time of PASM on the grid (median of "
            f"{len(pairs)} matrices where it was run) and {document.times(ours)} that of our default",
            graded(ratio, MUCH_FASTER, 1.5),
        )


AS_READ = (
    "30 points; a uniform initial point (“start” in the tables) of the scale of X, balanced; X is not "
    "scaled; one HALS sweep per step; the rule takes distinct ranks in increasing order, with the smallest "
    "loss of each."
)


def readings(results: Results) -> list[Block]:
    """How often each reading finds r* at one size."""
    n, m = READ_AT
    rows = []
    for reading in ("as read", *ALL_READINGS):
        lines = {c: by for c, by in lines_of(results, reading).items() if (c.n, c.m) == READ_AT}
        counts = [hits(lines, method) for method in ("ipalm", "pasm")]
        if any(total for _, total in counts):
            rows.append((reading, *(document.share(*pair) if pair[1] else document.NONE for pair in counts)))
    blocks: list[Block] = []
    if rows:
        header = ("reading", "iPALM finds r*", "PASM finds r*")
        text = f"Table 1, {n}x{m}: the paper's grid under other readings"
        blocks.append(Table(text, header, tuple(rows)))
    if rules := _rule_hits(results):
        blocks.append(
            Table("Table 1: the paper's rule under other readings", ("reading", "iPALM", "PASM"), rules)
        )
    if blocks:
        blocks.insert(0, Paragraph("As read: " + AS_READ))
    return blocks


def _rule_hits(results: Results) -> tuple[tuple[str, ...], ...]:
    counts: dict[str, dict[str, list[bool]]] = {}
    for done in results:
        if done.curves and reading_of(done.parameters) == "as read":
            row = done.rows[0]
            for name, rank in rule_readings(done.curves[0], TAU).items():
                counts.setdefault(name, {}).setdefault(row["method"], []).append(rank == row["rank"])
    return tuple(
        (name, *(document.share(sum(by.get(s, [])), len(by.get(s, []))) for s in ("ipalm", "pasm")))
        for name, by in counts.items()
    )


def draw_hits(lines: Lines, methods: Sequence[str], in_paper: Sequence[str]) -> Figure:
    """One tile per configuration and method: the ranks, in a colour that says how many are right."""
    columns = [(m, source) for m in methods for source in (("paper", "ours") if m in in_paper else ("ours",))]
    figure, axes = style.new_figure(11.0, 1.4 + 0.27 * len(lines))
    ax = axes[0, 0]
    for y, (config, by) in enumerate(lines.items()):
        for x, (method, source) in enumerate(columns):
            if source == "paper":
                found = [TABLE_1[config][method].rank]
            else:
                found = [row["found"] for row in by.get(method, [])]
            found = document.known(found)
            if not found:
                continue
            right = sum(rank == config.rank for rank in found)
            ground = style.GOOD if right == len(found) else style.NEAR if right else style.BAD
            ax.add_patch(_tile(x, y, ground, dashed=source == "paper"))
            bold = "bold" if right < len(found) else "normal"
            ax.text(x, y, document.ranks(found), ha="center", va="center", fontsize=8, fontweight=bold)
    labels = [f"{style.PENS[m].label}\n{source}".replace(", exact", ",\nexact") for m, source in columns]
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
    ax.set_xlabel(text, fontsize=8, color=style.QUIET)
    return figure


def _tile(x: float, y: float, color: str, dashed: bool) -> Any:
    from matplotlib.patches import Rectangle

    edge = "#444444" if dashed else "white"
    return Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=color, edgecolor=edge, linewidth=0.8)


def draw_numbers(lines: Lines) -> Figure:
    """Recovery errors where the rank is right, and times by size."""
    figure, axes = style.new_figure(10.5, 4.4, 1, 2)
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
            pen = style.PENS[method]
            errors.scatter(x, y, s=34, facecolors="none", edgecolors=pen.color, marker=pen.marker)
    ends = [
        min(by["pasm"].error or 1 for by in TABLE_1.values()),
        max(by["pasm"].error or 0 for by in TABLE_1.values()),
    ]
    errors.plot(ends, ends, color=style.QUIET, linewidth=0.8, zorder=0)
    style.use_log_ticks(errors.xaxis)
    style.use_log_ticks(errors.yaxis)
    errors.set_xlabel("recovery error in the paper (PASM)", fontsize=9)
    errors.set_ylabel("ours, where the rank is right", fontsize=9)
    style.set_title(errors, "on the line: the same error")
    for method in ("ipalm", "pasm", "default", "svht", "cv"):
        _times(times, lines, method)
    style.use_log_ticks(times.xaxis)
    style.use_log_ticks(times.yaxis)
    sizes = dict.fromkeys((c.n, c.m) for c in lines)
    times.set_xticks([n * m for n, m in sizes], [f"{n} x {m}" for n, m in sizes], rotation=40, ha="right")
    times.minorticks_off()
    times.set_xlabel("X, by its number of entries", fontsize=9)
    times.set_ylabel("seconds", fontsize=9)
    style.set_title(times, "filled: ours; open, thin: the paper's (another machine)")
    style.legend_below(figure, times, 5)
    return figure


def _times(ax: Any, lines: Lines, method: str) -> None:
    """Medians over the configurations of a size."""
    pen = style.PENS[method]
    sizes = dict.fromkeys((c.n, c.m) for c in lines)
    ours, paper = [], []
    for n, m in sizes:
        rows = [row for c, by in lines.items() if (c.n, c.m) == (n, m) for row in by.get(method, [])]
        ours.append(document.middle(row["seconds"] for row in rows))
        known = [by[method].seconds for c, by in TABLE_1.items() if (c.n, c.m) == (n, m) and method in by]
        paper.append(document.middle(known))
    x = [n * m for n, m in sizes]
    for values, look in (
        (ours, {"linewidth": 1.8, **pen.line}),
        (paper, {"linewidth": 0.8, "color": pen.color}),
    ):
        pairs = [(a, b) for a, b in zip(x, values, strict=True) if b is not None]
        if pairs:
            fill = pen.color if values is ours else "white"
            ax.plot(*zip(*pairs, strict=True), marker=pen.marker, markersize=6, markerfacecolor=fill, **look)


def figures(results: Results) -> list[Picture]:
    """Hits at a glance; errors and times against the paper's."""
    lines = lines_of(results)
    if not lines:
        return []
    return [
        Picture("synthetic-ranks", "Table 1: the ranks found, all seeds, beside the paper's.",
                partial(draw_hits, lines, METHODS, IN_PAPER)),
        Picture("synthetic-numbers", "Table 1: recovery errors and times, ours against the paper's.",
                partial(draw_numbers, lines)),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    NAME,
    "Table 1: synthetic data",
    "Sec. VI-E",
    "X = max(0, UVᵀ + σE) with U, V = max(0, N(0, 1)): iPALM and PASM on the paper's grid with τ = 5, "
    "PASM on the exact path, our default, SVHT, and cross-validation where it takes a reasonable time.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
