"""What is run for Table 1."""

from __future__ import annotations

from typing import Any

from autonmf.reproduce.cell import Cell
from autonmf.reproduce.paper_numbers import TABLE_1, Config
from autonmf.reproduce.readings import PASM_ONLY, READINGS
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.work.synthetic import solve

NAME = "synthetic"
METHODS = ("ipalm", "pasm", "pasm exact", "default", "svht", "cv")
IN_PAPER = ("ipalm", "pasm", "svht", "cv")
SIZES = tuple(dict.fromkeys((config.n, config.m) for config in TABLE_1))
KINDS = {
    "ipalm": "grid",
    "pasm": "grid",
    "pasm exact": "exact",
    "default": "exact",
    "svht": "exact",
    "cv": "cv",
}
# How many seeds at each size, in the order of Table 1.
SEEDS: dict[Scale, dict[str, tuple[int, ...]]] = {
    Scale.quick: {"grid": (1, 1), "exact": (1, 1), "cv": (1,)},
    Scale.standard: {"grid": (3, 3, 1, 1), "exact": (3, 3, 3, 3), "cv": (1, 1)},
    Scale.full: {"grid": (3, 3, 3, 1, 1, 1), "exact": (3,) * 6, "cv": (3, 3, 1)},
}
READ_AT = (1000, 400)
"""The size at which other readings of the text are tried."""

READ_SEEDS = {Scale.quick: 1, Scale.standard: 1, Scale.full: 2}
SOME_READINGS = ("N_λ = 50", "start uniform / 100")
ALL_READINGS = tuple(name for name in READINGS if name != "as read" and not name.startswith("X "))


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Table 1, then the readings at one size."""
    found = []
    for config in TABLE_1:
        for method in METHODS:
            seeds = SEEDS[scale][KINDS[method]]
            place = SIZES.index((config.n, config.m))
            for seed in range(seeds[place] if place < len(seeds) else 0):
                found.append(_cell(config, method, seed, "as read"))
    names = SOME_READINGS if scale is Scale.quick else ALL_READINGS
    for config in TABLE_1:
        if (config.n, config.m) == READ_AT:
            for reading in names:
                for method in ("pasm",) if reading in PASM_ONLY else ("ipalm", "pasm"):
                    found += [_cell(config, method, seed, reading) for seed in range(READ_SEEDS[scale])]
    return found


def _cell(config: Config, method: str, seed: int, reading: str) -> Cell:
    parameters = {**config._asdict(), "method": method, "seed": seed, **READINGS[reading]}
    name = f"{config.n}x{config.m} noise {config.noise:g} r* {config.rank} {method} seed {seed}"
    name += "" if reading == "as read" else f" {reading}"
    return Cell(NAME, name, parameters, solve, _cost(config, method, READINGS[reading]))


def _cost(config: Config, method: str, reading: dict[str, Any]) -> float:
    """Seconds, from a few that were measured."""
    size = config.n * config.m
    if KINDS[method] == "grid":
        return (0.5 + 1.3e-6 * size) * float(reading.get("n_points", 30)) / 30
    return {"cv": 2 + 8e-6 * size, "svht": 2.5e-7 * size}.get(method, 0.1 + 1.2e-7 * size)
