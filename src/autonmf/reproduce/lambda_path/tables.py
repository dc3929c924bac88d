"""Paths and times beside the paper's."""

from __future__ import annotations

from typing import Any

from autonmf.reproduce import form
from autonmf.reproduce.document import Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS
from autonmf.reproduce.lambda_path.cells import N_POINTS, title_of
from autonmf.reproduce.lambda_path.rows import (
    Timings,
    curves_of,
    error_below,
    iterations_of,
    ratio_of,
    timings_of,
)
from autonmf.reproduce.paper_numbers import PATH_SECONDS
from autonmf.reproduce.plateau import plateau_of

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
                PENS[solver].label,
                f"{sum(p is not None for p in plateaus)}/{len(plateaus)}",
                form.ranks([p.points if p else 0 for p in plateaus]),
                form.spread(p.error for p in plateaus if p),
                form.spread(error_below(curve) for curve in curves),
                *(form.spread(counts[i] for counts in map(iterations_of, curves)) for i in range(3)),
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
                "Error: ‖X - UVᵀ‖/‖X‖. Median (least to largest) over the seeds.",
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
                    PENS[solver].label,
                    way,
                    form.spread((row["seconds"] for row in rows), form.digits),
                    form.spread(row["iterations"] for row in rows),
                    str(rows[0]["points"]),
                    form.ranks([row["found"] for row in rows]),
                    form.times(ratio_of(ways, way)),
                    form.times(ratio_of(ways, way, "iterations")),
                    form.seconds(paper.get(way)),
                    form.times(paper[way] / paper["λ-path"]) if way in paper else form.NONE,
                )
            )
    return Table(
        "Times and iterations of five ways through the ranks",
        (
            "data", "solver", "way", "seconds", "iterations", "points", "rank by the rule", "time / λ-path",
            "iterations / λ-path", "paper, seconds", "paper, time / λ-path",
        ),
        tuple(lines),
        "Same matrix, solver, kernels and stop rule, in one process and in turns; medians of the rounds, "
        "then of the seeds. λ-path: the paper's grid with 20 points, from 40 components (synthetic) or "
        "50 (Swimmer). Decreasing and increasing: λ = 0 and r = 2..20 or 2..40. exact: every rank from "
        "the same first one down to 1 with the package's small budgets; exact, full: the same until the "
        "stop rule holds at every rank.",
    )  # fmt: skip
