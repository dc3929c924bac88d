"""Table 1 beside the paper's, and why the grid missed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autonmf.reproduce import form
from autonmf.reproduce.document import Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS
from autonmf.reproduce.paper_numbers import TABLE_1, Config
from autonmf.reproduce.readings import reading_of
from autonmf.reproduce.synthetic.cells import IN_PAPER, KINDS, METHODS
from autonmf.reproduce.synthetic.rows import Lines, hits, lines_of


def tables(results: Results) -> list[Table]:
    """Hits, ranks, recovery errors, times, and why the grid missed."""
    lines = lines_of(results)
    if not lines:
        return []
    return [
        _hits_table(lines),
        _table(lines, "Table 1: ranks (paper / ours)", "found", "rank", form.ranks,
               "Several numbers: one a seed; where there is one number, one seed was run. PASM, exact path: "
               "every rank with the paper's rule, τ = 5; our default: `AutoNMF()`."),
        _table(lines, "Table 1: recovery error of U (paper / ours)", "recovery_error", "error", form.spread,
               "Median (least to largest) over the seeds."),
        _table(lines, "Table 1: seconds (paper / ours)", "seconds", "seconds",
               lambda values: form.spread(values, form.seconds),
               "The paper: MATLAB on an i9-14900HX. Ours: see the end of the page for the machine. "
               "Cross-validation: Wold's, five folds, ranks 1 to 50, one warm-started path a fold."),
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
                PENS[method].label + (", paper's grid" if KINDS[method] == "grid" else ""),
                form.share(sum(paper), len(paper)) if paper else form.NONE,
                form.share(always, len(every)),
                form.share(right, total),
            )
        )
    return Table(
        "Right ranks", ("method", "paper", "configurations right at every seed", "right answers"), tuple(rows)
    )


def _table(lines: Lines, title: str, key: str, field: str, show: Any, note: str) -> Table:
    def cell(config: Config, method: str) -> str:
        rows = lines[config].get(method)
        ours = show([row.get(key) for row in rows]) if rows else form.NONE
        if method not in IN_PAPER:
            return ours
        value = getattr(TABLE_1[config][method], field)
        paper = form.NONE if value is None else str(value) if field != "error" else form.digits(value, 4)
        return f"{paper} / {ours}"

    shown = [method for method in METHODS if not (key == "recovery_error" and method == "svht")]
    rows = tuple(
        (f"{c.n}x{c.m}", f"{c.noise:g}", str(c.rank), *(cell(c, method) for method in shown)) for c in lines
    )
    return Table(title, ("size", "noise", "r*", *(PENS[m].label for m in shown)), rows, note)


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
                PENS[row["method"]].label,
                str(row["seed"]),
                str(row["found"]),
                why,
                " ".join(map(str, ranks)),
                ratios_text(curve, row["found"]),
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
        )
        yield Table("Where the paper's grid misses, and why", header, tuple(rows))


def ratios_text(curve: dict[str, Any], found: int, around: int = 3) -> str:
    """The ratios at the rank found and its neighbours on the path, as rank: ratio."""
    ranks, ratios = curve["rule_rank"], curve["rule_ratio"]
    at = ranks.index(found) if found in ranks else 0
    near = range(max(at - around, 1), min(at + around + 1, len(ranks)))
    return ", ".join(f"{ranks[i]}: {form.digits(ratios[i], 2)}" for i in near)
