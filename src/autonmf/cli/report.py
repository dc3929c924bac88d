"""`autonmf report FILE`: read, factorise, and write a page about it."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from autonmf.cli.failure import BAD_USAGE, Failure, explained, say
from autonmf.cli.fit import read
from autonmf.cli.progress import progress
from autonmf.cli.settings import Input, Kind, Look, Page, Search
from autonmf.readers import Table

if TYPE_CHECKING:
    from autonmf.cli.factorise import Factorisation
    from autonmf.report.reading import Reading


def run(source: Input, search: Search, look: Look, page: Page) -> None:
    """Everything that the command does; what can be refused is refused before the work begins."""
    target = page.file or Path(f"{_stem(source.file)}-report.html")
    _check_target(target, page.force)
    plotly = _plotly()
    table = read(source)
    for note in table.notes if not page.quiet else ():
        say("note", note)
    from autonmf.cli.factorise import factorise
    from autonmf.cli.recipe import recipe_of
    from autonmf.report.subject import Subject
    from autonmf.report.write import write_page

    reading = _reading(table, look)
    _check_folder(target)
    with progress(source.file.name, quiet=page.quiet) as reporter:
        found = factorise(table.X, search, reporter)
    for warning in found.estimate.warnings if found.estimate and not page.quiet else ():
        say("warning", warning)
    with explained(f"write {target}"):
        subject = Subject.of_factorisation(found, table.X)
        recipe = recipe_of(source, search, look, page)
        write_page(subject, reading, recipe, look.title or source.file.name, target, plotly)
    print(target if page.quiet else _summary(source, table, found, target))


def _stem(file: Path) -> str:
    """The name of a file without its extensions."""
    return file.name.removesuffix(".gz").rpartition(".")[0] or file.name


def _check_target(target: Path, force: bool) -> None:
    with explained(f"write {target}"):
        is_folder, exists = target.is_dir(), target.exists()
    if is_folder:
        raise Failure(f"--out {target} is a folder; name a file in it", BAD_USAGE)
    if exists and not force:
        raise Failure(f"{target} exists: choose another name, or add --force to overwrite it", BAD_USAGE)


def _check_folder(target: Path) -> None:
    """Make the folder, and make sure that files can be written there."""
    with explained(f"write to {target.parent}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent):
            pass


def _plotly() -> str:
    from autonmf.report.page import plotly_script

    try:
        return plotly_script()
    except ImportError as error:
        raise Failure(str(error)) from error


def _reading(table: Table, look: Look) -> Reading:
    from autonmf.report.reading import reading_of

    curves = look.kind in (None, Kind.spectrum, Kind.template) and look.image_shape is None
    wavelengths = numbers_in(table.column_names) if curves else None
    try:
        return reading_of(
            table.X.shape,
            feature_names=table.column_names,
            sample_names=table.row_names,
            image_shape=look.image_shape,
            order="F" if look.column_order else "C",
            wavelengths=wavelengths,
            map_shape=look.map_shape,
            kind=None if look.kind is None else look.kind.value,
            n_top=look.n_top,
        )
    except ValueError as error:
        raise Failure(_as_options(str(error)), BAD_USAGE) from error


def _as_options(message: str) -> str:
    """A message about parameters, for those who type options."""
    for name in ("image_shape", "map_shape"):
        option = f"--{name.replace('_', '-')}"
        message = message.replace(f"{name}=(rows, columns)", f"{option} RxC").replace(name, option)
    return message


def numbers_in(names: list[str] | None) -> list[float] | None:
    """Names of columns that are increasing numbers, as those of spectra are: wavelengths, energies, times."""
    try:
        values = [float(name) for name in names or ()]
    except ValueError:
        return None
    rising = all(low < high for low, high in pairwise(values)) and all(map(isfinite, values))
    return values if len(values) > 1 and rising else None


def _summary(source: Input, table: Table, found: Factorisation, target: Path) -> str:
    n, m = table.X.shape
    sure = found.estimate.confidence if found.estimate else None
    return "\n".join(
        [
            f"{source.file.name}: {n} x {m}{', transposed' if source.transpose else ''}",
            f"rank {found.rank}{'' if sure is None else f' (confidence {sure:.0%})'}: {found.why}",
            f"Written to {target} ({target.stat().st_size / 1e6:.1f} MB): open it in a browser",
        ]
    )
