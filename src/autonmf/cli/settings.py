"""What the user can set, as the commands hand it on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Solver(StrEnum):
    """The solvers by name; here again, since importing `autonmf.solvers` would slow down ``--help``."""

    pasm = "pasm"
    s_ipalm = "s-ipalm"
    ipalm = "ipalm"
    palm = "palm"


class Grid(StrEnum):
    """The grids by name."""

    exact = "exact"
    adaptive = "adaptive"


class Bench(StrEnum):
    """The benchmarks by name."""

    speed = "speed"
    kernels = "kernels"
    growth = "growth"


@dataclass(frozen=True)
class Search:
    """How the rank is searched for."""

    n_components: int | None = None
    max_rank: int | None = None
    solver: Solver = Solver.pasm
    grid: Grid = Grid.exact
    tau: float | None = None
    n_starts: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Input:
    """Which matrix to read."""

    file: Path
    variable: str | None = None
    transpose: bool = False
    header: bool | None = None
    labels: bool | None = None


@dataclass(frozen=True)
class Output:
    """Where results go."""

    folder: Path | None = None
    force: bool = False
    json: bool = False
    quiet: bool = False
