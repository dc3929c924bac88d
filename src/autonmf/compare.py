"""`compare_ranks`: several methods of rank selection on the same matrix."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autonmf._types import Seed, as_generator
from autonmf.baselines import METHODS, Method, reads_path
from autonmf.baselines.curve import loss_curve
from autonmf.distributed import as_data
from autonmf.path import PathOptions, RankPath, find_loss
from autonmf.selection import RULES, RankEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autonmf.plotting import AgreementDisplay

WIDTH = 110
"""Maximum length of a printed line."""


class Answer(NamedTuple):
    """The rank that one method found."""

    method: str
    rank: int | None  # None if it failed
    seconds: float  # without the shared path
    why: str  # one sentence, or the error
    failed: bool = False


@dataclass(frozen=True)
class Comparison:
    """The answers of several methods on one matrix."""

    answers: tuple[Answer, ...]
    shape: tuple[int, int]
    max_rank: int
    path_seconds: float  # for the path that several methods share; 0 if none needs it
    estimates: dict[str, RankEstimate] = field(repr=False)  # by method, without those that failed

    @property
    def ranks(self) -> dict[str, int]:
        """The rank that each method found, without methods that failed."""
        return {answer.method: answer.rank for answer in self.answers if answer.rank is not None}

    @property
    def agreement(self) -> dict[int, int]:
        """How many methods found each rank, by increasing rank."""
        return dict(sorted(Counter(self.ranks.values()).items()))

    @property
    def median(self) -> float:
        """The median of the ranks; NaN if every method failed."""
        return float(np.median(list(self.ranks.values()))) if self.ranks else float("nan")

    @property
    def ours(self) -> str | None:
        """The first method that is one of the rules of `select_rank`."""
        return next((one.method for one in self.answers if one.method.partition("-")[0] in RULES), None)

    def plot(self, ax: Axes | None = None) -> AgreementDisplay:
        """Draw the answers side by side, in ``ax`` or a new figure."""
        from autonmf.plotting import AgreementDisplay

        return AgreementDisplay.from_comparison(self).plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything except the evidence, as JSON-compatible types."""
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
        lines.append(f"{n} x {m}, ranks up to {self.max_rank}; shared path: {self.path_seconds:.2f} s")
        lines.append(f"rank (number of methods): {counts or 'none'}; median {self.median:g}")
        return "\n".join(lines)


def compare_ranks(
    X: Any,
    methods: str | Sequence[str] = "all",
    *,
    max_rank: int | None = None,
    beta_loss: str | float = "frobenius",
    random_state: Seed = None,
    progress: bool = False,
) -> Comparison:
    """Estimate the rank of a matrix with several methods.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    methods : "all" or sequence of str
        Names from `autonmf.baselines.METHODS`.
    max_rank : int, optional
        The largest rank to consider. Default: min(⌈min(n, m)/2⌉, 50). SVHT counts singular values and may
        return more.
    beta_loss : {"frobenius", "kullback-leibler"}, or 2 or 1 for them
        The loss of the paths that "auto", "marginal-2", "marginal-5", "elbow" and "bic" use. The other
        methods are defined by least squares or singular values.
    random_state : int, generator or None
        Seed. With an int, each method returns what it returns when called alone with that int.
    progress : bool
        Show which method is running, on the standard error stream.

    Returns
    -------
    Comparison
        Printing it shows a table. A method that fails has no rank; its reason is the error message.

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
    chosen = _find_methods(methods)
    find_loss(beta_loss)
    largest = PathOptions(max_rank=max_rank).first_rank(data.shape)
    seed = random_state
    if not isinstance(seed, int | np.integer):  # one seed for all methods
        seed = int(as_generator(seed).integers(2**31))
    answers, estimates = [], {}
    shared: RankPath | None = None

    def show(step: str, end: str = "") -> None:
        if progress:
            print(f"\r{step:<20}", end=end, file=sys.stderr, flush=True)

    began = time.monotonic()
    if any(reads_path(method) for method in chosen.values()):
        show("path")
        with suppress(Exception):  # each method then reports its own error
            shared = loss_curve(data, max_rank=largest, random_state=seed, beta_loss=beta_loss)
    path_seconds = time.monotonic() - began
    for number, (name, method) in enumerate(chosen.items(), 1):
        show(f"[{number}/{len(chosen)}] {name}")
        given: dict[str, Any] = {"path": shared} if reads_path(method) else {}
        if method is METHODS["auto"]:
            given = {"beta_loss": beta_loss}
        began = time.monotonic()
        try:
            estimate = method(data, max_rank=largest, random_state=seed, **given)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            answers.append(Answer(name, None, time.monotonic() - began, why, failed=True))
        else:
            answers.append(Answer(name, estimate.rank, time.monotonic() - began, estimate.why))
            estimates[name] = estimate
    show("done", end="\n")
    return Comparison(tuple(answers), data.shape, largest, path_seconds, estimates)


def _find_methods(methods: str | Sequence[str]) -> dict[str, Method]:
    names = list(METHODS) if methods == "all" else [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ValueError("methods is empty: name at least one")
    if unknown := [name for name in names if name not in METHODS]:
        raise ValueError(
            f"unknown method {', '.join(map(repr, unknown))}; choose from {', '.join(METHODS)}, or 'all'"
        )
    return {name: METHODS[name] for name in names}
