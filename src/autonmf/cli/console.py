"""What the command line prints: results on the standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autonmf.io import ReadError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from autonmf.cli.arguments import Search
    from autonmf.path import Progress

BAD_DATA = 1
BAD_USAGE = 2
INTERRUPTED = 130

WIDTH = 100
"""Maximum width of a paragraph, and its width without a terminal."""


class Failure(Exception):
    """An error for the user: one line and an exit code."""

    def __init__(self, message: str, code: int = BAD_DATA) -> None:
        super().__init__(" ".join(message.split()))
        self.code = code


@contextmanager
def explain_errors(attempt: str) -> Iterator[None]:
    """Turn errors from bad input or a bad disk into a `Failure`. Other exceptions are bugs and pass."""
    try:
        yield
    except ReadError as error:
        raise Failure(str(error)) from error
    except MemoryError as error:
        raise Failure(f"cannot {attempt}: not enough memory. Use fewer rows or a sparse file.") from error
    except OSError as error:
        raise Failure(f"cannot {attempt}: {error.strerror or error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Failure(f"cannot {attempt}: {str(error) or type(error).__name__}") from error


@contextmanager
def print_warnings(rewrite: Callable[[str], str] = str) -> Iterator[None]:
    """Collect Python's warnings and print each once at the end, after any progress bar."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say("warning", rewrite(message))


def say(kind: str, message: str) -> None:
    """Print one line on the standard error stream, such as ``error: what happened``."""
    print(f"{kind}: {' '.join(message.split())}", file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print data as JSON; NaN and infinity become null."""
    print(json.dumps(_drop_infinite(data), indent=2, allow_nan=False))


def _drop_infinite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _drop_infinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_drop_infinite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def print_paragraph(text: str) -> None:
    """Print text wrapped to the terminal, followed by an empty line."""
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    print(textwrap.fill(text, min(terminal, WIDTH), break_long_words=False, break_on_hyphens=False))
    print()


NARROW = 50
"""Terminals with fewer columns show only the rank and the remaining time."""

WIDE = 90
"""Terminals with this many columns also show the name and a bar."""

OVERHEAD = 3.0
"""An iteration at rank r costs as much as r + `OVERHEAD` components (docs/performance.md has timings)."""


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
        yield Reporter(bar, bar.add_task(label, total=1.0, state="preparing"), PathWork(search))


class Reporter:
    """Shows the rank, the relative loss and the remaining time of a factorisation."""

    def __init__(self, bar: Bar, task: TaskID, work: PathWork) -> None:
        self.bar, self.task, self.work = bar, task, work

    def reached(self, progress: Progress) -> None:
        """Called after each iteration on the path."""
        self.bar.update(self.task, completed=self.work.fraction_done(progress))
        seconds = self.bar.tasks[0].time_remaining if self.work.is_known else None
        state = describe(progress, seconds, short=self.bar.console.width < NARROW)
        self.bar.update(self.task, state=state)

    def polishing(self, rank: int) -> None:
        """Called when the path is done and its solution at ``rank`` is polished."""
        self.bar.update(self.task, completed=1.0, state=f"polishing rank {rank}")


class PathWork:
    """The fraction of the work on a path that is done.

    The work at a rank is its number of iterations, on the exact path the minimum that the solver makes there.
    On the adaptive grid that number is unknown: the fraction counts ranks, and says nothing about time.
    """

    def __init__(self, search: Search) -> None:
        options = search.path_options()
        self.is_known = options.grid == "exact"
        self._solver = options.make_solver()
        self._lowest = search.n_components or 1
        self._work: list[float] = []  # by rank
        self._done = 0.0

    def fraction_done(self, progress: Progress) -> float:
        """From 0 to 1, over all initialisations; it stays where it was while ranks above are added."""
        if len(self._work) != progress.max_rank + 1:
            ranks = range(self._lowest, progress.max_rank + 1)
            self._work = [0.0] * self._lowest
            self._work += [(self._iterations(rank) + 1) * (rank + OVERHEAD) for rank in ranks]
        rank, per_start = progress.rank, sum(self._work)
        within = min(progress.iteration / (self._iterations(rank) + 1), 1.0) if rank else 1.0
        left = sum(self._work[:rank]) + self._work[rank] * (1.0 - within)
        left += (progress.n_starts - 1 - progress.start) * per_start
        self._done = max(1.0 - left / (per_start * progress.n_starts), self._done)
        return self._done

    def _iterations(self, rank: int) -> int:
        return self._solver.budget(rank).fewest if self.is_known else 1


def describe(progress: Progress, remaining: float | None, *, short: bool = False) -> str:
    """The state of a path as a short text."""
    parts = [f"rank {progress.rank}"]
    if not short:
        parts = [f"start {progress.start + 1} of {progress.n_starts}"] * (progress.n_starts > 1) + parts
        parts.append(f"relative loss {progress.relative_loss:.2e}")
    if remaining is not None:
        parts.append(f"about {duration(remaining)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds, minutes or hours as text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
