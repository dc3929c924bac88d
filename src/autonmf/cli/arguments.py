"""The options of the commands, in groups that several commands share.

The options of the search have no defaults here: what is not given is left to `autonmf.path.PathOptions`,
which also checks what is given. It is imported only then, because --help should be fast.
"""

# ruff: noqa: RUF009 (`_option` returns a field)
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
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


def _option(panel: str, help: str, default: Any = None, *names: str, **more: Any) -> Any:
    """A field of a group, with the option that sets it."""
    # Paths are not checked by typer: our own messages say more.
    option = typer.Option(*names, help=help, rich_help_panel=panel, readable=False, **more)
    return field(default=default, metadata={"option": option})


_reading = partial(_option, "Reading FILE")
_search = partial(_option, "Finding the rank")
_look = partial(_option, "Showing the components")
_results = partial(_option, "Results")

Seed = Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same result.")]
JsonOnly = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Shape = Any  # typer has no tuples from one word


@dataclass(frozen=True, kw_only=True)
class Input:
    """The matrix to read, and how to prepare it."""

    file: Path = field(
        metadata={
            "option": typer.Argument(
                metavar="FILE",
                help="Nonnegative matrix: .csv, .tsv, .txt or .mtx (also .gz), .npy, .npz, .mat, .parquet, "
                ".h5ad, .h5, .hdf5, a .zarr folder or one of 10x Genomics; - reads standard input.",
                show_default=False,
                readable=False,
            )
        }
    )
    var: str | None = _reading(
        "Variable of a .mat or .npz file, layer of a .h5ad file or raw, array in HDF5 or zarr (group/X).",
        metavar="NAME",
    )
    transpose: bool = _reading("Exchange rows and columns.", False, "--transpose")
    header: bool | None = _reading(
        "Whether line 1 of a text file has column names. Default: auto.", None, "--header/--no-header"
    )
    labels: bool | None = _reading(
        "Whether column 1 of a text file has row names. Default: auto.", None, "--labels/--no-labels"
    )
    annotations: str | None = _reading(
        "Columns of a text or .parquet file that describe the rows and are not factorised: names, or numbers "
        "such as 2,4-6.",
        metavar="COLUMNS",
    )
    normalize: str | None = _reading(
        "log1p: scale each row to the median row sum, then log(1 + x); tfidf: as in scikit-learn; "
        "max: divide by the largest entry. Applied after --transpose.",
        **_one_of("autonmf.io", "NORMALIZATIONS"),
    )
    missing: str = _reading(
        "Empty cells and NaN. error: refuse them; mask: treat them as missing.",
        "error",
        **_one_of("autonmf.data.validation", "MISSING", "error"),
    )

    @property
    def annotation_names(self) -> list[str]:
        names = (self.annotations or "").split(",")
        return [name.strip() for name in names if name.strip()]

    @property
    def name(self) -> str:
        return "standard input" if self.file == STREAM else self.file.name

    @property
    def treatment(self) -> str:
        """How it was prepared, such as ', transposed, log1p'; may be empty."""
        done = ["transposed"] * self.transpose + ([] if self.normalize is None else [self.normalize])
        done += ["missing entries masked"] * (self.missing == "mask")
        return "".join(f", {word}" for word in done)


