"""The options of the commands: their types, limits and help."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from autonmf.cli import completion
from autonmf.cli.choices import Experiment, Grid, Kind, Missing, Normalisation, Rule, Solver

_reading = partial(typer.Option, rich_help_panel="Reading FILE")
_search = partial(typer.Option, rich_help_panel="Finding the rank")
_look = partial(typer.Option, rich_help_panel="Showing the components")
_results = partial(typer.Option, rich_help_panel="Results")
_flag = {"metavar": ""}  # a switch takes no value, so there is none to name


def _shape(text: str) -> tuple[int, int]:
    rows, cross, columns = text.lower().partition("x")
    if not (cross and rows.isdecimal() and columns.isdecimal() and int(rows) and int(columns)):
        raise typer.BadParameter(f"{text!r} is not ROWSxCOLUMNS, such as 32x32")
    return int(rows), int(columns)


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"{value} is not a positive number")
    return value


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        readable=False,  # not checked here: the reader says more
        help="Nonnegative numbers: .csv .tsv .txt .mtx (these also .gz) .npy .npz .mat .parquet .h5ad .h5 "
        ".hdf5, a .zarr folder; - is the standard input, text or any of these files.",
        show_default=False,
    ),
]
Var = Annotated[
    str | None,
    _reading(
        "--var",
        metavar="NAME",
        help="Variable of a .mat or .npz file, layer of a .h5ad file, array in HDF5 or zarr (group/X).",
    ),
]
Transpose = Annotated[bool, _reading("--transpose", **_flag, help="Exchange rows and columns.")]
Header = Annotated[
    bool | None,
    _reading("--header/--no-header", **_flag, help="Text: line 1 names the columns. Default: found out."),
]
Labels = Annotated[
    bool | None,
    _reading("--labels/--no-labels", **_flag, help="Text: column 1 names the rows. Default: found out."),
]
Normalize = Annotated[
    Normalisation | None,
    _reading(
        "--normalize",
        metavar="NAME",
        help="After --transpose. log1p: each row of counts to the median total, then log(1 + x); "
        "tfidf: as scikit-learn weights words; max: X divided by its largest entry.",
    ),
]

MissingEntries = Annotated[
    Missing,
    _reading(
        "--missing",
        metavar="NAME",
        help="What empty cells and NaN mean. error: refuse them; mask: they are missing, leave them out.",
    ),
]

NComponents = Annotated[
    int | None,
    _search(
        "--n-components", "--rank", "-k", min=1, metavar="N", help="Use this rank. Default: the data decide."
    ),
]
MaxRank = Annotated[
    int | None,
    _search(min=1, metavar="N", help="The largest rank. Default: half the smaller side, at most 50."),
]
SolverName = Annotated[Solver, _search(metavar="NAME", help=f"The algorithm: {', '.join(Solver)}.")]
GridName = Annotated[
    Grid, _search(metavar="NAME", help="exact visits every rank; adaptive is the paper's grid.")
]
RuleName = Annotated[
    Rule | None,
    _search(metavar="NAME", help="auto, or marginal, the paper's. Default: auto, unless --tau is given."),
]
Tau = Annotated[
    float | None,
    _search(callback=_positive, metavar="X", help="Threshold of the marginal rule. Default: 5."),
]
NStarts = Annotated[
    int, _search(min=1, metavar="N", help="Random starts; each rank keeps its best solution.")
]
Seed = Annotated[int, _search(min=0, metavar="N", help="The same seed gives the same answer.")]
CheckpointFile = Annotated[
    Path | None,
    _search(
        "--checkpoint",
        metavar="FILE",
        readable=False,  # not checked here: the path says more
        help="Save each rank there as it is reached; run again after a crash to go on.",
    ),
]

Out = Annotated[
    Path | None,
    _results(
        "--out",
        metavar="FOLDER",
        readable=False,
        help="Write the factors W and H, the path and a summary there; - prints H as CSV.",
    ),
]
Force = Annotated[bool, _results("--force", **_flag, help="Overwrite earlier results in FOLDER.")]
Json = Annotated[bool, _results("--json", **_flag, help="Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, _results("--quiet", "-q", **_flag, help="Print the rank and nothing else.")]

Quick = Annotated[bool, typer.Option("--quick", **_flag, help="Two small matrices only.")]
Repeats = Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each; medians are shown.")]
BenchOut = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write what was measured there.")
]
Families = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        autocompletion=completion.families,
        help="Families or groups (paper, synthetic, semi, real), design, held-out or all. Default: design.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", autocompletion=completion.methods, help="Default: every method there is."),
]
Seeds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SEEDS",
        autocompletion=completion.seeds,
        help="Numbers, design or final. Default: design.",
    ),
]
QuickOrder = Annotated[
    bool,
    typer.Option("--quick", **_flag, help="One seed, no large families, no slow methods: a minute or two."),
]
OrderOut = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FOLDER", help="Write a page there; a run that was stopped goes on from there."
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", **_flag, help="Compute again what is in FOLDER.")]
PlainJson = Annotated[bool, typer.Option("--json", **_flag, help="Print JSON and nothing else.")]

ExperimentName = Annotated[
    Experiment, typer.Argument(metavar="EXPERIMENT", help=f"Which one: {', '.join(Experiment)}.")
]
QuickRun = Annotated[
    bool, typer.Option("--quick", **_flag, help="A look at everything: about three minutes.")
]
FullRun = Annotated[
    bool, typer.Option("--full", **_flag, help="Every line of the paper's tables: about an hour.")
]
DataHome = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the data sets are, or are downloaded to. Default: $AUTONMF_DATA, a cache.",
    ),
]
ReproduceOut = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FOLDER", help="Where results go, and where a run that was stopped goes on."
    ),
]
Redraw = Annotated[
    bool, typer.Option("--redraw", **_flag, help="Run nothing: write the page again from what is there.")
]

KindName = Annotated[
    Kind | None, _look("--kind", metavar="NAME", help=f"How: {', '.join(Kind)}. Default: found out.")
]
ImageShape = Annotated[
    Any, _look(parser=_shape, metavar="RxC", help="Columns of X are pixels of images of R rows, C columns.")
]
MapShape = Annotated[
    Any, _look(parser=_shape, metavar="RxC", help="Rows of X are pixels of a map of R rows, C columns.")
]
ColumnOrder = Annotated[
    bool,
    _look("--column-order", **_flag, help="Pixels go down the columns, as in MATLAB."),
]
NTop = Annotated[int, _look(min=1, max=100, metavar="N", help="Words or genes shown for each component.")]
Title = Annotated[str | None, _look(metavar="TEXT", help="Headline of the page. Default: the name of FILE.")]
PageOut = Annotated[
    Path | None,
    _results(
        "--out",
        metavar="PAGE",
        readable=False,
        help="The page. Default: FILE's name with -report.html; - prints the page.",
    ),
]
PageForce = Annotated[bool, _results("--force", **_flag, help="Overwrite an earlier page.")]
PageQuiet = Annotated[
    bool, _results("--quiet", "-q", **_flag, help="Print the name of the page and nothing else.")
]
