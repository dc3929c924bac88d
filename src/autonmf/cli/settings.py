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


class Experiment(StrEnum):
    """The experiments of the paper by name."""

    all = "all"
    efficiency = "efficiency"
    lambda_path = "lambda-path"
    balancing = "balancing"
    synthetic = "synthetic"
    signals = "signals"


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


class Kind(StrEnum):
    """How components are read, by name."""

    image = "image"
    spectrum = "spectrum"
    words = "words"
    template = "template"


@dataclass(frozen=True)
class Look:
    """How a page shows the components."""

    kind: Kind | None = None
    image_shape: tuple[int, int] | None = None
    map_shape: tuple[int, int] | None = None
    column_order: bool = False
    n_top: int = 10
    title: str | None = None


@dataclass(frozen=True)
class Page:
    """Where a page goes."""

    file: Path | None = None
    force: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Output:
    """Where results go."""

    folder: Path | None = None
    force: bool = False
    json: bool = False
    quiet: bool = False
