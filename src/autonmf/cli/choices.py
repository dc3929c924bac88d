"""What can be chosen by name.

Solvers, grids, rules, normalisations and experiments are named here again, since importing the modules that
know them would slow down ``--help``.
"""

from __future__ import annotations

from enum import StrEnum


class Solver(StrEnum):
    """The solvers by name."""

    pasm = "pasm"
    s_ipalm = "s-ipalm"
    ipalm = "ipalm"
    palm = "palm"


class Grid(StrEnum):
    """The grids by name."""

    exact = "exact"
    adaptive = "adaptive"


class Rule(StrEnum):
    """The rules by name."""

    auto = "auto"
    marginal = "marginal"


class Missing(StrEnum):
    """What an entry that is not a number means."""

    error = "error"
    mask = "mask"


class Normalisation(StrEnum):
    """What can be done to X first, by name."""

    log1p = "log1p"
    tfidf = "tfidf"
    max = "max"


class Kind(StrEnum):
    """How components are read, by name."""

    image = "image"
    spectrum = "spectrum"
    words = "words"
    template = "template"


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
