"""The options of the commands: their types, limits and help."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from autonmf.cli.settings import Bench, Grid, Solver

_reading = partial(typer.Option, rich_help_panel="Reading FILE")
_search = partial(typer.Option, rich_help_panel="Finding the rank")
_results = partial(typer.Option, rich_help_panel="Results")


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"{value} is not a positive number")
    return value


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        readable=False,  # not checked here: the reader says more
        help="Nonnegative numbers: .csv .tsv .txt .mtx (these also .gz) .npy .npz .mat .parquet .h5ad",
        show_default=False,
    ),
]
Var = Annotated[
    str | None,
    _reading(metavar="NAME", help="Variable of a .mat or .npz file, layer of a .h5ad file."),
]
Transpose = Annotated[bool, _reading("--transpose", help="Exchange rows and columns.")]
Header = Annotated[
    bool | None,
    _reading("--header/--no-header", help="Text: the first line names the columns. Default: found out."),
]
Labels = Annotated[
    bool | None,
    _reading("--labels/--no-labels", help="Text: the first column names the rows. Default: found out."),
]

NComponents = Annotated[
    int | None,
    _search("--n-components", "-k", min=1, metavar="N", help="Use this rank. Default: the data decide."),
]
MaxRank = Annotated[
    int | None,
    _search(min=1, metavar="N", help="The largest rank. Default: half the smaller side, at most 50."),
]
SolverName = Annotated[Solver, _search(metavar="NAME", help=f"The algorithm: {', '.join(Solver)}.")]
GridName = Annotated[
    Grid, _search(metavar="NAME", help="exact visits every rank; adaptive is the paper's grid.")
]
Tau = Annotated[
    float | None,
    _search(callback=_positive, metavar="X", help="Threshold of the rule; smaller tends to a smaller rank."),
]
NStarts = Annotated[
    int, _search(min=1, metavar="N", help="Random starts; each rank keeps its best solution.")
]
Seed = Annotated[int, _search(min=0, metavar="N", help="The same seed gives the same answer.")]

Out = Annotated[
    Path | None,
    _results(
        metavar="FOLDER", readable=False, help="Write the factors W and H, the path and a summary there."
    ),
]
Force = Annotated[bool, _results("--force", help="Overwrite earlier results in FOLDER.")]
Json = Annotated[bool, _results("--json", help="Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, _results("--quiet", "-q", help="Print the rank and nothing else.")]

Benchmark = Annotated[Bench, typer.Argument(metavar="WHAT", help=f"What to measure: {', '.join(Bench)}.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two small matrices only.")]
Repeats = Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each; medians are shown.")]
BenchOut = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write what was measured there.")
]
