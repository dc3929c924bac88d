"""All five experiments at a size that takes seconds, run once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import (
    EXPERIMENTS,
    Report,
    efficiency,
    lambda_path,
    paths,
    reproduce,
    signals,
    synthetic,
)
from experiments.paper.experiment import Cell, Experiment

SMALL = {"data": "synthetic", "noise": 0.1, "size": [40, 30], "rank": 3, "max_rank": 10, "n_points": 12}


def efficiency_cells(scale, data_home=None):
    parameters = {
        "n": 40, "m": 30, "rank": 3, "noise": 0.1, "start_rank": 8, "seed": 0, "iterations": 30, "repeats": 1,
    }  # fmt: skip
    return [Cell("efficiency", "40x30 seed 0", parameters, efficiency.compare_solvers)]


def path_cells(scale, data_home=None):
    found = [
        Cell("lambda-path", f"small {solver}", SMALL | {"solver": solver, "seed": 0}, paths.trace_path)
        for solver in ("pasm", "s-ipalm")
    ]
    timed = SMALL | {"solver": "pasm", "seed": 0, "last": 5, "tau": 5.0, "repeats": 2}
    return [*found, Cell("lambda-path", "times", timed, lambda_path.compare_times)]


def balancing_cells(scale, data_home=None):
    return [
        Cell("balancing", f"{solver} {seed}", SMALL | {"solver": solver, "seed": seed}, paths.trace_path)
        for solver in ("s-ipalm", "ipalm")
        for seed in range(2)
    ]


def synthetic_cells(scale, data_home=None):
    line = {"n": 1000, "m": 400, "noise": 0.1, "rank": 10, "seed": 0}
    return [
        Cell("synthetic", method, line | {"method": method}, synthetic.solve)
        for method in ("pasm", "pasm exact", "default", "svht")
    ]


def signal_cells(scale, data_home=None):
    return [
        Cell("signals", method, {"data": "swimmer", "method": method, "seed": 0}, signals.solve)
        for method in ("pasm", "default", "svht")
    ]


TINY = {
    "efficiency": efficiency_cells,
    "lambda-path": path_cells,
    "balancing": balancing_cells,
    "synthetic": synthetic_cells,
    "signals": signal_cells,
}


@pytest.fixture(scope="session")
def tiny() -> dict[str, Experiment]:
    pytest.importorskip("matplotlib", reason="the page needs matplotlib")
    return {name: replace(EXPERIMENTS[name], cells=cells) for name, cells in TINY.items()}


@pytest.fixture(scope="session")
def finished(tiny: dict[str, Experiment], tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """The report of a run of everything, and its folder, which no test may change."""
    out = tmp_path_factory.mktemp("reproduction")
    return reproduce(out=out, quiet=True, experiments=tiny), out
