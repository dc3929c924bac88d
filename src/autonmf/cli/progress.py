"""Progress on the standard error stream: a bar in a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from autonmf.path import Progress

LOG_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


class Reporter(Protocol):
    """Who is told how far a factorisation is."""

    def reached(self, progress: Progress) -> None:
        """Take note of one iteration on the path."""

    def polishing(self, rank: int) -> None:
        """Take note that the path is done and its solution at ``rank`` is polished."""


class Silent:
    """Says nothing."""

    def reached(self, progress: Progress) -> None: ...

    def polishing(self, rank: int) -> None: ...


class Lines:
    """A line every `LOG_EVERY` seconds."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.last = time.monotonic()

    def reached(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self.last >= LOG_EVERY:
            self.last = now
            print(
                f"{self.label}: {describe(progress)}, {progress.seconds:.0f} s", file=sys.stderr, flush=True
            )

    def polishing(self, rank: int) -> None: ...


class Live:
    """A bar that shows the rank reached, the relative loss and the time."""

    def __init__(self, bar: Bar, task: TaskID) -> None:
        self.bar, self.task = bar, task

    def reached(self, progress: Progress) -> None:
        done = progress.start * progress.max_rank + progress.max_rank - progress.rank
        total = progress.n_starts * progress.max_rank
        self.bar.update(self.task, completed=done, total=total, state=describe(progress))

    def polishing(self, rank: int) -> None:
        self.bar.update(self.task, state=f"polishing rank {rank}")


@contextmanager
def progress(label: str, *, quiet: bool = False) -> Iterator[Reporter]:
    """A reporter that suits the standard error stream; a bar disappears at the end."""
    if quiet:
        yield Silent()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines(label)
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True, expand=True) as bar:
        yield Live(bar, bar.add_task(label, total=None, state="starting"))


def describe(progress: Progress) -> str:
    """Where a path is, in a few words."""
    start = f"start {progress.start + 1} of {progress.n_starts}, " if progress.n_starts > 1 else ""
    return f"{start}rank {progress.rank}, relative loss {progress.relative_loss:.2e}"
