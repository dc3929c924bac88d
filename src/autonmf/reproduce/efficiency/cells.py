"""What is run for Section VI-B."""

from __future__ import annotations

from autonmf.reproduce.cell import Cell
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.work.efficiency import compare_solvers

NAME = "efficiency"
SIZES = ((100, 80, 2.0), (1000, 800, 12.0))  # and about the seconds that one takes
SEEDS = {Scale.quick: 1, Scale.standard: 2, Scale.full: 3}


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Both sizes, a few seeds."""
    found = []
    for seed in range(SEEDS[scale]):
        for n, m, cost in SIZES:
            parameters = {
                "n": n, "m": m, "rank": 10, "noise": 0.1, "start_rank": 30, "seed": seed,
                "iterations": 250, "repeats": 1 if scale is Scale.quick else 3,
            }  # fmt: skip
            found.append(Cell(NAME, f"{n}x{m} seed {seed}", parameters, compare_solvers, cost))
    return found
