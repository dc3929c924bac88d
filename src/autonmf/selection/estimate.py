"""`RankEstimate`: a rank and the evidence for it; the warning that the evidence is weak."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autonmf._types import Array

UNCERTAIN = 0.5
"""A rank with a confidence below this always comes with a warning."""


class UncertainRankWarning(UserWarning):
    """The data do not determine one rank: the confidence is below one half."""


@dataclass(frozen=True, eq=False)
class RankEstimate:
    """The rank that a rule chose, and the evidence for it."""

    rank: int
    rule: str
    why: str  # one sentence
    evidence: dict[str, Array]  # a table by columns; `pandas.DataFrame(evidence)` shows it
    plausible: tuple[int, ...]  # every rank that the evidence does not rule out
    confidence: float | None = None  # the rule's probability of `rank`; None where it gives none
    warnings: tuple[str, ...] = field(default=())

    @property
    def is_uncertain(self) -> bool:
        """Whether the data do not determine one rank: the confidence is below one half."""
        return self.confidence is not None and self.confidence < UNCERTAIN

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the evidence and return its display; ``options`` are those of `RankDisplay.plot`."""
        from autonmf.plotting import RankDisplay

        return RankDisplay.from_estimate(self).plot(ax, **options)

    def __str__(self) -> str:
        lines = [f"rank {self.rank}: {self.why}", *(f"warning: {text}" for text in self.warnings)]
        return "\n".join(lines)
