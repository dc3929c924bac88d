r"""Rows and scores: how far the ranks of a method are from the truth, and which method is best.

On one instance with truth r* and answer r, the error is :math:`|\log_2(r/r^*)|`: twice as many components is
as wrong as half as many, whatever r*. An answer of zero counts as one. A method that fails is scored as if
it had answered one or `max_rank`, whichever is worse. A wrong answer with a warning is better than one
without, so silent misses (by more than one component, without any warning) are counted, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any, Self, TypeVar

from experiments.rank_benchmark.families import GROUPS

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Row:
    """One answer of one method to one instance."""

    family: str
    group: str
    held_out: bool
    seed: int
    method: str
    n: int
    m: int
    truth: int
    max_rank: int
    rank: int | None  # None: the method failed
    confidence: float | None = None
    plausible: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    note: str = ""
    error: str = ""  # of a method that failed
    code: str = ""  # the state of the code, see `code_digest`

    @property
    def key(self) -> tuple[str, int, str]:
        """What a row is about."""
        return self.family, self.seed, self.method

    @property
    def missed_by(self) -> float:
        """|r - r*|, infinite for a failure."""
        return math.inf if self.rank is None else abs(self.rank - self.truth)

    @property
    def log_error(self) -> float:
        """|log2(r/r*)|."""
        if self.rank is None:
            return max(abs(math.log2(answer / self.truth)) for answer in (1, self.max_rank))
        return abs(math.log2(max(self.rank, 1) / self.truth))

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """From JSON; keys of another version are left out."""
        known = {field.name for field in fields(cls)} & stored.keys()
        lists = {name: tuple(stored[name]) for name in known & {"plausible", "warnings"}}
        return cls(**{name: stored[name] for name in known} | lists)


@dataclass(frozen=True)
class Score:
    """A method on a set of instances: shares of the instances, except where said."""

    instances: int  # number
    exact: float
    within_one: float
    log_error: float  # mean of |log2(r/r*)|
    worst: float  # largest of these
    bias: float  # mean of log2(r/r*): positive, too many components. Failures left out
    covered: float  # the truth is among the ranks that the method calls plausible
    warned: float
    silent: float  # wrong by more than one, without a warning
    failed: float
    seconds: float  # mean

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """The score of these answers, each instance counting the same."""
        if not rows:
            raise ValueError("there are no rows to score")
        signed = [math.log2(max(row.rank, 1) / row.truth) for row in rows if row.rank is not None]
        return cls(
            instances=len(rows),
            exact=fmean(row.missed_by == 0 for row in rows),
            within_one=fmean(row.missed_by <= 1 for row in rows),
            log_error=fmean(row.log_error for row in rows),
            worst=max(row.log_error for row in rows),
            bias=fmean(signed) if signed else math.nan,
            covered=fmean(row.truth in row.plausible for row in rows),
            warned=fmean(bool(row.warnings) for row in rows),
            silent=fmean(row.missed_by > 1 and not row.warnings for row in rows),
            failed=fmean(row.rank is None for row in rows),
            seconds=fmean(row.seconds for row in rows),
        )

    @classmethod
    def average(cls, scores: Sequence[Score]) -> Self:
        """The mean of scores, each counting the same; the worst of the worst, the sum of the instances."""
        means = {field.name: fmean(getattr(s, field.name) for s in scores) for field in fields(cls)}
        total, worst = sum(s.instances for s in scores), max(s.worst for s in scores)
        return cls(**means | {"instances": total, "worst": worst})  # type: ignore[arg-type]


def score_by(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, Score]:
    """Scores of the rows with equal keys, for example by (family, method)."""
    parts: dict[Key, list[Row]] = {}
    for row in rows:
        parts.setdefault(key(row), []).append(row)
    return {name: Score.of(part) for name, part in parts.items()}


def overall(rows: Iterable[Row]) -> dict[str, Score]:
    """By method: the mean over groups, so that the 24 families of the paper do not outweigh the others."""
    by_group = score_by(rows, lambda row: (row.method, row.group))
    methods = dict.fromkeys(method for method, _ in by_group)
    return {
        method: Score.average([score for (name, _), score in by_group.items() if name == method])
        for method in methods
    }


SURE = 0.9
"""The confidence from which an answer counts as sure."""

OURS = "auto"
"""The method that is marked: the default of this package."""


@dataclass(frozen=True)
class Sureness:
    """How sure a method is, and whether rightly so; None where it gives no confidence."""

    share: float | None  # of the answers: those with a confidence of `SURE` at least
    exact: float | None  # share of these that are exact; None without any, too

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """Of the answers that have a confidence."""
        known = [(row.confidence, row.missed_by == 0) for row in rows if row.confidence is not None]
        sure = [exact for confidence, exact in known if confidence >= SURE]
        return cls(len(sure) / len(known) if known else None, fmean(sure) if sure else None)


@dataclass(frozen=True)
class Standing:
    """A method on the instances of one group, of one family, or on all."""

    where: str
    method: str
    score: Score
    sureness: Sureness


def ranked_overall(rows: Sequence[Row]) -> list[Standing]:
    """Scores are means over groups; how sure a method is, is a share of all its answers."""
    standings = [
        Standing("overall", method, score, Sureness.of([row for row in rows if row.method == method]))
        for method, score in overall(rows).items()
    ]
    return _best_first(standings)


def ranked_by_group(rows: Sequence[Row]) -> list[Standing]:
    """One after the other in the order of `GROUPS`."""
    return _rank_by(rows, lambda row: row.group, groups_of(rows))


def ranked_held_out(rows: Sequence[Row]) -> list[Standing]:
    """On the held-out families together, if there are any."""
    return _rank_by([row for row in rows if row.held_out], lambda row: "held out", ["held out"])


def ranked_by_family(rows: Sequence[Row]) -> list[Standing]:
    """Families by group, and then as they came."""
    families = {row.family: GROUPS.index(row.group) for row in rows}
    return _rank_by(rows, lambda row: row.family, sorted(families, key=families.__getitem__))


def groups_of(rows: Sequence[Row]) -> list[str]:
    """The groups that have rows."""
    present = {row.group for row in rows}
    return [group for group in GROUPS if group in present]


def uneven(rows: Sequence[Row]) -> bool:
    """Whether some method has not answered an instance that another one has."""
    answered: dict[str, set[tuple[str, int]]] = {}
    for row in rows:
        answered.setdefault(row.method, set()).add((row.family, row.seed))
    return len(set(map(frozenset, answered.values()))) > 1


def _rank_by(rows: Sequence[Row], place: Callable[[Row], str], order: Sequence[str]) -> list[Standing]:
    parts: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        parts.setdefault((place(row), row.method), []).append(row)
    scores = score_by(rows, lambda row: (place(row), row.method))
    standings = [Standing(*key, scores[key], Sureness.of(part)) for key, part in parts.items()]
    return [one for where in order for one in _best_first([s for s in standings if s.where == where])]


def _best_first(standings: list[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda one: (-one.score.exact, one.score.log_error))


COLUMNS: dict[str, Callable[[Standing], str]] = {
    "n": lambda one: str(one.score.instances),
    "exact": lambda one: percent(one.score.exact),
    "within 1": lambda one: percent(one.score.within_one),
    "log2": lambda one: f"{one.score.log_error:.2f}",
    "worst": lambda one: f"{one.score.worst:.2f}",
    "bias": lambda one: f"{one.score.bias:+.2f}",
    "covered": lambda one: percent(one.score.covered),
    "warned": lambda one: percent(one.score.warned),
    "silent": lambda one: percent(one.score.silent),
    "failed": lambda one: percent(one.score.failed),
    "sure": lambda one: percent(one.sureness.share),
    "exact if sure": lambda one: percent(one.sureness.exact),
    "seconds": lambda one: f"{one.score.seconds:.1f}",
}
SUMMARY = ("exact", "within 1", "log2", "worst", "sure", "exact if sure", "seconds")
LEGEND = (
    "n: instances. log2: mean of |log2(rank/truth)|; worst: the largest. bias: mean of log2(rank/truth). "
    "covered: the truth is among the plausible ranks. silent: wrong by more than one without a warning. "
    f"sure: answers with a confidence of {SURE:g} at least, where a method gives one. seconds: mean. Overall "
    "is the mean over groups, but for sure and exact if sure, which are shares of all answers."
)


def columns_of(one: Standing, names: Iterable[str]) -> list[str]:
    """What the columns of these names say."""
    return [COLUMNS[name](one) for name in names]


def percent(share: float | None) -> str:
    """A share; a dash where there is none."""
    return "-" if share is None else f"{share:.0%}"
