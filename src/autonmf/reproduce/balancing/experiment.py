"""Section VI-D: S-iPALM against iPALM along the path."""

from __future__ import annotations

from functools import partial

from autonmf.reproduce.balancing.cells import NAME, SOLVERS, cells
from autonmf.reproduce.balancing.claims import verdict
from autonmf.reproduce.balancing.drawing import draw
from autonmf.reproduce.balancing.rows import groups_of
from autonmf.reproduce.balancing.tables import tables
from autonmf.reproduce.document import Picture
from autonmf.reproduce.experiment import Experiment, Results
from autonmf.reproduce.lambda_path.cells import title_of


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
