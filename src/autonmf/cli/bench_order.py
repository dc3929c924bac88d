"""`autonmf bench order`: methods of rank selection on matrices of known rank."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from autonmf.bench.order import DESIGN_SEEDS, FINAL_SEEDS, Row, choose_families, find_methods, run_order
from autonmf.bench.order.page import PAGE
from autonmf.bench.order.terminal import WIDTH, score_table
from autonmf.bench.order.watching import Silent, Watcher, line, skipped
from autonmf.cli.console import print_json, print_table
from autonmf.cli.failure import BAD_USAGE, Failure, explained, say
from autonmf.cli.settings import Order

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


LOG_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


def run(order: Order) -> None:
    """Ask what is missing, print the scores and perhaps write a page."""
    out = order.out
    if out is not None and out.exists() and not out.is_dir():
        raise Failure(f"--out {out} is a file; name a folder", BAD_USAGE)
    wanted = _words(order.families or ["design"])
    names = None if order.methods is None else _words(order.methods)
    numbers = [number for word in _words(order.seeds or ["design"]) for number in _seeds(word)]
    try:
        if not (choose_families(wanted) and find_methods(names) and numbers):
            raise ValueError("no families, no methods or no seeds to run")
    except ValueError as error:
        raise Failure(str(error), BAD_USAGE) from error
    try:
        with explained("run the benchmark" if out is None else f"write to {out}"), watching() as watcher:
            rows = run_order(wanted, names, numbers, out, order.quick, fresh=order.fresh, watcher=watcher)
    except KeyboardInterrupt:
        if out is not None:
            say("note", f"answers so far are kept in {out}: the same command goes on from there")
        raise
    if not rows:
        raise Failure("nothing was run: no family is left, or none whose data are at hand")
    if order.json:
        print_json(
            {"answers": [asdict(row) for row in rows], "page": None if out is None else str(out / PAGE)}
        )
        return
    print_table(score_table(rows), WIDTH)
    if out is not None:
        print(f"Written to {out / PAGE}")


def _words(values: Sequence[str]) -> list[str]:
    """Names given one at a time, or with commas between them."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _seeds(word: str) -> Sequence[int]:
    if word.isdecimal():
        return [int(word)]
    named = {"design": DESIGN_SEEDS, "final": FINAL_SEEDS}
    if word not in named:
        raise Failure(f"unknown seed {word!r}: give numbers, design or final", BAD_USAGE)
    return named[word]


class Lines(Silent):
    """In a log: the last answer every `LOG_EVERY` seconds."""

    def __init__(self) -> None:
        self.done = self.total = 0
        self.last = time.monotonic()

    def begins(self, answers: int) -> None:
        self.total = answers

    def skips(self, family: str) -> None:
        say("note", skipped(family))

    def answered(self, row: Row) -> None:
        self.done += 1
        if time.monotonic() - self.last >= LOG_EVERY:
            self.last = time.monotonic()
            print(f"{self.done} of {self.total}: {line(row)}", file=sys.stderr, flush=True)


class Live(Lines):
    """In a terminal: a bar that shows what is asked now."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        super().__init__()
        self.bar, self.task = bar, task

    def begins(self, answers: int) -> None:
        self.bar.update(self.task, total=answers)

    def asks(self, family: str, seed: int, method: str) -> None:
        self.bar.update(self.task, state=f"{family} seed {seed}, {method}")

    def answered(self, row: Row) -> None:
        self.bar.advance(self.task)


@contextmanager
def watching() -> Iterator[Watcher]:
    """A watcher that suits the standard error stream; a bar disappears at the end."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    state = TextColumn("{task.fields[state]}", markup=False)
    columns = (BarColumn(bar_width=None), MofNCompleteColumn(), state, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        yield Live(bar, bar.add_task("", total=None, state="starting"))
