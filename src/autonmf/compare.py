"""`compare_ranks`: every method on the same matrix, in one call."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from autonmf._plots import Plottable
from autonmf._random import as_generator
from autonmf._types import Seed
from autonmf.baselines import METHODS, Method, reads_path
from autonmf.baselines.bounds import upper_bound
from autonmf.baselines.curve import loss_curve
from autonmf.data import as_data
from autonmf.path import RankPath
from autonmf.selection import RankEstimate

WIDTH = 110
"""Characters of a printed line, at most."""


class Answer(NamedTuple):
    """What one method said."""

    method: str
    rank: int | None  # None if it failed
    seconds: float  # without the shared path
    why: str  # one sentence, or the error
    failed: bool = False


@dataclass(frozen=True)
class Comparison(Plottable):
    """The answers of several methods on one matrix."""

    answers: tuple[Answer, ...]
    shape: tuple[int, int]
    max_rank: int
    path_seconds: float  # of the path that several methods read; 0 if none did
    estimates: dict[str, RankEstimate] = field(repr=False)  # by method, of those that did not fail

    @property
    def ranks(self) -> dict[str, int]:
        """The rank that each method found, without those that failed."""
        return {answer.method: answer.rank for answer in self.answers if answer.rank is not None}

    @property
    def agreement(self) -> dict[int, int]:
        """How many methods gave each rank, by increasing rank."""
        return dict(sorted(Counter(self.ranks.values()).items()))

    @property
    def median(self) -> float:
        """The median of the ranks; NaN if every method failed."""
        return float(np.median(list(self.ranks.values()))) if self.ranks else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Everything but the evidence, as JSON would hold it."""
        return {
            "shape": list(self.shape),
            "max_rank": self.max_rank,
            "path_seconds": self.path_seconds,
            "answers": [answer._asdict() for answer in self.answers],
            "agreement": {str(rank): count for rank, count in self.agreement.items()},
            "median": self.median if self.ranks else None,
        }

    def __str__(self) -> str:
        names = max(len(answer.method) for answer in self.answers)
        lines = [f"{'method':<{names}}  rank  seconds  why"]
        for answer in self.answers:
            rank = "-" if answer.rank is None else str(answer.rank)
            line = f"{answer.method:<{names}}  {rank:>4}  {answer.seconds:7.2f}  {answer.why}"
            lines.append(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
        n, m = self.shape
        counts = ", ".join(f"{rank} ({count})" for rank, count in self.agreement.items())
        lines.append(f"{n} x {m}, ranks up to {self.max_rank}; the path: {self.path_seconds:.2f} s")
        lines.append(f"answers (methods): {counts or 'none'}; median {self.median:g}")
        return "\n".join(lines)


def compare_ranks(
    X: Any,
    methods: str | Sequence[str] = "all",
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    progress: bool = False,
) -> Comparison:
    """Ask several methods for the rank of the same matrix.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    methods : "all" or sequence of str
        Names in `autonmf.baselines.METHODS`.
    max_rank : int, optional
        The largest rank to consider. Default: min(⌈min(n, m)/2⌉, 50). SVHT counts singular values and may
        answer more.
    random_state : int, generator or None
        Seed. With an int each method answers as it would if called with that int by itself.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Comparison
        Print it for a table. A method that fails has its error in place of a reason, and no rank.

    Examples
    --------
    >>> from autonmf.compare import compare_ranks
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> comparison = compare_ranks(X, ["marginal-5", "bic", "svht"], max_rank=8, random_state=0)
    >>> comparison.agreement
    {3: 3}
    """
    data = as_data(X)
    chosen = _chosen(methods)
    largest = upper_bound(data.shape, max_rank)
    seed = random_state if isinstance(random_state, int | np.integer) else _drawn(random_state)
    answers, estimates = [], {}
    shared: RankPath | None = None
    with _steps(len(chosen) + 1, progress) as begin:
        began = time.monotonic()
        if any(reads_path(method) for method in chosen.values()):
            begin("path")
            shared = _path_or_none(data, largest, seed)
        path_seconds = time.monotonic() - began
        for name, method in chosen.items():
            begin(name)
            given = {"path": shared} if reads_path(method) else {}
            began = time.monotonic()
            try:
                estimate = method(data, max_rank=largest, random_state=seed, **given)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                answers.append(Answer(name, None, time.monotonic() - began, why, failed=True))
            else:
                answers.append(Answer(name, estimate.rank, time.monotonic() - began, estimate.why))
                estimates[name] = estimate
    return Comparison(tuple(answers), data.shape, largest, path_seconds, estimates)


def _chosen(methods: str | Sequence[str]) -> dict[str, Method]:
    names = list(METHODS) if methods == "all" else [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ValueError("methods is empty: name at least one")
    if unknown := [name for name in names if name not in METHODS]:
        raise ValueError(
            f"unknown method {', '.join(map(repr, unknown))}; choose from {', '.join(METHODS)}, or 'all'"
        )
    return {name: METHODS[name] for name in names}


def _drawn(random_state: Seed) -> int:
    """One seed for all methods, from whatever else was given."""
    return int(as_generator(random_state).integers(2**31))


def _path_or_none(data: Any, max_rank: int, seed: int) -> RankPath | None:
    """The path that methods share. If it fails, each that reads one will try, and say what is wrong."""
    try:
        return loss_curve(data, max_rank=max_rank, random_state=seed)
    except Exception:
        return None


@contextmanager
def _steps(total: int, shown: bool) -> Iterator[Any]:
    """A function to call with the name of each step as it begins; draws a bar if asked."""
    if not shown:
        yield lambda name: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total)
        started = [-1]

        def begin(name: str) -> None:
            started[0] += 1
            bar.update(task, completed=started[0], description=name)

        yield begin
        bar.update(task, completed=total, description="done")
