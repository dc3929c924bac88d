"""Following a grid of λ from one initial point: the search behind `rank_path`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from autonmf._types import Array
from autonmf.model.objective import Problem
from autonmf.path.checkpoint import Checkpoint, Track
from autonmf.path.grids import Grid, Reached
from autonmf.path.result import BestByRank, PathPoint, Visit
from autonmf.path.workspace import Workspace
from autonmf.solvers import Run, Solver, State, Stopping, run


@dataclass(frozen=True)
class Progress:
    """Where a path is, handed to ``callback`` after each iteration."""

    start: int  # which initial point, from 0
    n_starts: int
    max_rank: int
    rank: int
    iteration: int  # at this λ
    relative_loss: float  # loss / ½‖X‖²
    seconds: float  # since the path began


Callback = Callable[[Progress], bool | None]
"""Returning True ends the path."""


@dataclass
class Followed:
    """What one start found, or all of them."""

    start: int
    best: BestByRank = field(default_factory=BestByRank)
    visits: list[Visit] = field(default_factory=list)
    complete: bool = False

    def add(self, point: PathPoint, visit: Visit) -> None:
        """Note a stop of the path."""
        self.best.add(point)
        self.visits.append(visit)


@dataclass(frozen=True)
class Search:
    """One path search; its starts share everything but the initial point.

    Where the first solution of a start turns out to be misleading, all of them end, and ``misled`` is set;
    where the callback ends one of them, ``ended`` is, and after Ctrl-C ``interrupted`` too.
    """

    workspace: Workspace
    problem: Problem
    solver: Solver
    grid: Grid
    stopping: Stopping
    lowest: int
    max_rank: int
    n_starts: int
    began: float
    deadline: float
    callback: Callback | None
    keep_partial: bool
    saved: Checkpoint | None = None
    misleads: Callable[[PathPoint], bool] | None = None  # asked about the first solution of each start
    misled: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    interrupted: Event = field(default_factory=Event)

    def from_start(self, index: int, U: Array, V: Array) -> Followed:
        """Follow the grid from one initial point, keeping what is found when interrupted."""
        track = None if self.saved is None else self.saved.track(self.workspace.engine, index)
        found, after = self._restored(index, track)
        if found.complete or self._ends(found):
            return found
        if index > 0 and time.monotonic() > self.deadline:
            return Followed(index, complete=True)  # not begun, and nobody waits for it

        def solve(solver: Solver, state: State, stopping: Stopping, stops_left: int) -> Run:
            now = time.monotonic()
            end = self.began + (self.deadline - self.began) * (index + 1) / self.n_starts
            deadline = now + max(end - now, 0.0) / stops_left  # each start has its share, and each stop
            return run(solver, state, stopping, deadline=deadline, observer=self._observer(index))

        try:
            for stop in self.grid.follow(
                self.solver, self.problem, U, V, self.stopping, solve, self.lowest, after
            ):
                point = self.workspace.point(stop.lam, stop.run)
                found.add(point, self._visit(index, point, stop.run, stop.next_lam))
                if stop.run.reason == "stopped":
                    return found
                if track:
                    track.add(found.visits[-1], stop)
                if self._ends(found):
                    return found
            found.complete = not self.ended.is_set()
            if track and found.complete:
                track.finish()
        except KeyboardInterrupt:
            if not self.keep_partial:
                raise
            self.interrupt()
        return found

    def interrupt(self) -> None:
        """End every start."""
        self.interrupted.set()
        self.ended.set()

    def _ends(self, found: Followed) -> bool:
        """Whether this start or another one was misled or ended."""
        if self.misleads and len(found.visits) == 1 and self.misleads(*found.best.points):
            self.misled.set()
        return self.misled.is_set() or self.ended.is_set()

    def _restored(self, index: int, track: Track | None) -> tuple[Followed, Reached | None]:
        """What a checkpoint has of a start, and where to go on from."""
        found = Followed(index, complete=bool(track and track.finished))
        reached = None
        for visit, reached in track.stops(self.problem) if track else ():
            state = self.grid.solution(reached.state)
            U, V = self.workspace.outward(state.U, state.V, state.gram_U, state.gram_V)
            on_X = self.workspace.compressed is None
            found.add(PathPoint(U, V, visit.loss, visit.lam, visit.n_iter, on_X), visit)
        return found, reached

    def _observer(self, index: int) -> Callable[[State, int], bool | None] | None:
        callback = self.callback
        if callback is None:
            return None

        def observe(state: State, k: int) -> bool:
            progress = Progress(
                start=index,
                n_starts=self.n_starts,
                max_rank=self.max_rank,
                rank=state.rank,
                iteration=k,
                relative_loss=2.0 * state.rough_loss / self.problem.squared_norm,
                seconds=time.monotonic() - self.began,
            )
            if not self.ended.is_set() and callback(progress):
                self.ended.set()
            return self.ended.is_set()

        return observe

    def _visit(self, index: int, point: PathPoint, result: Run, next_lam: float) -> Visit:
        return Visit(
            start=index,
            lam=point.lam,
            rank=result.state.rank,
            loss=point.loss,
            n_iter=result.n_iter,
            seconds=time.monotonic() - self.began,
            reason=result.reason,
            next_lam=next_lam * self.workspace.scale**2,
        )
