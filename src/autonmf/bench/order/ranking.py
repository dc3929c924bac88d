"""Scores in the order in which one wants to read them: groups as everywhere, the best method first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from autonmf.bench.order.family import GROUPS
from autonmf.bench.order.objective import Row, Score, overall, score_by

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
    return _ranked(rows, lambda row: row.group, groups_of(rows))


def ranked_held_out(rows: Sequence[Row]) -> list[Standing]:
    """On the held-out families together, if there are any."""
    return _ranked([row for row in rows if row.held_out], lambda row: "held out", ["held out"])


def ranked_by_family(rows: Sequence[Row]) -> list[Standing]:
    """Families by group, and then as they came."""
    families = {row.family: GROUPS.index(row.group) for row in rows}
    return _ranked(rows, lambda row: row.family, sorted(families, key=families.__getitem__))


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


def _ranked(rows: Sequence[Row], place: Callable[[Row], str], order: Sequence[str]) -> list[Standing]:
    parts: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        parts.setdefault((place(row), row.method), []).append(row)
    scores = score_by(rows, lambda row: (place(row), row.method))
    standings = [Standing(*key, scores[key], Sureness.of(part)) for key, part in parts.items()]
    return [one for where in order for one in _best_first([s for s in standings if s.where == where])]


def _best_first(standings: list[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda one: (-one.score.exact, one.score.log_error))
