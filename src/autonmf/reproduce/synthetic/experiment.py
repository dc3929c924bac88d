"""Section VI-E, Table 1: ranks, recovery errors and times on 24 synthetic configurations."""

from __future__ import annotations

from functools import partial

from autonmf.reproduce.document import Picture
from autonmf.reproduce.experiment import Experiment, Results
from autonmf.reproduce.synthetic.cells import IN_PAPER, METHODS, NAME, cells
from autonmf.reproduce.synthetic.claims import verdict
from autonmf.reproduce.synthetic.drawing import draw_hits, draw_numbers
from autonmf.reproduce.synthetic.rows import lines_of
from autonmf.reproduce.synthetic.tables import tables
from autonmf.reproduce.synthetic.tried import readings


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
    "PASM on the exact path, our default, SVHT, and cross-validation where it ends in reasonable time.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
