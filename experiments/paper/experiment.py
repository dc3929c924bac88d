"""What an experiment is: the cells it runs, the claims it judges, and what it brings to the page."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from experiments.paper.document import Block, Picture, Table


class Scale(StrEnum):
    """From a look at everything to what the page in the docs is made from."""

    quick = "quick"  # about three minutes on two cores
    standard = "standard"  # about twenty
    full = "full"  # every line of the paper's tables


Result = dict[str, Any]
"""``rows``: a list of flat dicts, one per measurement; ``curves``: a list of dicts with lists of numbers."""


@dataclass(frozen=True)
class Cell:
    """What to compute: a function and the plain values that it is called with."""

    experiment: str
    name: str  # unique within the experiment
    parameters: Mapping[str, Any]
    function: Callable[..., Result]
    cost: float = 1.0  # seconds on two cores, roughly: for the remaining time

    @property
    def key(self) -> str:
        """A file name that changes with the parameters."""
        text = json.dumps(dict(self.parameters), sort_keys=True)
        slug = re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-")
        return f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def run(self) -> Result:
        """The result, as JSON can hold it."""
        result: Result = plain(self.function(**self.parameters))
        return result


@dataclass(frozen=True)
class Done:
    """A finished cell."""

    experiment: str
    name: str
    parameters: dict[str, Any]
    result: Result
    seconds: float
    code: str  # digest of the source that the result depends on
    versions: dict[str, str]  # of what it was computed with

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The measurements, each with the cell's parameters."""
        return [{**self.parameters, **row} for row in self.result.get("rows", [])]

    @property
    def curves(self) -> list[dict[str, Any]]:
        """The lists of numbers, each with the cell's parameters."""
        return [{**self.parameters, **curve} for curve in self.result.get("curves", [])]


@dataclass(frozen=True)
class Missing:
    """A cell without a result, and why."""

    experiment: str
    name: str
    reason: str
    failed: bool = False  # False: its data are not there, or it was not run


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as Python values; what is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value


class Holds(StrEnum):
    """Whether a claim holds."""

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
            return "no result is available"
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


Results = Sequence[Done]


def no_blocks(results: Results) -> list[Block]:
    """For an experiment without readings to report."""
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
    readings: Callable[[Results], list[Block]] = (
        no_blocks  # of the text where it is silent, and what they give
    )
