"""Read the matrix that a command names, and factorise it with the options of the command."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.cli.arguments import STREAM, Input, Search, option_name
from autonmf.cli.console import BAD_USAGE, Failure, explain_errors, print_warnings, say, show_progress
from autonmf.io import Table, read_matrix

if TYPE_CHECKING:
    from autonmf.fit import Factorisation
    from autonmf.stability import ComponentStability

COMMAND_ADVICE = {
    "Pass missing='mask' to leave these entries out, or fill them first, "
    "for example with sklearn.impute.SimpleImputer.": "Use --missing mask to leave these entries out, or "
    "fill them in the file first.",
    "shift it (X - X.min()), clip it (X.clip(min=0)), or take magnitudes.": "shift all of them, set "
    "negative ones to zero or take magnitudes, in the file.",
    "Divide X by its maximum first;": "Use --normalize max;",
}
"""Advice for Python code, and the same for the command line."""


class Known(NamedTuple):
    """The known components of a file."""

    rows: Array  # one per component, in the order of the columns of the matrix
    names: list[str]  # of the components; may be empty
    reordered: bool  # whether the columns of the file have another order


def read(source: Input, *, groups: str | None = None, quiet: bool = False) -> Table:
    """Read the matrix, and the annotation ``groups``; notes say how, warnings what was ambiguous."""
    with explain_errors(f"read {source.name}"), print_warnings():
        file = _open_standard_input() if source.file == STREAM else source.file
        asked = [*source.annotation_names, *([] if groups is None else [groups])]
        table = read_matrix(
            file, variable=source.var, header=source.header, labels=source.labels,
            annotations=list(dict.fromkeys(asked)),
        )  # fmt: skip
    for note in table.notes if not quiet else ():
        say("note", note)
    for doubt in table.doubts:
        say("warning", doubt)
    table = table.T if source.transpose else table
    table = _load_if_needed(table, source, quiet=quiet)
    if source.normalize is None:
        return table
    from autonmf.io import normalize

    with explain_errors(f"normalise {source.name} ({source.normalize})"):
        return replace(table, X=normalize(table.X, source.normalize))


def measure(
    table: Table, found: Factorisation, search: Search, known: Known | None, n_resamples: int, *, missing: str
) -> ComponentStability | None:
    """The stability of the components, if resamples are asked for."""
    if not n_resamples:
        return None
    from autonmf.stability import measure_stability

    automatic = search.n_components is None and search.rule_options().get("rule", "auto") == "auto"
    options = replace(
        search.path_options(fixed_components=known and known.rows), solver="auto", grid="exact", n_starts=1,
        max_rank=None, checkpoint=None, missing=missing, equilibrate=automatic,
    )  # fmt: skip
    with explain_errors("measure the stability"), print_warnings():
        return measure_stability(
            table.X if hasattr(table.X, "tocsr") else np.asarray(table.X), (found.W, found.H.T), found.path,
            options, n_resamples=n_resamples, random_state=search.seed,
        )  # fmt: skip


def _load_if_needed(table: Table, source: Input, *, quiet: bool) -> Table:
    """Load a matrix that is in a file into memory if an option needs that."""
    mask = "--missing mask" if source.missing == "mask" else None
    option = mask if source.normalize is None else f"--normalize {source.normalize}"
    if option is None:
        return table
    from autonmf.io.hdf5 import InFile

    if not isinstance(table.X, InFile):
        return table
    if not quiet:
        say("note", f"{option} reads all of {source.name} into memory.")
    try:
        with explain_errors(f"read {source.name}"):
            return replace(table, X=np.asarray(table.X))
    except Failure as failure:
        raise Failure(f"{option} needs the whole matrix in memory: {failure}", failure.code) from failure


def _open_standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise Failure("there is no standard input to read from")
    if sys.stdin.isatty():
        say("note", "Reading from standard input; press Ctrl-D to end it.")
    return sys.stdin.buffer


def read_known(search: Search, table: Table) -> Known | None:
    """The known components, if there are any; too small a rank is refused."""
    if search.known is None:
        return None
    from autonmf.model.known import check_known

    with explain_errors(f"read {search.known}"), print_warnings():
        known = read_matrix(search.known)
    for doubt in known.doubts:  # the options that they name are those of the matrix
        say("warning", f"{search.known}: {doubt.partition(' If ')[0]}")
    try:
        own = known.column_names if table.column_names else None
        rows = check_known(known.X, table.X.shape[1], table.column_names, own)
    except (TypeError, ValueError) as error:
        message = str(error).replace("fixed_components", f"--known {search.known}")
        raise Failure(message, BAD_USAGE) from error
    for name in ("n_components", "max_rank"):
        rank = getattr(search, name)
        if rank is not None and rank < len(rows):
            raise Failure(
                f"{option_name(name)} {rank} is less than the {len(rows)} known components, which it counts "
                "too: raise it, or leave some of them out",
                BAD_USAGE,
            )
    return Known(rows, known.row_names or [], own is not None and own != table.column_names)


def factorise(
    table: Table,
    search: Search,
    label: str,
    known: Known | None = None,
    *,
    missing: str = "error",
    quiet: bool = False,
) -> Factorisation:
    """Compute the path, choose the rank and polish the solution there, with a progress bar unless quiet.

    The same as `AutoNMF`, without scikit-learn, which takes a second to import.
    """
    from autonmf import fit  # loads SciPy, so not before the file is read
    from autonmf.data import OpenedData, as_data

    X, rank = table.X, search.n_components
    if rank is not None and rank > min(X.shape):
        raise Failure(
            f"--n-components {rank} is more than the smaller side of the {X.shape[0]} x {X.shape[1]} matrix; "
            f"use {min(X.shape)} or less",
            BAD_USAGE,
        )
    progress = show_progress(label, search, quiet=quiet)
    with explain_errors("factorise the matrix"), print_warnings(search.name_options), progress as reporter:
        options = search.path_options(callback=reporter.reached, fixed_components=known and known.rows)
        try:
            data = as_data(X, missing=missing)
        except ValueError as error:
            message = str(error)
            for code, words in COMMAND_ADVICE.items():
                message = message.replace(code, words)
            raise ValueError(message) from error
        rule = search.rule_options()
        return fit.factorise(
            OpenedData(data), options, n_components=rank, on_polish=reporter.polishing, **rule
        )
