"""Plateaus and errors with and without balancing."""

from __future__ import annotations

from autonmf.reproduce import form
from autonmf.reproduce.balancing.rows import groups_of, plateaus_of
from autonmf.reproduce.document import Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS
from autonmf.reproduce.lambda_path.cells import title_of
from autonmf.reproduce.plateau import over_ranked, plateau_of, reached

HEADER = (
    "data", "solver", "paths that visit r*", "points at r*", "plateau from λ", "to λ", "width (to / from)",
    "error on it", "recovery error on it", "λ where the rank is r* or less", "share of the path above r*",
)  # fmt: skip


def tables(results: Results) -> list[Table]:
    """A line a data set and solver."""
    lines = []
    for (data, noise), group in groups_of(results).items():
        for solver, curves in group.items():
            plateaus = plateaus_of(curves)
            lines.append(
                (
                    title_of(data, noise),
                    PENS[solver].label,
                    form.share(len(plateaus), len(curves)),
                    form.spread(p.points if (p := plateau_of(curve)) else 0 for curve in curves),
                    form.spread(p.low for p in plateaus),
                    form.spread(p.high for p in plateaus),
                    form.spread(p.width for p in plateaus),
                    form.spread(p.error for p in plateaus),
                    form.spread(p.recovery_error for p in plateaus),
                    form.spread(found[0] for curve in curves if (found := reached(curve))),
                    form.spread((over_ranked(curve) for curve in curves), lambda value: f"{value:.0%}"),
                )
            )
    note = (
        "The paper's grid with 20 points. Median (least to largest) over the seeds; a path that jumps "
        "over r* has no plateau and counts as zero points. Error: ‖X - UVᵀ‖/‖X‖; recovery error: RE of U."
    )
    return [Table("Balanced and unbalanced paths", HEADER, tuple(lines), note)] if lines else []
