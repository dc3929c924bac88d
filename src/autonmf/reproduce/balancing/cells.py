"""What is run for Section VI-D."""

from __future__ import annotations

from autonmf.reproduce.cell import Cell
from autonmf.reproduce.lambda_path.cells import trace_cells
from autonmf.reproduce.scale import Scale

NAME = "balancing"
SOLVERS = ("s-ipalm", "ipalm")
SEEDS = {Scale.quick: 3, Scale.standard: 5, Scale.full: 10}


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """A path of each on each data set and seed."""
    return list(trace_cells(NAME, scale, SOLVERS, SEEDS[scale], data_home))
