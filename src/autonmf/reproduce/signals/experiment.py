"""Section VI-F, Table 2: model orders, recovery errors and times on signals."""

from __future__ import annotations

from functools import partial

from autonmf.reproduce.document import Picture
from autonmf.reproduce.experiment import Experiment, Results
from autonmf.reproduce.signals.cells import NAME, cells
from autonmf.reproduce.signals.claims import verdict
from autonmf.reproduce.signals.drawing import draw_orders, draw_readings
from autonmf.reproduce.signals.rows import lines_of
from autonmf.reproduce.signals.tables import tables
from autonmf.reproduce.signals.tried import grid_ranks, readings


def figures(results: Results) -> list[Picture]:
    """The orders, and the readings."""
    lines, ranks = lines_of(results), grid_ranks(results)
    found = []
    if lines:
        caption = "Table 2: model orders on a log scale, ours beside the paper's."
        found.append(Picture("signals-orders", caption, partial(draw_orders, lines)))
    if ranks:
        caption = "Table 2, seed 0: the rank that each reading of the text gives."
        found.append(Picture("signals-readings", caption, partial(draw_readings, ranks)))
    return found


EXPERIMENT = Experiment(
    NAME,
    "Table 2: signals",
    "Sec. VI-F",
    "The data sets of the paper that are at hand, in its orientation: S-iPALM and PASM on the paper's "
    "grid with τ = 2, SVHT, and our default.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
