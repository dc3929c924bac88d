"""The matrix that a command names: read, turned and normalised."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import IO

import numpy as np

from autonmf.cli.choices import Missing
from autonmf.cli.failure import Failure, explained, say, warnings_said
from autonmf.cli.settings import STREAM, Input
from autonmf.readers import Table, read_matrix


def read(source: Input, *, quiet: bool = False) -> Table:
    """The matrix; says how it was understood, and always what could have been meant otherwise."""
    with explained(f"read {source.name}"), warnings_said():
        file = _standard_input() if source.file == STREAM else source.file
        table = read_matrix(file, variable=source.var, header=source.header, labels=source.labels)
    for note in table.notes if not quiet else ():
        say("note", note)
    for doubt in table.doubts:
        say("warning", doubt)
    table = table.T if source.transpose else table
    table = _loaded(table, source, quiet=quiet)
    if source.normalize is None:
        return table
    from autonmf.readers.normalising import normalized

    with explained(f"normalise {source.name} ({source.normalize})"):
        return replace(table, X=normalized(table.X, source.normalize.value))


def _loaded(table: Table, source: Input, *, quiet: bool) -> Table:
    """The matrix in memory, where an option needs it there; else where it is."""
    mask = "--missing mask" if source.missing is Missing.mask else None
    option = mask if source.normalize is None else f"--normalize {source.normalize}"
    if option is None:
        return table
    from autonmf.readers.in_file import InFile

    if not isinstance(table.X, InFile):
        return table
    if not quiet:
        say("note", f"{option} reads all of {source.name} into memory.")
    try:
        with explained(f"read {source.name}"):
            return replace(table, X=np.asarray(table.X))
    except Failure as failure:
        raise Failure(f"{option} needs all of it in memory: {failure}", failure.code) from failure


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise Failure("there is no standard input to read")
    if sys.stdin.isatty():
        say("note", "Reading the standard input; Ctrl-D ends it.")
    return sys.stdin.buffer
