"""Whether a claim of the paper holds, computed from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Holds(StrEnum):
    """How a claim fared."""

    yes = "yes"
    partly = "partly"
    no = "no"


class Word(StrEnum):
    """The verdict on an experiment."""

    reproduced = "reproduced"
    differences = "reproduced with differences"
    failed = "not reproduced"
    unknown = "not run"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper beside what was measured."""

    paper: str
    measured: str
    holds: Holds


@dataclass(frozen=True)
class Verdict:
    """What came out of an experiment."""

    word: Word
    claims: tuple[Claim, ...]

    @property
    def summary(self) -> str:
        """How many of the claims hold."""
        if not self.claims:
            return "no result is at hand"
        count = {kind: sum(claim.holds is kind for claim in self.claims) for kind in Holds}
        parts = [f"{count[Holds.yes]} of {len(self.claims)} claims hold"]
        parts += [f"{count[Holds.partly]} in part"] if count[Holds.partly] else []
        parts += [f"{count[Holds.no]} not"] if count[Holds.no] else []
        return ", ".join(parts)


def judge(claims: Sequence[Claim]) -> Verdict:
    """Reproduced: every claim holds. Not reproduced: half of them or more do not. Else with differences."""
    if not claims:
        return Verdict(Word.unknown, ())
    failed = sum(claim.holds is Holds.no for claim in claims)
    if all(claim.holds is Holds.yes for claim in claims):
        return Verdict(Word.reproduced, tuple(claims))
    return Verdict(Word.failed if 2 * failed >= len(claims) else Word.differences, tuple(claims))


def graded(value: float, good: float, fair: float) -> Holds:
    """Yes from ``good`` on, partly from ``fair`` on."""
    if value >= good:
        return Holds.yes
    return Holds.partly if value >= fair else Holds.no
