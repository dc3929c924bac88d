"""How to get the page of `autonmf report` again, in Python and in a shell."""

from __future__ import annotations

import shlex

from autonmf.cli.choices import Grid, Missing, Rule, Solver
from autonmf.cli.settings import STREAM, Input, Look, Page, Search
from autonmf.report.recipe import Recipe, from_settings


def recipe_of(source: Input, search: Search, look: Look, page: Page) -> Recipe:
    """The code that computes the model, and the command that writes the page again."""
    given = {
        "n_components": search.n_components,
        "max_rank": search.max_rank,
        "solver": None if search.solver is Solver.pasm else search.solver.value,
        "grid": None if search.grid is Grid.exact else search.grid.value,
        "rule": None if search.chosen_rule is Rule.auto else search.chosen_rule.value,
        "tau": search.tau,
        "n_starts": None if search.n_starts == 1 else search.n_starts,
        "missing": None if source.missing is Missing.error else source.missing.value,
        "random_state": search.seed,
    }
    return from_settings(
        {name: value for name, value in given.items() if value is not None},
        _reading_code(source),
        _command(source, search, look, page),
    )


def _reading_code(source: Input) -> tuple[str, ...]:
    """The lines that make X."""
    from_stream = source.file == STREAM
    given = {"variable": source.var, "header": source.header, "labels": source.labels}
    options = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    file = "sys.stdin.buffer" if from_stream else repr(str(source.file))
    X = f"read_matrix({file}{options}).X{'.T' if source.transpose else ''}"
    lines = ["import sys"] * from_stream + ["from autonmf.readers import read_matrix"]
    if source.normalize is not None:
        lines.append("from autonmf.readers.normalising import normalized")
        X = f"normalized({X}, {source.normalize.value!r})"
    return (*lines, f"X = {X}")


def _command(source: Input, search: Search, look: Look, page: Page) -> str:
    """The command that writes this page again, without what is the default."""
    words: list[object] = ["autonmf", "report", source.file]
    usual, plain = Search(), Look()
    for flag, value, default in (
        ("var", source.var, None),
        ("normalize", source.normalize, None),
        ("missing", source.missing, Missing.error),
        ("n-components", search.n_components, None),
        ("max-rank", search.max_rank, None),
        ("solver", search.solver, usual.solver),
        ("grid", search.grid, usual.grid),
        ("rule", search.rule, None),
        ("tau", search.tau, None),
        ("n-starts", search.n_starts, usual.n_starts),
        ("seed", search.seed, None),
        ("checkpoint", search.checkpoint, None),
        ("kind", look.kind, None),
        ("image-shape", _written(look.image_shape), None),
        ("map-shape", _written(look.map_shape), None),
        ("n-top", look.n_top, plain.n_top),
        ("title", look.title, None),
        ("out", page.out, None),
    ):
        if value != default:
            words += [f"--{flag}", value]
    for flag, switch in (
        ("transpose", source.transpose),
        ("column-order", look.column_order),
        ("force", page.out != STREAM),  # the page is there by then
    ):
        words += [f"--{flag}"] if switch else []
    for flag, choice in (("header", source.header), ("labels", source.labels)):
        words += [] if choice is None else [f"--{flag}" if choice else f"--no-{flag}"]
    return shlex.join(map(str, words))


def _written(shape: tuple[int, int] | None) -> str | None:
    return None if shape is None else f"{shape[0]}x{shape[1]}"
