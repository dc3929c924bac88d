"""Progress in a terminal, on the standard error stream: a bar that disappears at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from autonmf.cli.pace import Pace
from autonmf.cli.settings import Search

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID

    from autonmf.path import Progress

NARROW = 50
"""Columns of a terminal below which the rank and the time left have to do."""

WIDE = 90
"""Columns from which on there is room for the name and a bar beside them."""


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


class Live:
    """A bar that shows the rank reached, the relative loss and the time left."""

    def __init__(self, bar: Bar, task: TaskID, pace: Pace) -> None:
        self.bar, self.task, self.pace = bar, task, pace

    def reached(self, progress: Progress) -> None:
        left = self.pace.left(progress)
        short = self.bar.console.width < NARROW
        state = describe(progress, left, short=short)
        self.bar.update(self.task, completed=self.pace.share(progress), state=state)

    def polishing(self, rank: int) -> None:
        self.bar.update(self.task, completed=1.0, state=f"polishing rank {rank}")


@contextmanager
def progress(label: str, search: Search, *, quiet: bool = False) -> Iterator[Reporter]:
    """A reporter that suits the standard error stream: silent where there is no terminal."""
    if quiet:
        yield Silent()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield Silent()
        return
    from rich.progress import Progress as Bar

    wide = console.width >= WIDE
    with Bar(*_columns(wide), console=console, transient=True, expand=wide) as bar:
        yield Live(bar, bar.add_task(label, total=1.0, state="preparing"), Pace(search))


def _columns(wide: bool) -> tuple[ProgressColumn, ...]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    state = TextColumn("{task.fields[state]}", markup=False)
    if not wide:
        return state, TimeElapsedColumn()
    return (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        state,
        TimeElapsedColumn(),
    )


def describe(progress: Progress, left: float | None, *, short: bool = False) -> str:
    """Where a path is, in a few words."""
    parts = [f"rank {progress.rank}"]
    if not short:
        parts = [f"start {progress.start + 1} of {progress.n_starts}"] * (progress.n_starts > 1) + parts
        parts.append(f"relative loss {progress.relative_loss:.2e}")
    if left is not None:
        parts.append(f"about {duration(left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
