"""`autonmf report FILE`: read, factorise, and write a page about it."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING

from autonmf.cli.console import print_json
from autonmf.cli.failure import BAD_USAGE, Failure, explained, say
from autonmf.cli.progress import progress
from autonmf.cli.reading import read
from autonmf.cli.settings import STREAM, Input, Look, Page, Search
from autonmf.cli.summary import headline, summary_of
from autonmf.readers import Table

if TYPE_CHECKING:
    from autonmf.report.reading import Reading


def run(source: Input, search: Search, look: Look, page: Page) -> None:
    """Everything that the command does; what can be refused is refused before the work begins."""
    search.check()
    target = page.out or Path(f"{_stem(source)}-report.html")
    _check_target(target, page)
    plotly = _plotly()
    table = read(source, quiet=page.quiet)
    from autonmf.cli.factorise import factorise
    from autonmf.cli.recipe import recipe_of
    from autonmf.report.subject import Subject
    from autonmf.report.write import write_page

    reading = _reading(table, look)
    if look.kind is None and look.image_shape is None and not page.quiet:
        say("note", _how_shown(reading))
    if target != STREAM:
        _check_folder(target)
    with progress(source.name, search, quiet=page.quiet or page.json) as reporter:
        found = factorise(table.X, search, reporter, missing=source.missing)
    for warning in found.estimate.warnings if found.estimate and not page.quiet else ():
        say("warning", warning)
    with explained(f"write {target}"), TemporaryDirectory(prefix="autonmf-") as folder:
        subject = Subject.of_factorisation(found, table.X, source.missing.value)
        recipe = recipe_of(source, search, look, page)
        title = look.title or source.name + (f" ({source.normalize})" if source.normalize else "")
        file = Path(folder, "page.html") if target == STREAM else target
        write_page(subject, reading, recipe, title, file, plotly)
        size = file.stat().st_size
        printed = file.read_text(encoding="utf-8") if target == STREAM else ""
    sys.stdout.write(printed)
    if page.json:
        print_json({**summary_of(source, search, table, found), "page": str(target), "bytes": size})
        return
    lines = [] if page.quiet else headline(source, table, found)
    if target != STREAM:
        written = f"Written to {target} ({size / 1e6:.1f} MB): open it in a browser"
        lines.append(str(target) if page.quiet else written)
    for line in lines:
        print(line, file=sys.stderr if target == STREAM else sys.stdout)


def _stem(source: Input) -> str:
    """The name of a file without its extensions."""
    if source.file == STREAM:
        return "standard-input"
    return source.file.name.removesuffix(".gz").rpartition(".")[0] or source.file.name


def _check_target(target: Path, page: Page) -> None:
    if target == STREAM:
        if page.json:
            raise Failure("--out - prints the page and --json a summary: choose one of them", BAD_USAGE)
        if sys.stdout.isatty():
            raise Failure("--out - prints megabytes: send them to a file or a program", BAD_USAGE)
        return
    with explained(f"write {target}"):
        is_folder, exists = target.is_dir(), target.exists()
    if is_folder:
        raise Failure(f"--out {target} is a folder; name a file in it", BAD_USAGE)
    if exists and not page.force:
        raise Failure(f"{target} exists: choose another name, or add --force to overwrite it", BAD_USAGE)


def _check_folder(target: Path) -> None:
    """Make the folder, and make sure that files can be written there."""
    with explained(f"write to {target.parent}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target.parent):
            pass


def _plotly() -> str:
    from autonmf.report.page import plotly_script

    try:
        return plotly_script()
    except ImportError as error:
        raise Failure(str(error)) from error


def _reading(table: Table, look: Look) -> Reading:
    from autonmf.report.reading import reading_of

    try:
        return reading_of(
            table.X.shape,
            feature_names=table.column_names,
            sample_names=table.row_names,
            image_shape=look.image_shape,
            order="F" if look.column_order else "C",
            map_shape=look.map_shape,
            kind=None if look.kind is None else look.kind.value,
            n_top=look.n_top,
        )
    except ValueError as error:
        raise Failure(_as_options(str(error)), BAD_USAGE) from error


def _how_shown(reading: Reading) -> str:
    """How components are shown where nobody said it, and what to type for another form."""
    if reading.kind == "words":
        return "Components are shown as words; --kind spectrum draws curves."
    if reading.feature_names is None:
        return "Components are shown as curves; --image-shape RxC draws images."
    return f"Components are shown as curves over {reading.axis_label}; --kind words lists names."


def _as_options(message: str) -> str:
    """A message about parameters, for those who type options."""
    for name in ("image_shape", "map_shape"):
        option = f"--{name.replace('_', '-')}"
        message = message.replace(f"{name}=(rows, columns)", f"{option} RxC").replace(name, option)
    return message
