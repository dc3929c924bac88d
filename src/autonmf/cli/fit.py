"""`autonmf fit FILE`: factorise, print the result and write it to a folder."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from codecs import StreamWriter, getwriter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

import autonmf
from autonmf._files import replace_file
from autonmf._types import Array
from autonmf.cli.arguments import STREAM, Input, Output, Search, name_options, write_command
from autonmf.cli.console import BAD_USAGE, Failure, explain_errors, print_json, say
from autonmf.cli.factorise import Known, factorise, read, read_known
from autonmf.io import Table

if TYPE_CHECKING:
    from autonmf.fit import Factorisation

FILES = ("W.npy", "H.npy", "W.csv", "H.csv", "path.npz", "summary.json")


def run_fit(source: Input, search: Search, output: Output) -> None:
    """Run the command; options and folder are checked before the work begins."""
    search.check()
    folder, earlier = _check_folder(output)
    table = read(source, quiet=output.quiet)
    if folder is not None:
        check_writable(folder)
    silent = output.quiet or output.json
    known = read_known(search, table)
    found = factorise(table, search, source.name, known, missing=source.missing, quiet=silent)
    for warning in explain_warnings(found):
        say("warning", warning)
    summary = summarise(source, search, table, found)
    if folder is not None:
        summary |= {"folder": str(folder), "files": list(FILES)}
        _write_results(folder, table, found, known, summary)
    if output.json:
        print_json(summary)
    elif output.out == STREAM:
        _write_components(sys.stdout, table, found, known)
        if not output.quiet:
            print(*headline(source, table, found), sep="\n", file=sys.stderr)
    elif output.quiet:
        print(found.rank)
    else:
        levels = shlex.join(write_command("report", source, search))
        print(*headline(source, table, found), *_details(found, folder, earlier, levels), sep="\n")


def summarise(source: Input, search: Search, table: Table, found: Factorisation) -> dict[str, Any]:
    """Everything except the factors, as JSON-compatible types."""
    estimate = found.estimate
    return {
        "autonmf": autonmf.__version__,
        "file": str(source.file),
        "variable": source.var,
        "transposed": source.transpose,
        "normalized": source.normalize,
        "missing": source.missing,
        "annotations": source.annotation_names,
        "notes": [*table.notes, *table.doubts],
        "shape": [int(length) for length in table.X.shape],
        "rank": found.rank,
        "why": found.why,
        "plausible": [int(rank) for rank in estimate.plausible] if estimate else None,
        "confidence": estimate.confidence if estimate else None,
        "warnings": explain_warnings(found),
        "n_known": found.path.n_known,
        "unused": [index + 1 for index in found.unused],
        "relative_loss": found.relative_loss,
        "reconstruction_error": (2.0 * found.loss) ** 0.5,
        "n_iter": found.n_iter,
        "seconds": round(found.seconds, 3),
        "settings": {
            "n_components": search.n_components,
            "rule": estimate.rule if estimate else None,
            "tau": search.tau,
            "seed": search.seed,
            **{key: found.path.settings[key] for key in ("beta_loss", "solver", "grid", "n_starts")},
            "max_rank": search.max_rank,
        },
        "path": [
            {"rank": int(rank), "relative_loss": float(loss)}
            for rank, loss in zip(found.path.ranks, found.path.relative_losses, strict=True)
        ],
    }


def headline(source: Input, table: Table, found: Factorisation) -> list[str]:
    """Two lines: the matrix, and its rank with the reason."""
    n, m = table.X.shape
    confidence = found.estimate.confidence if found.estimate else None
    return [
        f"{source.name}: {n} x {m}{source.treatment}",
        f"rank {found.rank}{'' if confidence is None else f' (confidence {confidence:.0%})'}: {found.why}",
    ]


def explain_warnings(found: Factorisation) -> list[str]:
    """The warnings, with options of the command line instead of parameters."""
    return [name_options(text, "beta_loss", "max_rank") for text in found.warnings]


def is_uncertain(found: Factorisation) -> bool:
    """Whether the data do not determine one rank."""
    return found.estimate is not None and found.estimate.is_uncertain


def _details(found: Factorisation, folder: Path | None, earlier: list[str], levels: str) -> Iterator[str]:
    yield f"relative loss {found.relative_loss:.3g}, {found.n_iter} iterations, {found.seconds:.1f} s"
    others = [rank for rank in found.estimate.plausible if rank != found.rank] if found.estimate else []
    if others:
        from autonmf.path import format_intervals

        ranks = "rank" if len(others) == 1 else "ranks"
        yield f"also plausible: {ranks} {format_intervals(others)}"
    if is_uncertain(found):
        yield f"The data do not determine one rank; for a tree of these levels: {levels}"
    if folder is None:
        yield "Nothing was written: add --out FOLDER to save the factors."
        return
    yield f"Written to {folder}: {', '.join(FILES)}"
    if earlier:
        yield f"Overwritten: {', '.join(earlier)}"


def _check_folder(output: Output) -> tuple[Path | None, list[str]]:
    """The folder for the results, or None, and the files of earlier results there, which need --force."""
    folder = output.out
    if folder == STREAM and output.json:
        raise Failure("--out - prints the components and --json a summary: choose one of them", BAD_USAGE)
    if folder is None or folder == STREAM:
        return None, []
    with explain_errors(f"write to {folder}"):
        is_file = folder.exists() and not folder.is_dir()
        earlier = [name for name in FILES if (folder / name).exists()]
    if is_file:
        raise Failure(f"--out {folder} is a file; name a folder", BAD_USAGE)
    if earlier and not output.force:
        raise Failure(
            f"{folder} already has {', '.join(earlier)}: choose another folder, or add --force to overwrite "
            "them",
            BAD_USAGE,
        )
    return folder, earlier


def _write_results(
    folder: Path, table: Table, found: Factorisation, known: Known | None, summary: dict[str, Any]
) -> None:
    """Write all files, the summary last; each is complete or missing."""
    for name, factor in (("W.npy", found.W), ("H.npy", found.H)):
        with _replace(folder / name) as stream:
            # NumPy does not report a full disk when it sees that the stream is a file.
            np.save(cast(Any, SimpleNamespace(write=stream.write)), factor)
    rows = table.row_names or [f"row_{i}" for i in range(1, table.X.shape[0] + 1)]
    with _replace(folder / "W.csv") as stream:
        _write_csv(getwriter("utf-8")(stream), found.W, rows, _component_names(found, known))
    with _replace(folder / "H.csv") as stream:
        _write_components(getwriter("utf-8")(stream), table, found, known)
    with explain_errors(f"write {folder / 'path.npz'}"):
        found.path.save(folder / "path.npz")
    with _replace(folder / "summary.json") as stream:
        stream.write(json.dumps(summary, indent=2).encode() + b"\n")


@contextmanager
def _replace(file: Path) -> Iterator[IO[bytes]]:
    with explain_errors(f"write {file}"), replace_file(file) as stream:
        yield stream


def check_writable(folder: Path) -> None:
    """Create a folder, and check that files can be written there."""
    with explain_errors(f"write to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):  # has no name that an interruption could leave behind
            pass


def _write_components(
    stream: IO[str] | StreamWriter, table: Table, found: Factorisation, known: Known | None
) -> None:
    """Write H as CSV, one component per line."""
    columns = table.column_names or [f"column_{j}" for j in range(1, table.X.shape[1] + 1)]
    _write_csv(stream, found.H, _component_names(found, known), columns)


def _component_names(found: Factorisation, known: Known | None) -> list[str]:
    """The names of the known components, if they have any, and numbers for the others."""
    names = [] if known is None else known.names
    return [*names, *(f"component_{k}" for k in range(len(names) + 1, found.rank + 1))]


def _write_csv(stream: IO[str] | StreamWriter, values: Array, rows: list[str], columns: list[str]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["", *columns])
    writer.writerows([label, *line.tolist()] for label, line in zip(rows, values, strict=True))
