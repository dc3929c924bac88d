"""`autonmf fit FILE`: read, factorise, say and write what was found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import autonmf
from autonmf.cli.failure import explained, say, warnings_said
from autonmf.cli.output import FILES, Folder
from autonmf.cli.progress import progress
from autonmf.cli.settings import Input, Output, Search
from autonmf.readers import Table, read_matrix

if TYPE_CHECKING:
    from autonmf.cli.factorise import Factorisation


def run(source: Input, search: Search, output: Output) -> None:
    """Everything that the command does; the folder is checked before the work begins."""
    folder = None if output.folder is None else Folder.checked(output.folder, force=output.force)
    table = read(source)
    for note in table.notes if not output.quiet else ():
        say("note", note)
    if folder is not None:
        folder.create()
    from autonmf.cli.factorise import factorise  # loads SciPy, which a bad file should not cost

    with progress(source.file.name, quiet=output.quiet) as reporter:
        found = factorise(table.X, search, reporter)
    for warning in found.estimate.warnings if found.estimate else ():
        say("warning", warning)
    summary = _summary(source, search, table, found)
    if folder is not None:
        summary["folder"], summary["files"] = str(folder.path), list(FILES)
        folder.write(table, found, summary)
    if output.json:
        print(json.dumps(summary, indent=2, allow_nan=False))
    elif output.quiet:
        print(found.rank)
    else:
        _report(source, table, found, folder)


def read(source: Input) -> Table:
    """The matrix that the command names."""
    with explained(f"read {source.file}"), warnings_said():
        table = read_matrix(source.file, variable=source.variable, header=source.header, labels=source.labels)
    return table.T if source.transpose else table


def _summary(source: Input, search: Search, table: Table, found: Factorisation) -> dict[str, Any]:
    estimate = found.estimate
    return {
        "autonmf": autonmf.__version__,
        "file": str(source.file),
        "variable": source.variable,
        "transposed": source.transpose,
        "shape": [int(length) for length in table.X.shape],
        "rank": found.rank,
        "why": found.why,
        "plausible": [int(rank) for rank in estimate.plausible] if estimate else None,
        "confidence": estimate.confidence if estimate else None,
        "warnings": list(estimate.warnings) if estimate else [],
        "relative_loss": found.relative_loss,
        "reconstruction_error": (2.0 * found.loss) ** 0.5,
        "n_iter": found.n_iter,
        "seconds": round(found.seconds, 3),
        "settings": {
            "n_components": search.n_components,
            "tau": search.tau,
            "seed": search.seed,
            **{key: found.path.settings[key] for key in ("solver", "grid", "n_starts")},
            "max_rank": search.max_rank,
        },
        "path": [
            {"rank": int(rank), "relative_loss": float(loss)}
            for rank, loss in zip(found.path.ranks, found.path.relative_losses, strict=True)
        ],
    }


def _report(source: Input, table: Table, found: Factorisation, folder: Folder | None) -> None:
    """What a person wants to know."""
    n, m = table.X.shape
    print(f"{source.file.name}: {n} x {m}{', transposed' if source.transpose else ''}")
    sure = found.estimate.confidence if found.estimate else None
    print(f"rank {found.rank}{'' if sure is None else f' (confidence {sure:.0%})'}: {found.why}")
    print(f"relative loss {found.relative_loss:.3g}, {found.n_iter} iterations, {found.seconds:.1f} s")
    if found.estimate:
        others = [rank for rank in found.estimate.plausible if rank != found.rank]
        if others:
            from autonmf.report.wording import ranges

            print(f"also plausible: rank {ranges(others)}")
    if folder is None:
        print("Nothing was written: add --out FOLDER to keep the factors.")
        return
    print(f"Written to {folder.path}: {', '.join(FILES)}")
    if folder.replaced:
        print(f"Overwritten: {', '.join(folder.replaced)}")
