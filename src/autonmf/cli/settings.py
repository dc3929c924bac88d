"""What the user can set, as the commands hand it on: the fields are options, by `grouped`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autonmf.cli import options
from autonmf.cli.choices import Experiment, Grid, Missing, Rule, Solver
from autonmf.cli.failure import BAD_USAGE, Failure

STREAM = Path("-")
"""Stands for the standard input or output."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """Which matrix to read, and what to do to it first."""

    file: options.File
    var: options.Var = None
    transpose: options.Transpose = False
    header: options.Header = None
    labels: options.Labels = None
    normalize: options.Normalize = None
    missing: options.MissingEntries = Missing.error

    @property
    def name(self) -> str:
        """What messages call the matrix."""
        return "standard input" if self.file == STREAM else self.file.name

    @property
    def treatment(self) -> str:
        """What was done to it, behind its shape: nothing, or for instance ', transposed, log1p'."""
        done = ["transposed"] * self.transpose + ([] if self.normalize is None else [str(self.normalize)])
        done += ["missing entries left out"] * (self.missing is Missing.mask)
        return "".join(f", {word}" for word in done)


@dataclass(frozen=True, kw_only=True)
class Search:
    """How the rank is searched for."""

    n_components: options.NComponents = None
    max_rank: options.MaxRank = None
    solver: options.SolverName = Solver.pasm
    grid: options.GridName = Grid.exact
    rule: options.RuleName = None
    tau: options.Tau = None
    n_starts: options.NStarts = 1
    seed: options.Seed = 0
    checkpoint: options.CheckpointFile = None

    @property
    def chosen_rule(self) -> Rule:
        """The rule, which a threshold names as well."""
        return self.rule or (Rule.auto if self.tau is None else Rule.marginal)

    def check(self) -> None:
        """Refuse options that exclude each other, before anything is read."""
        if self.rule is Rule.auto and self.tau is not None:
            raise Failure("--tau belongs to --rule marginal; --rule auto has no threshold", BAD_USAGE)
        given = self.n_components
        if given is not None and self.max_rank is not None and self.max_rank < given:
            raise Failure(
                f"--n-components {given} is more than --max-rank {self.max_rank}; raise --max-rank", BAD_USAGE
            )


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a page shows the components."""

    kind: options.KindName = None
    image_shape: options.ImageShape = None
    map_shape: options.MapShape = None
    column_order: options.ColumnOrder = False
    n_top: options.NTop = 10
    title: options.Title = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where a page goes."""

    out: options.PageOut = None
    force: options.PageForce = False
    json: options.Json = False
    quiet: options.PageQuiet = False


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go."""

    out: options.Out = None
    force: options.Force = False
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """Which of the paper's experiments to run, and where."""

    experiment: options.ExperimentName = Experiment.all
    quick: options.QuickRun = False
    full: options.FullRun = False
    data_home: options.DataHome = None
    out: options.ReproduceOut = Path("reproduction")
    redraw: options.Redraw = False
    json: options.PlainJson = False


@dataclass(frozen=True, kw_only=True)
class Order:
    """Which methods of rank selection to compare, on what."""

    families: options.Families = None
    methods: options.Methods = None
    seeds: options.Seeds = None
    quick: options.QuickOrder = False
    out: options.OrderOut = None
    fresh: options.Fresh = False
    json: options.PlainJson = False


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How to measure, and where to write it."""

    quick: options.Quick = False
    repeats: options.Repeats = 3
    out: options.BenchOut = None
    json: options.PlainJson = False
