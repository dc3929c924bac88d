"""`autonmf fit FILE`: read, factorise, say and write what was found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from autonmf.cli.console import print_json
from autonmf.cli.failure import BAD_USAGE, Failure, say
from autonmf.cli.output import FILES, Folder, write_components
from autonmf.cli.progress import progress
from autonmf.cli.reading import read
from autonmf.cli.settings import STREAM, Input, Output, Search
from autonmf.cli.summary import headline, summary_of

if TYPE_CHECKING:
    from autonmf.cli.factorise import Factorisation


def run(source: Input, search: Search, output: Output) -> None:
    """Everything that the command does; what can be refused is refused before the work begins."""
    search.check()
    folder = _folder(output)
    table = read(source, quiet=output.quiet)
    if folder is not None:
        folder.create()
    from autonmf.cli.factorise import factorise  # loads SciPy, which a bad file should not cost

    with progress(source.name, search, quiet=output.quiet or output.json) as reporter:
        found = factorise(table.X, search, reporter, missing=source.missing)
    for warning in found.estimate.warnings if found.estimate else ():
        say("warning", warning)
    summary = summary_of(source, search, table, found)
    if folder is not None:
        summary["folder"], summary["files"] = str(folder.path), list(FILES)
        folder.write(table, found, summary)
    if output.json:
        print_json(summary)
    elif output.out == STREAM:
        write_components(sys.stdout, table, found)
        if not output.quiet:
            print(*headline(source, table, found), sep="\n", file=sys.stderr)
    elif output.quiet:
        print(found.rank)
    else:
        print(*headline(source, table, found), *_details(found), *_written(folder), sep="\n")


def _folder(output: Output) -> Folder | None:
    """Where the results go, checked; None where nothing is written."""
    if output.out == STREAM and output.json:
        raise Failure("--out - prints the components and --json a summary: choose one of them", BAD_USAGE)
    if output.out in (None, STREAM):
        return None
    return Folder.checked(output.out, force=output.force)


def _details(found: Factorisation) -> Iterator[str]:
    """What else a person wants to know."""
    yield f"relative loss {found.relative_loss:.3g}, {found.n_iter} iterations, {found.seconds:.1f} s"
    others = [rank for rank in found.estimate.plausible if rank != found.rank] if found.estimate else []
    if others:
        from autonmf.report.wording import ranges

        yield f"also plausible: rank {ranges(others)}"


def _written(folder: Folder | None) -> Iterator[str]:
    if folder is None:
        yield "Nothing was written: add --out FOLDER to keep the factors."
        return
    yield f"Written to {folder.path}: {', '.join(FILES)}"
    if folder.replaced:
        yield f"Overwritten: {', '.join(folder.replaced)}"