@dataclass(frozen=True, kw_only=True)
class Search:
    """How the rank is found; None is the default of `PathOptions`."""

    n_components: int | None = _search(
        "Use this rank. Default: found from the data.",
        None,
        "--n-components",
        "--rank",
        "-k",
        min=1,
        metavar="N",
    )
    max_rank: int | None = _search("Largest rank. Default: half the smaller side, at most 50.", metavar="N")
    known: Path | None = _search(
        "File with known components in rows: they stay as they are, and the rank counts them. Columns are "
        "matched by name where both files have names.",
        metavar="FILE",
    )
    beta_loss: str | None = _search(
        "frobenius (default): least squares; kullback-leibler: for counts.",
        **_one_of("autonmf.losses", "LOSSES"),
    )
    solver: str | None = _search(
        "Algorithm: auto (default), hals, or one of the paper's: pasm, s-ipalm, ipalm, palm.",
        **_one_of("autonmf.path.options", "SOLVER_NAMES"),
    )
    grid: str | None = _search(
        "exact (default): every rank; adaptive: the paper's grid of lambda.",
        **_one_of("autonmf.path", "GRIDS"),
    )
    rule: str | None = _search(
        "auto (default), or marginal, the paper's rule, implied by --tau.",
        **_one_of("autonmf.selection", "RULES"),
    )
    tau: float | None = _search("Threshold of the marginal rule.", metavar="X")
    n_starts: int | None = _search(
        "Number of random initialisations; each rank keeps its best solution. Default: 1.", metavar="N"
    )
    seed: int = _search("The same seed gives the same result.", 0, min=0, metavar="N")
    checkpoint: Path | None = _search("Save progress here; the same command resumes from it.", metavar="FILE")

    def path_options(self, **more: Any) -> PathOptions:
        from autonmf.path import PathOptions

        names = ("max_rank", "beta_loss", "solver", "grid", "n_starts", "checkpoint")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return PathOptions(random_state=self.seed, **given, **more)

    def rule_options(self) -> dict[str, Any]:
        """The rule and its threshold, as far as they are given."""
        rule = "marginal" if self.rule is None and self.tau is not None else self.rule
        return {name: value for name, value in (("rule", rule), ("tau", self.tau)) if value is not None}

    def check(self) -> None:
        """Refuse invalid or contradictory options before the file is read."""
        rank = self.n_components
        if rank is not None and self.max_rank is not None and self.max_rank < rank:
            raise Failure(
                f"--n-components {rank} is larger than --max-rank {self.max_rank}: raise --max-rank",
                BAD_USAGE,
            )
        try:
            self.path_options(**({} if self.known is None else {"fixed_components": [[1.0]]}))
            if rule := self.rule_options():
                from autonmf.selection import check_rule

                check_rule(rule["rule"], rule.get("tau"))
        except ValueError as error:
            message = str(error).replace("solver or fixed_components", "--solver or --known")
            raise Failure(self.name_options(message), BAD_USAGE) from error

    def name_options(self, message: str) -> str:
        """A message about parameters, with the names of the options instead."""
        return name_options(message, *vars(self))


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a page shows the components."""

    kind: str | None = _look(
        "image, spectrum, words or template. Default: chosen from the data.",
        **_one_of("autonmf.plotting.presentation", "KINDS"),
    )
    image_shape: Shape = _look(
        "Columns are pixels of images of this shape.", parser=_parse_shape, metavar="RxC"
    )
    map_shape: Shape = _look("Rows are pixels of a map of this shape.", parser=_parse_shape, metavar="RxC")
    column_order: bool = _look("Pixels are in column order, as in MATLAB.", False, "--column-order")
    groups: str | None = _look(
        "Column that groups the rows of the matrix: of FILE (of obs in .h5ad), or of --metadata.",
        metavar="COLUMN",
    )
    metadata: Path | None = _look("Text table about the rows, with their names in column 1.", metavar="FILE")
    stability: int = _look(
        "Resamples from which the stability of components is measured, such as 20. Takes as long as several "
        "fits.",
        0, min=0, metavar="N",
    )  # fmt: skip
    unmix: bool = _look("Spectra: also show materials and their abundances.", False, "--unmix")
    n_top: int = _look("Words or genes per component.", 10, min=1, max=100, metavar="N")
    title: str | None = _look("Title of the page. Default: name of FILE.", metavar="TEXT")


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where a page goes."""

    out: Path | None = _results("Default: name of FILE with -report.html; - prints the page.", metavar="PAGE")
    force: bool = _results("Overwrite an existing page.", False, "--force")
    json: bool = _results("Print only the result, as JSON.", False, "--json")
    quiet: bool = _results("Print only the name of the page.", False, "--quiet", "-q")


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go."""

    out: Path | None = _results(
        "Write the factors W and H, the path and a summary; - prints H as CSV.", metavar="FOLDER"
    )
    force: bool = _results("Overwrite earlier results in FOLDER.", False, "--force")
    json: bool = _results("Print only the result, as JSON.", False, "--json")
    quiet: bool = _results("Print only the rank.", False, "--quiet", "-q")


def name_options(message: str, *names: str) -> str:
    """A message about parameters, with the names of the options instead."""
    for name in sorted(names, key=len, reverse=True):
        message = re.sub(rf"""\b{name}=(["']?)([\w-]+)\1""", rf"{option_name(name)} \2", message)
        message = message.replace(name, option_name(name)) if "_" in name else message
        message = message.replace(f"{name} must", f"{option_name(name)} must")
    return message


def option_name(name: str) -> str:
    """The option of a field: ``n_starts`` is ``--n-starts``."""
    return f"--{name.replace('_', '-')}"


def write_command(name: str, *groups: Input | Search | Look) -> list[str]:
    """The words of a command with every option that is not the default."""
    words = ["autonmf", name]
    for group in groups:
        for each in fields(group):
            value = getattr(group, each.name)
            if each.name == "file":
                words.append(str(value))
            elif value == each.default:
                continue
            elif isinstance(value, bool):
                words.append(option_name(each.name if value else f"no_{each.name}"))
            elif isinstance(value, tuple):
                words += [option_name(each.name), "x".join(map(str, value))]
            else:
                words += [option_name(each.name), str(value)]
    return words


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a command that takes groups into one that takes an option for each of their fields.

    Typer makes options from the parameters of a function; ``def fit(source: Input, search: Search)`` lets
    commands share them.
    """
    groups = {name: kind for name, kind in get_type_hints(command).items() if name != "return"}
    parameters = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=Annotated[get_type_hints(kind)[each.name], each.metadata["option"]],
        )
        for kind in groups.values()
        for each in fields(kind)
    ]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        filled = {
            name: kind(**{each.name: given[each.name] for each in fields(kind)})
            for name, kind in groups.items()
        }
        command(**filled)

    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return with_options
