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
    confidence: float | None = None  # probability that `rank` is right; None where the rule gives none
    warnings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"rank {self.rank}: {self.why}", *(f"warning: {text}" for text in self.warnings)]
        return "\n".join(lines)
