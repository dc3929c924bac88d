"""How far a run is: a bar with the time left in a terminal, a line a cell in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from autonmf.reproduce.cell import Cell

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Reporter(Protocol):
    """Who is told."""

    def say(self, text: str) -> None:
        """A line for people."""

    def begin(self, cell: Cell) -> None:
        """A cell is run now."""

    def end(self, cell: Cell, outcome: str) -> None:
        """It ended, and how."""


class Silent:
    """Says nothing."""

    def say(self, text: str) -> None: ...

    def begin(self, cell: Cell) -> None: ...

    def end(self, cell: Cell, outcome: str) -> None: ...


class Lines:
    """A line a cell, with the time left: what is left costs as much a second as what is done did."""

    def __init__(self, cells: list[Cell]) -> None:
        self.total = sum(cell.cost for cell in cells)
        self.count, self.done, self.spent, self.began = len(cells), 0, 0.0, time.monotonic()

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def begin(self, cell: Cell) -> None: ...

    def end(self, cell: Cell, outcome: str) -> None:
        self.done, self.spent = self.done + 1, self.spent + cell.cost
        left = (time.monotonic() - self.began) * (self.total - self.spent) / max(self.spent, 1e-9)
        self.say(
            f"[{self.done}/{self.count}] {cell.experiment}: {cell.name}: {outcome}; {duration(left)} left"
        )


class Live:
    """A bar."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self.bar, self.task = bar, task

    def say(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False)

    def begin(self, cell: Cell) -> None:
        self.bar.update(self.task, state=f"{cell.experiment}: {cell.name}")

    def end(self, cell: Cell, outcome: str) -> None:
        self.bar.advance(self.task, cell.cost)


def duration(seconds: float) -> str:
    """About how long."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def reporting(cells: list[Cell], *, quiet: bool = False) -> Iterator[Reporter]:
    """A reporter that suits the standard error stream."""
    if quiet:
        yield Silent()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines(cells)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[state]}", markup=False),
        BarColumn(bar_width=None),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # The speed over the whole run, since cells differ much.
    with Progress(*columns, console=console, transient=True, expand=True, speed_estimate_period=1e6) as bar:
        yield Live(bar, bar.add_task("cells", total=sum(cell.cost for cell in cells), state="starting"))
