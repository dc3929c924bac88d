"""Every run of Section VI-B."""

from __future__ import annotations

from autonmf.reproduce import form
from autonmf.reproduce.document import Table
from autonmf.reproduce.efficiency.rows import faster, groups_of
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS

SETTINGS = {
    "cold": "middle of PASM's plateau at r* from this start",
    "resting": "a thousandth of it: no column at risk",
    "path": "middle of the plateau at r* on PASM's path",
}


HEADER = (
    "size", "λ is", "λ", "algorithm", "rank", "iterations", "seconds", "objective", "projected gradient",
    "iterations, PALM / this", "time, PALM / this",
)  # fmt: skip


def tables(results: Results) -> list[Table]:
    """Every run, medians over the seeds."""
    groups = groups_of(results)
    if not groups:
        return []
    lines = []
    for key, rows in groups.items():
        size, setting, solver = key
        lines.append(
            (
                size,
                setting,
                form.spread(row["lam"] for row in rows),
                PENS[solver].label,
                form.ranks([row["rank_found"] for row in rows]),
                form.spread(row["iterations"] for row in rows),
                form.spread((row["seconds"] for row in rows), form.digits),
                form.spread((row["objective"] for row in rows), lambda value: form.digits(value, 4)),
                form.spread(row["gradient"] for row in rows),
                form.times(faster(groups, key, "iterations")),
                form.times(faster(groups, key, "seconds")),
            )
        )
    legend = "; ".join(f"{name}: {text}" for name, text in SETTINGS.items())
    return [
        Table(
            "Four algorithms from one start, until the paper's stop rule holds",
            HEADER,
            tuple(lines),
            f"{legend}. Median (least to largest) over the seeds. The last two columns compare how soon the "
            "objective is as low as where PALM stopped. Rank 0: every column was removed.",
        )
    ]
