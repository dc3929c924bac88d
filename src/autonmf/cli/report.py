"""`autonmf report FILE`: factorise and write a page about the result, with the code to repeat it."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from autonmf.cli.arguments import STREAM, Input, Look, Page, Search, name_options, write_command
from autonmf.cli.console import BAD_USAGE, Failure, explain_errors, print_json, say
from autonmf.cli.factorise import Known, factorise, measure, read, read_known
from autonmf.cli.fit import check_writable, explain_warnings, headline, is_uncertain, summarise
from autonmf.io import Table

if TYPE_CHECKING:
    from autonmf.plotting.presentation import Presentation
    from autonmf.report.result import Recipe


def run_report(source: Input, search: Search, look: Look, page: Page) -> None:
    """Run the command; options and target are checked before the work begins."""
    search.check()
    _check_look(source, look)
    stem = "standard-input" if source.file == STREAM else Path(source.name.removesuffix(".gz")).stem
    target = page.out or Path(f"{stem}-report.html")
    _check_target(target, page)
    from autonmf.report.page import find_materials, plotly_script, write_page
    from autonmf.report.result import Result

    try:
        plotly = plotly_script()
    except ImportError as error:
        raise Failure(str(error)) from error
    table = read(source, groups=look.groups if look.metadata is None else None, quiet=page.quiet)
    groups = _find_groups(table, look)
    presentation = _choose_presentation(table, look, groups)
    note = _describe_presentation(presentation, look)
    if note and not page.quiet:
        say("note", note)
    if look.unmix and presentation.kind != "spectrum":
        shown = f"--unmix is for spectra, but components are shown as {presentation.kind}"
        raise Failure(f"{shown}: add --kind spectrum", BAD_USAGE)
    if look.unmix and hasattr(table.X, "tocsr"):
        raise Failure(f"--unmix is for spectra, but {source.name} is a sparse matrix", BAD_USAGE)
    known = read_known(search, table)
    if target != STREAM:
        check_writable(target.parent)
    silent = page.quiet or page.json
    found = factorise(table, search, source.name, known, missing=source.missing, quiet=silent)
    for warning in explain_warnings(found) if not page.quiet else ():
        say("warning", warning)
    stability = measure(table, found, search, known, look.stability, missing=source.missing)
    with explain_errors("unmix the matrix"):
        unmixing = find_materials(table.X, presentation, found.W) if look.unmix else None
    with explain_errors(f"write {target}"), TemporaryDirectory(prefix="autonmf-") as folder:
        names = () if known is None else tuple(known.names)
        result = Result.from_factorisation(found, table.X, source.missing, stability, names)
        recipe = write_recipe(source, search, look, page, known)
        title = look.title or source.name + (f" ({source.normalize})" if source.normalize else "")
        file = Path(folder, "page.html") if target == STREAM else target
        write_page(result, presentation, recipe, title, file, plotly, unmixing)
        size = file.stat().st_size
        printed = file.read_text(encoding="utf-8") if target == STREAM else ""
    sys.stdout.write(printed)
    if page.json:
        print_json({**summarise(source, search, table, found), "page": str(target), "bytes": size})
        return
    lines = [] if page.quiet else headline(source, table, found)
    if target != STREAM:
        written = f"Written to {target} ({size / 1e6:.1f} MB): open it in a browser"
        lines.append(str(target) if page.quiet else written)
    if not page.quiet and is_uncertain(found):
        lines.append(
            "The data do not determine one rank: the tree of components on the page shows the levels; click "
            "on one to see its components"
        )
    for line in lines:
        print(line, file=sys.stderr if target == STREAM else sys.stdout)


def _check_target(target: Path, page: Page) -> None:
    if target == STREAM:
        if page.json:
            raise Failure("--out - prints the page and --json a summary: choose one of them", BAD_USAGE)
        if sys.stdout.isatty():
            raise Failure("--out - prints a page of several megabytes: redirect it to a file", BAD_USAGE)
        return
    with explain_errors(f"write {target}"):
        is_folder, exists = target.is_dir(), target.exists()
    if is_folder:
        raise Failure(f"--out {target} is a folder; name a file in it", BAD_USAGE)
    if target.suffix.lower() not in ("", ".html", ".htm"):
        raise Failure(f"a report is a page in HTML: name it {target.with_suffix('.html')}", BAD_USAGE)
    if exists and not page.force:
        raise Failure(f"{target} exists: choose another name, or add --force to overwrite it", BAD_USAGE)


def _check_look(source: Input, look: Look) -> None:
    if look.metadata is not None and look.groups is None:
        raise Failure("--metadata needs --groups COLUMN, the column that groups the rows", BAD_USAGE)
    if look.groups is not None and look.metadata is None and source.transpose:
        raise Failure(
            "--transpose makes columns of the rows that --groups describes: use --metadata FILE", BAD_USAGE
        )
    if look.stability == 1:
        raise Failure("--stability needs at least 2 resamples, such as 20", BAD_USAGE)


def _find_groups(table: Table, look: Look) -> list[str] | None:
    """The group of each row, from the file itself or from a table about its rows."""
    if look.groups is None:
        return None
    if look.metadata is None:
        return table.annotations[look.groups]
    from autonmf.io.text import read_annotation

    with explain_errors(f"read {look.metadata}"):
        found = read_annotation(look.metadata, look.groups, table.row_names, table.X.shape[0])
    if missing := found.count(""):
        say("note", f"{missing} of {len(found)} rows have no group in {look.metadata.name}.")
    return found


def _choose_presentation(table: Table, look: Look, groups: list[str] | None) -> Presentation:
    from autonmf.plotting.presentation import choose_presentation

    try:
        return choose_presentation(
            table.X.shape,
            feature_names=table.column_names,
            sample_names=table.row_names,
            groups=groups,
            image_shape=look.image_shape,
            order="F" if look.column_order else "C",
            map_shape=look.map_shape,
            kind=look.kind,
            n_top=look.n_top,
        )
    except ValueError as error:
        message = name_options(str(error), "image_shape", "map_shape").replace("=(rows, columns)", " RxC")
        message = re.sub(r"\((\d+), (\d+)\)", r"\1x\2", message)
        raise Failure(message, BAD_USAGE) from error


def _describe_presentation(presentation: Presentation, look: Look) -> str:
    """How components are shown, and the option for another form; empty if that was chosen."""
    if look.kind is not None or look.image_shape is not None:
        return ""
    if presentation.kind == "words":
        return "Components are shown as words; --kind spectrum draws curves."
    if presentation.feature_names is None:
        if look.map_shape is not None:
            return ""
        if look.unmix:
            return "Components are shown as curves; --map-shape RxC draws maps."
        return "Components are shown as curves; --image-shape RxC draws images."
    return f"Components are shown as curves over {presentation.axis_label}; --kind words lists names."


def write_recipe(source: Input, search: Search, look: Look, page: Page, known: Known | None = None) -> Recipe:
    """The code that computes the model, and the command that writes the page again."""
    from autonmf.report.result import COUNTS_ADVICE, recipe_from_settings

    names = ("n_components", "max_rank", "beta_loss", "solver", "grid", "n_starts")
    given = {name: getattr(search, name) for name in names} | search.rule_options()
    given["missing"] = None if source.missing == Input.missing else source.missing
    given["fixed_components"] = search.known
    given["random_state"] = search.seed
    recipe = recipe_from_settings(
        {name: value for name, value in given.items() if value is not None},
        _write_loading(source, search, known),
        _write_command(source, search, look, page),
    )
    if source.file == STREAM or page.out == STREAM:
        return recipe
    stem = (page.out or Path(f"{Path(source.name.removesuffix('.gz')).stem}-report.html")).with_suffix("")

    def write(how: str, source: Input = source, search: Search = search) -> tuple[str, str]:
        other = replace(page, out=Path(f"{stem}-{how}.html"))
        return COUNTS_ADVICE[how], _write_command(source, search, look, other)

    loss = "kullback-leibler"
    normalised = (write(how, source=replace(source, normalize=how)) for how in ("log1p", "tfidf"))
    return replace(recipe, for_counts=(write(loss, search=replace(search, beta_loss=loss)), *normalised))


def _write_loading(source: Input, search: Search, known: Known | None) -> tuple[str, ...]:
    from_stream = source.file == STREAM
    given: dict[str, Any] = {"variable": source.var, "header": source.header, "labels": source.labels}
    given["annotations"] = source.annotation_names or None
    options = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    file = "sys.stdin.buffer" if from_stream else repr(str(source.file))
    table = f"read_matrix({file}{options}){'.T' if source.transpose else ''}"
    X = f"{table}.X"
    lines = ["import sys"] * from_stream + ["from autonmf.io import read_matrix"]
    if source.normalize is not None:
        lines.append("from autonmf.io import normalize")
        X = f"normalize({X}, {source.normalize!r})"
    if known is not None and known.reordered:
        lines += [
            f"table, known = {table}, read_matrix({str(search.known)!r})",
            "fixed_components = known.X[:, [known.column_names.index(name) for name in table.column_names]]",
        ]
        X = X.replace(table, "table")
    elif known is not None:
        lines.append(f"fixed_components = read_matrix({str(search.known)!r}).X")
    return (*lines, f"X = {X}")


def _write_command(source: Input, search: Search, look: Look, page: Page) -> str:
    """The command; with --force, because the page exists by then."""
    words = write_command("report", source, search, look)
    out = [] if page.out is None else ["--out", str(page.out)]
    return shlex.join([*words, *out, *["--force"] * (page.out != STREAM)])
