"""What is run for Table 2."""

from __future__ import annotations

from functools import partial

from autonmf.datasets.home import find
from autonmf.reproduce.cell import Cell
from autonmf.reproduce.readings import PASM_ONLY, READINGS
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.work.inputs import SIGNALS
from autonmf.reproduce.work.signals import solve

NAME = "signals"
SOLVERS = ("s-ipalm", "pasm")
METHODS = (*SOLVERS, "default", "svht")
DATA = {
    Scale.quick: ("swimmer-noisy", "samson", "swimmer"),
    Scale.standard: tuple(name for name in SIGNALS if name != "pbmc3k-log"),
    Scale.full: tuple(SIGNALS),
}
SEEDS = {Scale.quick: 1, Scale.standard: 1, Scale.full: 3}
PATH_SEEDS = {Scale.quick: 1, Scale.standard: 3, Scale.full: 5}
"""Starts of a path that is not slow: the answer depends on them."""

PATH_SECONDS = {
    "pbmc3k": 50.0, "pbmc3k-log": 60.0, "swimmer-noisy": 1.8, "swimmer": 1.2, "olivetti": 6.0, "wos": 3.0,
    "samson": 5.0, "jasper-ridge": 7.0, "urban": 60.0,
}  # fmt: skip
"""What a path on the paper's grid takes, about."""

READINGS_OF = {
    Scale.quick: ("start uniform / 100", "X transposed"),
    Scale.standard: (
        "N_λ = 20",
        "N_λ = 50",
        "start uniform / 100",
        "start NNDSVD",
        "X transposed",
        "X / max",
    ),
    Scale.full: tuple(name for name in READINGS if name != "as read"),
}
SLOW = 30.0
"""A path that takes longer is read in fewer ways, and in a full run only."""

SLOW_READINGS = ("N_λ = 20", "start uniform / 100", "X transposed")


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Every method on every data set; then the other readings of the text, with one seed."""
    function = partial(solve, data_home=data_home)
    found = []
    for data in DATA[scale]:
        for method in METHODS:
            for seed in range(_seeds(data, method, scale)):
                parameters = {"data": data, "method": method, "seed": seed}
                cost = {"default": 2.0, "svht": 5.0 + PATH_SECONDS[data]}.get(method, PATH_SECONDS[data])
                found.append(Cell(NAME, f"{data} {method} seed {seed}", parameters, function, cost))
    for data in DATA[scale]:
        for reading in READINGS_OF[scale]:
            if SIGNALS[data].variant or _too_slow(data, reading, scale):
                continue
            for method in ("pasm",) if reading in PASM_ONLY else SOLVERS:
                parameters = {"data": data, "method": method, "seed": 0, "reference": False}
                cost = PATH_SECONDS[data] * READINGS[reading].get("n_points", 30) / 30
                name = f"{data} {method} seed 0 {reading}"
                found.append(Cell(NAME, name, parameters | READINGS[reading], function, cost))
    return [cell for cell in found if _at_hand(cell, data_home)]


def _seeds(data: str, method: str, scale: Scale) -> int:
    slow = PATH_SECONDS[data] > SLOW
    if method == "svht" or SIGNALS[data].variant or (slow and method in SOLVERS):
        return 1
    return PATH_SEEDS[scale] if method in SOLVERS else SEEDS[scale]


def _too_slow(data: str, reading: str, scale: Scale) -> bool:
    slow = PATH_SECONDS[data] > SLOW
    return slow and (scale is not Scale.full or reading not in SLOW_READINGS)


def _at_hand(cell: Cell, data_home: str | None) -> bool:
    """Of a data set that is never downloaded and not there one cell stays, which will say so."""
    files = SIGNALS[cell.parameters["data"]].files
    return not files or cell.parameters["method"] == "svht" or any(find(file, data_home) for file in files)
