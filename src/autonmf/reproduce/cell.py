"""A cell: one line of an experiment, which can be run, kept and run again by itself."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Result = dict[str, Any]
"""``rows``: a list of flat dicts, one a measurement; ``curves``: a list of dicts with lists of numbers."""


@dataclass(frozen=True)
class Cell:
    """What to compute: a function and the plain values that it is called with."""

    experiment: str
    name: str  # unique within the experiment
    parameters: Mapping[str, Any]
    function: Callable[..., Result]
    cost: float = 1.0  # seconds on two cores, roughly: for the time left

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
    """NumPy's numbers and arrays as Python's; what is not finite as None."""
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
