"""The options of the commands, in groups that several commands share.

The options of the search have no defaults here: what is not given is left to `autonmf.path.PathOptions`,
which also checks what is given. It is imported only then, because --help should be fast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from autonmf.cli.console import BAD_USAGE, Failure

if TYPE_CHECKING:
    from autonmf.path import PathOptions

STREAM = Path("-")
"""The standard input or output."""


def _one_of(module: str, constant: str, default: str | None = None) -> dict[str, Any]:
    """An option whose values are the names in a constant of a module, which is imported only if needed."""

    def names() -> list[str]:
        return list(getattr(import_module(module), constant))

    def check(value: str | None) -> str | None:
        if value != default and value not in names():
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, names()))}")
        return value

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return {"metavar": "NAME", "callback": check, "autocompletion": complete}


def _parse_shape(text: str) -> tuple[int, int]:
    rows, cross, columns = text.lower().partition("x")
    if not (cross and rows.isdecimal() and columns.isdecimal() and int(rows) and int(columns)):
        raise typer.BadParameter(f"{text!r} is not ROWSxCOLUMNS, such as 32x32")
    return int(rows), int(columns)


_reading = partial(typer.Option, rich_help_panel="Reading FILE")
_search = partial(typer.Option, rich_help_panel="Finding the rank")
_look = partial(typer.Option, rich_help_panel="Showing the components")
_results = partial(typer.Option, rich_help_panel="Results")
_path = {"readable": False}  # not checked by typer: our own messages say more

Seed = Annotated[int, _search(min=0, metavar="N", help="The same seed gives the same result.")]
Json = Annotated[bool, _results("--json", help="Print the result as JSON and nothing else.")]
JsonOnly = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Shape = Any  # typer has no tuples from one word


@dataclass(frozen=True, kw_only=True)
class Input:
    """The matrix to read, and how to prepare it."""

    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Nonnegative matrix: .csv, .tsv, .txt or .mtx (also .gz), .npy, .npz, .mat, .parquet, "
            ".h5ad, .h5, .hdf5 or a .zarr folder; - reads any of the files from the standard input.",
            show_default=False,
            **_path,
        ),
    ]
    var: Annotated[
        str | None,
        _reading(
            metavar="NAME",
            help="Variable of a .mat or .npz file, layer of a .h5ad file, array in HDF5 or zarr (group/X).",
        ),
    ] = None
    transpose: Annotated[bool, _reading("--transpose", help="Exchange rows and columns.")] = False
    header: Annotated[
        bool | None,
        _reading(
            "--header/--no-header",
            help="Whether line 1 of a text file has column names. Default: auto.",
        ),
    ] = None
    labels: Annotated[
        bool | None,
        _reading(
            "--labels/--no-labels",
            help="Whether column 1 of a text file has row names. Default: auto.",
        ),
    ] = None
    normalize: Annotated[
        str | None,
        _reading(
            **_one_of("autonmf.io", "NORMALIZATIONS"),
            help="log1p: scale each row to the median row sum, then log(1 + x); tfidf: as in scikit-learn; "
            "max: divide by the largest entry. Applied after --transpose.",
        ),
    ] = None
    missing: Annotated[
        str,
        _reading(
            **_one_of("autonmf.data.validation", "MISSING", "error"),
            help="Empty cells and NaN. error: refuse them; mask: treat them as missing.",
        ),
    ] = "error"

    @property
    def name(self) -> str:
        """The name of the matrix in messages."""
        return "standard input" if self.file == STREAM else self.file.name

    @property
    def treatment(self) -> str:
        """How it was prepared, for instance ', transposed, log1p', or nothing."""
        done = ["transposed"] * self.transpose + ([] if self.normalize is None else [self.normalize])
        done += ["missing entries masked"] * (self.missing == "mask")
        return "".join(f", {word}" for word in done)


@dataclass(frozen=True, kw_only=True)
class Search:
    """How the rank is found; None is the default of `PathOptions`."""

    n_components: Annotated[
        int | None,
        _search(
            "--n-components",
            "--rank",
            "-k",
            min=1,
            metavar="N",
            help="Use this rank. Default: found from the data.",
        ),
    ] = None
    max_rank: Annotated[
        int | None, _search(metavar="N", help="Largest rank. Default: half the smaller side, at most 50.")
    ] = None
    solver: Annotated[
        str | None,
        _search(
            **_one_of("autonmf.path.options", "SOLVER_NAMES"),
            help="Algorithm: auto (default), hals, or one of the paper's: pasm, s-ipalm, ipalm, palm.",
        ),
    ] = None
    grid: Annotated[
        str | None,
        _search(
            **_one_of("autonmf.path", "GRIDS"),
            help="exact (default): every rank; adaptive: the grid of lambda of the paper.",
        ),
    ] = None
    rule: Annotated[
        str | None,
        _search(
            **_one_of("autonmf.selection", "RULES"),
            help="auto (default), or marginal, the rule of the paper, implied by --tau.",
        ),
    ] = None
    tau: Annotated[float | None, _search(metavar="X", help="Threshold of the marginal rule.")] = None
    n_starts: Annotated[
        int | None,
        _search(metavar="N", help="Random initialisations; each rank keeps its best solution. Default: one."),
    ] = None
    seed: Seed = 0
    checkpoint: Annotated[
        Path | None,
        _search(metavar="FILE", help="Save progress here; the same command resumes from it.", **_path),
    ] = None

    def path_options(self, **more: Any) -> PathOptions:
        """The options of the path."""
        from autonmf.path import PathOptions

        names = ("max_rank", "solver", "grid", "n_starts", "checkpoint")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return PathOptions(random_state=self.seed, **given, **more)

    def rule_options(self) -> dict[str, Any]:
        """The rule and its threshold, as far as they are given."""
        rule = "marginal" if self.rule is None and self.tau is not None else self.rule
        return {name: value for name, value in (("rule", rule), ("tau", self.tau)) if value is not None}

    def check(self) -> None:
        """Refuse wrong or contradictory options before anything is read."""
        rank = self.n_components
        if rank is not None and self.max_rank is not None and self.max_rank < rank:
            raise Failure(
                f"--n-components {rank} is more than --max-rank {self.max_rank}; raise --max-rank", BAD_USAGE
            )
        if self == Search(n_components=rank, seed=self.seed, checkpoint=self.checkpoint):
            return  # nothing to check, so PathOptions need not be imported
        try:
            self.path_options()
            if rule := self.rule_options():
                from autonmf.selection import check_rule

                check_rule(rule["rule"], rule.get("tau"))
        except ValueError as error:
            raise Failure(
                name_options(str(error), *(field.name for field in fields(self))), BAD_USAGE
            ) from error


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a page shows the components."""

    kind: Annotated[
        str | None,
        _look(
            **_one_of("autonmf.plotting.forms", "KINDS"),
            help="image, spectrum, words or template. Default: chosen from the data.",
        ),
    ] = None
    image_shape: Annotated[
        Shape, _look(parser=_parse_shape, metavar="RxC", help="Columns are pixels of images of this shape.")
    ] = None
    map_shape: Annotated[
        Shape, _look(parser=_parse_shape, metavar="RxC", help="Rows are pixels of a map of this shape.")
    ] = None
    column_order: Annotated[
        bool, _look("--column-order", help="Pixels are in column order, as in MATLAB.")
    ] = False
    n_top: Annotated[int, _look(min=1, max=100, metavar="N", help="Words or genes per component.")] = 10
    title: Annotated[str | None, _look(metavar="TEXT", help="Title of the page. Default: name of FILE.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where a page goes."""

    out: Annotated[
        Path | None,
        _results(metavar="PAGE", help="Default: name of FILE with -report.html; - prints the page.", **_path),
    ] = None
    force: Annotated[bool, _results("--force", help="Overwrite an existing page.")] = False
    json: Json = False
    quiet: Annotated[bool, _results("--quiet", "-q", help="Print the name of the page and nothing else.")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go."""

    out: Annotated[
        Path | None,
        _results(
            metavar="FOLDER",
            help="Write the factors W and H, the path and a summary; - prints H as CSV.",
            **_path,
        ),
    ] = None
    force: Annotated[bool, _results("--force", help="Overwrite earlier results in FOLDER.")] = False
    json: Json = False
    quiet: Annotated[bool, _results("--quiet", "-q", help="Print the rank and nothing else.")] = False


def name_options(message: str, *names: str) -> str:
    """A message about parameters, with the names of the options instead."""
    for name in sorted(names, key=len, reverse=True):
        message = message.replace(name, option_name(name)) if "_" in name else message
        message = message.replace(f"{name} must", f"{option_name(name)} must")
    return message


def option_name(field: str) -> str:
    """The option of a field: ``n_starts`` is ``--n-starts``."""
    return f"--{field.replace('_', '-')}"


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a command that takes groups into one that takes an option for each of their fields.

    Typer makes options from the parameters of a function; ``def fit(source: Input, search: Search)`` lets
    commands share them.
    """
    groups = {name: kind for name, kind in get_type_hints(command).items() if name != "return"}
    parameters = []
    for kind in groups.values():
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            default = Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])
            )

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        command(
            **{
                name: kind(**{field.name: given[field.name] for field in fields(kind)})
                for name, kind in groups.items()
            }
        )

    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return with_options
