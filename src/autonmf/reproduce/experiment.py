"""What an experiment brings to the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autonmf.reproduce.cell import Cell, Done
from autonmf.reproduce.document import Block, Picture, Table
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.verdict import Verdict

Results = Sequence[Done]


def nothing(results: Results) -> list[Block]:
    """For an experiment that has no readings to report."""
    return []


@dataclass(frozen=True)
class Experiment:
    """One part of Section VI."""

    name: str  # on the command line
    title: str
    section: str
    about: str  # what is run
    cells: Callable[[Scale, str | None], list[Cell]]  # given how much, and the data home
    figures: Callable[[Results], list[Picture]]
    tables: Callable[[Results], list[Table]]
    verdict: Callable[[Results], Verdict]
    readings: Callable[[Results], list[Block]] = nothing  # of the text where it is silent, and what they give
