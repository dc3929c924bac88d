"""The time left on a path: what it took so far, for the work that was done and the work that is left."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from autonmf.cli.choices import Grid
from autonmf.cli.settings import Search

if TYPE_CHECKING:
    from autonmf.path import Progress

OVERHEAD = 3.0
"""An iteration at rank r costs as much as r + `OVERHEAD` components (docs/performance.md has timings)."""

SOON = 1.0
"""Seconds on the path before which nothing is said: the first iterations are not typical."""


class Pace:
    """How fast a path goes down.

    The work at a rank is that of its iterations: as many as the solver's budget says on the exact path. On
    the adaptive grid nobody knows before how many there are, so its share of the work counts ranks, and the
    time left is not told.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.first: Progress | None = None  # where the clock was started
        self.last: Progress | None = None
        self._below: list[float] = []  # work from rank r down to the last, by r

    def share(self, progress: Progress) -> float:
        """The share of the work that is done."""
        if not self._below:
            self._below = self._work(progress.max_rank)
        of_one_start, rank = self._below[-1], progress.rank
        here = self._below[rank] - self._below[rank - 1] if rank else 0.0
        within = min(progress.iteration / (self._iterations(rank) + 1.0), 1.0) if rank else 1.0
        left = self._below[rank] - here * within
        left += (progress.n_starts - 1 - progress.start) * of_one_start
        return max(1.0 - left / (of_one_start * progress.n_starts), 0.0)

    def left(self, progress: Progress) -> float | None:
        """Seconds until the path is done, None where nobody can tell or it is too early to."""
        if self.search.grid is Grid.adaptive:
            return None
        if self._begins(progress):
            self.first = progress
        self.last = progress
        spent = progress.seconds - self.first.seconds if self.first else 0.0
        done = self.share(progress)
        gained = done - self.share(self.first or progress)
        return None if spent < SOON or gained <= 0 else spent * (1.0 - done) / gained

    def _begins(self, progress: Progress) -> bool:
        """Whether the clock starts here: at the first rank of the first start, which is not typical.

        It starts again where the rank rises: where a compression misleads, the path begins again on X itself.
        """
        if self.last is None or self.first is None:
            return True
        if progress.start == 0 and progress.rank == progress.max_rank:
            return True
        return progress.start == self.last.start and progress.rank > self.last.rank

    def _iterations(self, rank: int) -> int:
        if self.search.grid is Grid.adaptive:
            return 1
        from autonmf.solvers import make_solver

        return make_solver(self.search.solver.value).budget(rank).fewest

    def _work(self, max_rank: int) -> list[float]:
        lowest = self.search.n_components or 1
        return [
            0.0,
            *accumulate(
                (self._iterations(rank) + 1) * (rank + OVERHEAD) if rank >= lowest else 0.0
                for rank in range(1, max_rank + 1)
            ),
        ]
