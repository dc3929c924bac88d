"""A record of a run, iteration by iteration."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from autonmf.solvers.state import State


@dataclass
class History:
    """An observer that remembers: pass it as ``observer`` to `run`.

    The time spent on recording (the projected gradient needs both gradients) is not counted, but for the
    product X V, which the next iteration would otherwise compute and now finds done.
    """

    objective: list[float] = field(default_factory=list)
    projected_gradient: list[float] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._resumed = time.perf_counter()
        self._spent = 0.0

    def __call__(self, state: State, k: int) -> None:
        _ = state.XV
        self._spent += time.perf_counter() - self._resumed
        self.seconds.append(self._spent)
        self.objective.append(state.objective)
        self.projected_gradient.append(state.projected_gradient_norm)
        self.rank.append(state.rank)
        self._resumed = time.perf_counter()
