"""`RankEstimate`: a rank and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from autonmf._plots import Plottable
from autonmf._types import Array


@dataclass(frozen=True, eq=False)
class RankEstimate(Plottable):
    """The rank that a rule chose, and what it looked at."""

    rank: int
    rule: str
    why: str  # one sentence
    evidence: dict[str, Array]  # a table by columns; `pandas.DataFrame(evidence)` shows it
    plausible: tuple[int, ...]  # every rank that the evidence does not rule out
    confidence: float | None = None  # the rule's probability of `rank`; None where it gives none
    warnings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"rank {self.rank}: {self.why}", *(f"warning: {text}" for text in self.warnings)]
        return "\n".join(lines)


def plain(value: float) -> str:
    """A number with at most three digits, for a sentence.

    >>> plain(1.649), plain(10.0), plain(1139.8)
    ('1.65', '10', '1,140')
    """
    short = f"{value:.3g}"
    return f"{float(short):,.0f}" if 1e3 <= float(short) < 1e6 else short
