"""Section VI-B: PALM, iPALM, S-iPALM and PASM from one start, at one λ."""

from __future__ import annotations

from functools import partial

from autonmf.reproduce import form
from autonmf.reproduce.document import Picture
from autonmf.reproduce.efficiency.cells import NAME, cells
from autonmf.reproduce.efficiency.claims import verdict
from autonmf.reproduce.efficiency.drawing import draw
from autonmf.reproduce.efficiency.tables import tables
from autonmf.reproduce.efficiency.tried import readings
from autonmf.reproduce.experiment import Experiment, Results


def figures(results: Results) -> list[Picture]:
    """One figure a size: objective, projected gradient and rank, by iterations and by time."""
    chosen = {}
    for done in results:
        size = f"{done.parameters['n']}x{done.parameters['m']}"
        if done.curves and size not in chosen:
            chosen[size] = done
    return [
        Picture(
            f"efficiency-{size}",
            f"{size}: four algorithms from one start with 30 components, r* = 10, noise 0.1, "
            f"λ = {form.digits(done.rows[0]['lam'], 4)}.",
            partial(draw, done),
        )
        for size, done in chosen.items()
    ]


EXPERIMENT = Experiment(
    NAME,
    "Four algorithms from one start",
    "Sec. VI-B",
    "PALM, iPALM, S-iPALM and PASM on 100x80 and 1000x800, r* = 10, noise 0.1, from one start with 30 "
    "components and at one λ.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
