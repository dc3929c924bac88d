"""What is run for Section VI-C, and the paths of Section VI-D."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from autonmf.reproduce.cell import Cell
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.work.paths import compare_times
from autonmf.reproduce.work.trace import trace_path

NAME = "lambda-path"
N_POINTS = 20
SEEDS = {Scale.quick: 1, Scale.standard: 3, Scale.full: 5}
TIMED_SEEDS = {Scale.quick: 1, Scale.standard: 1, Scale.full: 3}
REPEATS = {Scale.quick: 1, Scale.standard: 3, Scale.full: 3}
# data, noise; where the path starts, the last rank of the discrete paths, the paper's τ; seconds of a timing
SETS: tuple[tuple[str, float, int, int, float, float], ...] = (
    ("synthetic", 0.0, 40, 20, 5.0, 1.5),
    ("synthetic", 0.1, 40, 20, 5.0, 3.0),
    ("swimmer", 0.0, 50, 40, 2.0, 5.5),
    ("swimmer", 1.0, 50, 40, 2.0, 11.5),
)


def title_of(data: str, noise: float) -> str:
    """A data set in words."""
    if data == "synthetic":
        return f"synthetic, noise {noise:g}"
    return "Swimmer, noisy" if noise else "Swimmer, noise-free"


def trace_cells(
    experiment: str, scale: Scale, solvers: tuple[str, ...], seeds: int, data_home: str | None
) -> Iterator[Cell]:
    """A path of each solver on each data set and seed."""
    function = partial(trace_path, data_home=data_home)
    for data, noise, max_rank, *_ in SETS:
        for solver in solvers:
            for seed in range(seeds):
                parameters = {
                    "data": data, "noise": noise, "solver": solver, "seed": seed, "n_points": N_POINTS,
                    "max_rank": max_rank,
                }  # fmt: skip
                name = f"{title_of(data, noise)} {solver} seed {seed}"
                cost = 0.3 if data == "synthetic" else 1.2
                yield Cell(experiment, name, parameters, function, cost)


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Paths of PASM and S-iPALM, and the timings."""
    found = list(trace_cells(NAME, scale, ("pasm", "s-ipalm"), SEEDS[scale], data_home))
    function = partial(compare_times, data_home=data_home)
    for data, noise, max_rank, last, tau, cost in SETS:
        for solver in ("pasm",) if scale is Scale.quick else ("pasm", "s-ipalm"):
            for seed in range(TIMED_SEEDS[scale]):
                parameters = {
                    "data": data, "noise": noise, "solver": solver, "seed": seed, "n_points": N_POINTS,
                    "max_rank": max_rank, "last": last, "tau": tau, "repeats": REPEATS[scale],
                }  # fmt: skip
                name = f"times {title_of(data, noise)} {solver} seed {seed}"
                slower = 1.0 if solver == "pasm" else 2.5
                found.append(Cell(NAME, name, parameters, function, cost * slower * REPEATS[scale]))
    return found
