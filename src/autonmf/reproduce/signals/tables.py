"""Table 2 beside the paper's, and what each path visited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autonmf.reproduce import form
from autonmf.reproduce.document import Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS
from autonmf.reproduce.paper_numbers import DIMENSIONS
from autonmf.reproduce.signals.cells import METHODS
from autonmf.reproduce.signals.rows import Lines, lines_of, paper_answer, paper_name, paths_of
from autonmf.reproduce.work.inputs import SIGNALS


def tables(results: Results) -> list[Table]:
    """Ranks, recovery errors, times; the inputs; the paths."""
    lines = lines_of(results)
    if not lines:
        return []
    return [
        _table(lines, "Table 2: model orders (paper / ours)", "found", "rank", form.ranks,
               "Several numbers: one a seed. τ = 2 and 30 points for both paths; our default: `AutoNMF()`."),
        _table(lines, "Table 2: recovery error of U (paper / ours)", "recovery_error", "error", form.spread,
               "U in the paper's orientation against scikit-learn's NMF at the reference order, the best "
               "of three "
               "starts; for SVHT U of an NMF at its rank. Median (least to largest) over the seeds."),
        _table(lines, "Table 2: seconds (paper / ours)", "seconds", "seconds",
               lambda values: form.spread(values, form.seconds),
               "The paper: MATLAB on an i9-14900HX. SVHT without the NMF at its rank, as in the paper."),
        _inputs(lines),
        *_paths(results),
    ]  # fmt: skip


def _table(
    lines: Lines, title: str, key: str, field: str, show: Callable[[list[Any]], str], note: str
) -> Table:
    def cell(data: str, method: str) -> str:
        rows = lines[data].get(method)
        ours = show([row.get(key) for row in rows]) if rows else form.NONE
        answer = paper_answer(data, method)
        if answer is None:
            return ours
        return f"{form.digits(getattr(answer, field), 4)} / {ours}"

    rows = tuple(
        (
            SIGNALS[data].title + (" (variant)" if SIGNALS[data].variant else ""),
            str(SIGNALS[data].order),
            *(cell(data, method) for method in METHODS),
        )
        for data in lines
    )
    return Table(title, ("data", "reference order", *(PENS[method].label for method in METHODS)), rows, note)


def _inputs(lines: Lines) -> Table:
    rows = []
    for data, by in lines.items():
        row = next(iter(by.values()))[0]
        size = " x ".join(map(str, DIMENSIONS[paper_name(data)]))
        ours = f"{row['rows_of_X']} x {row['columns_of_X']}"
        rows.append((SIGNALS[data].title, size, ours, row["preprocessing"]))
    return Table(
        "The inputs, the same for all methods", ("data", "paper", "ours", "preprocessing"), tuple(rows)
    )


def _paths(results: Results) -> Iterator[Table]:
    """Where the paper's rank did not come out: the ranks visited, the drops, the ratios."""
    rows = []
    for done in paths_of(results):
        row, curve = done.rows[0], done.curves[0]
        answer = paper_answer(row["data"], row["method"])
        if row["seed"] != 0 or answer is None or row["found"] == answer.rank:
            continue
        energy = 0.5 * curve["squared_norm"]
        triples = zip(curve["rule_rank"], curve["rule_drop"], curve["rule_ratio"], strict=True)
        seen = [
            f"{rank}: {form.digits(drop / energy, 2)}, {form.digits(ratio, 2)}"
            for rank, drop, ratio in triples
            if drop is not None
        ]
        rows.append(
            (
                SIGNALS[row["data"]].title,
                PENS[row["method"]].label,
                str(answer.rank),
                str(row["found"]),
                " ".join(map(str, dict.fromkeys(curve["rank"]))),
                "; ".join(seen[:9]) + ("; ..." if len(seen) > 9 else ""),
            )
        )
    if rows:
        yield Table(
            "Where the path and rule of the paper do not give the paper's rank (seed 0)",
            ("data", "solver", "paper", "ours", "ranks visited", "rank: drop, ratio to the next"),
            tuple(rows),
            "Drops are per component and relative to ½‖X‖²; the rule takes the first rank whose ratio is "
            "above 2, and the largest rank where none is.",
        )
