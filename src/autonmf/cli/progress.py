"""A progress bar in the terminal, on the standard error stream, and the remaining time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autonmf.cli.arguments import Search

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from autonmf.path import Progress

NARROW = 50
"""Terminals with fewer columns show only the rank and the remaining time."""

WIDE = 90
"""Terminals with this many columns also show the name and a bar."""

OVERHEAD = 3.0
"""An iteration at rank r costs as much as r + `OVERHEAD` components (docs/performance.md has timings)."""

WARM_UP = 1.0
"""Seconds before the remaining time is shown: the first iterations are not typical."""


class Reporter:
    """Shows the rank, the relative loss and the remaining time of a factorisation."""

    def __init__(self, bar: Bar, task: TaskID, remaining: RemainingTime) -> None:
        self.bar, self.task, self.remaining = bar, task, remaining

    def reached(self, progress: Progress) -> None:
        """Called after each iteration on the path."""
        seconds = self.remaining.estimate(progress)
        state = describe(progress, seconds, short=self.bar.console.width < NARROW)
        self.bar.update(self.task, completed=self.remaining.fraction_done(progress), state=state)

    def polishing(self, rank: int) -> None:
        """Called when the path is done and its solution at ``rank`` is polished."""
        self.bar.update(self.task, completed=1.0, state=f"polishing rank {rank}")


class RemainingTime:
    """Estimates the remaining time of a path from the work done so far.

    The work at a rank is its number of iterations, on the exact path the minimum that the solver makes there.
    On the adaptive grid that number is unknown: the fraction done counts ranks, and there is no estimate.
    """

    def __init__(self, search: Search) -> None:
        options = search.path_options()
        self._adaptive = options.grid != "exact"
        self._solver = options.make_solver()
        self._lowest = search.n_components or 1
        self._work: list[float] = []  # by rank
        self._done = 0.0
        self._began: tuple[float, float] | None = None  # fraction done and seconds when the clock started

    def fraction_done(self, progress: Progress) -> float:
        """The fraction of the work that is done."""
        if not self._work:
            ranks = range(self._lowest, progress.max_rank + 1)
            self._work = [0.0] * self._lowest
            self._work += [(self._iterations(rank) + 1) * (rank + OVERHEAD) for rank in ranks]
        rank, per_start = progress.rank, sum(self._work)
        within = min(progress.iteration / (self._iterations(rank) + 1), 1.0) if rank else 1.0
        left = sum(self._work[:rank]) + self._work[rank] * (1.0 - within)
        left += (progress.n_starts - 1 - progress.start) * per_start
        return max(1.0 - left / (per_start * progress.n_starts), 0.0)

    def estimate(self, progress: Progress) -> float | None:
        """Seconds until the path is done; None if unknown or too early to tell.

        The clock starts after the first rank, which is not typical, and again if the path begins again
        because compression is unreliable.
        """
        if self._adaptive:
            return None
        done, before = self.fraction_done(progress), self._done
        self._done = done
        first_rank = progress.start == 0 and progress.rank == progress.max_rank
        if self._began is None or first_rank or done < before:
            self._began = done, progress.seconds
        gained, spent = done - self._began[0], progress.seconds - self._began[1]
        return None if spent < WARM_UP or gained <= 0 else spent * (1.0 - done) / gained

    def _iterations(self, rank: int) -> int:
        return 1 if self._adaptive else self._solver.budget(rank).fewest


@contextmanager
def show_progress(label: str, search: Search, *, quiet: bool = False) -> Iterator[Reporter]:
    """A progress bar that disappears at the end; nothing without a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    off = quiet or not console.is_terminal or console.is_dumb_terminal
    wide = console.width >= WIDE
    name = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None)) if wide else ()
    state = TextColumn("{task.fields[state]}", markup=False)
    columns = (*name, state, TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True, expand=wide, disable=off) as bar:
        yield Reporter(bar, bar.add_task(label, total=1.0, state="preparing"), RemainingTime(search))


def describe(progress: Progress, remaining: float | None, *, short: bool = False) -> str:
    """The state of a path in a few words."""
    parts = [f"rank {progress.rank}"]
    if not short:
        parts = [f"start {progress.start + 1} of {progress.n_starts}"] * (progress.n_starts > 1) + parts
        parts.append(f"relative loss {progress.relative_loss:.2e}")
    if remaining is not None:
        parts.append(f"about {duration(remaining)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
