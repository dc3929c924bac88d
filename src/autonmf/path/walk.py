"""Walking along a grid of λ from every initial point, and keeping the best solution of each rank.

Progress, deadlines, checkpoints and Ctrl-C are handled here, around the iteration, and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array, cached_property
from autonmf._warnings import warn
from autonmf.data import OpenedData, Scaled, unscale
from autonmf.losses import FROBENIUS
from autonmf.losses.protocol import Posed
from autonmf.model.initial import check_factors
from autonmf.path.checkpoint import Checkpoint, Track
from autonmf.path.grids import Grid, Stop, Task
from autonmf.path.options import PathOptions, Progress
from autonmf.path.result import Visit
from autonmf.path.view import View
from autonmf.solvers import HIGH_RANK, Run, run


class Solution(NamedTuple):
    """A stop of a path, in the units of the view."""

    U: Any
    V: Array
    loss: float
    lam: float
    n_iter: int

    @property
    def rank(self) -> int:
        return int(self.V.shape[1])


@dataclass
class Walked:
    """What all initial points found: the best solution of each rank, and every stop. Threads may share it."""

    visits: list[Visit] = field(default_factory=list)
    n_complete: int = 0  # initial points whose path reached its end
    complete: bool = False  # whether all did
    unreliable: bool = False  # a first solution explains far more of X than its compression shows
    _best: dict[int, tuple[float, int, Solution]] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def add(self, solution: Solution, visit: Visit) -> None:
        """Note a stop; of equal solutions that of the first initial point is kept."""
        with self._lock:
            self.visits.append(visit)
            known = self._best.get(solution.rank)
            if known is None or (solution.loss, visit.start) < known[:2]:
                self._best[solution.rank] = solution.loss, visit.start, solution

    def finish(self) -> None:
        """Note that the path of an initial point reached its end."""
        with self._lock:
            self.n_complete += 1

    def solutions(self) -> list[Solution]:
        """The best of each rank, by increasing rank."""
        return [self._best[rank][-1] for rank in sorted(self._best)]

    def sorted_visits(self) -> tuple[Visit, ...]:
        """All stops by initial point, each in the order of computation."""
        return tuple(sorted(self.visits, key=lambda visit: visit.start))


@dataclass(frozen=True)
class Walker:
    """All that the paths of one search share."""

    opened: OpenedData
    options: PathOptions
    max_rank: int
    generators: list[np.random.Generator]  # one per initial point
    began: float
    checkpoint: Checkpoint | None
    view: View
    walked: Walked = field(default_factory=Walked)
    stop: Event = field(default_factory=Event)  # set where one path ends them all

    def renew(self, **changes: Any) -> Walker:
        """A walker with these changes and no results."""
        return replace(self, walked=Walked(), stop=Event(), **changes)

    @cached_property
    def on(self) -> View:
        """What is walked on: the view, with only as many directions of a compression as are needed."""
        return self.view.narrow(self.max_rank)

    def without_X(self, opened: OpenedData) -> Walker:
        """A walker for after the fit, with data that take the place of X."""
        view, data = self.view, unscale(opened.data)
        if view.compressed is not None:
            view = replace(view, data=view.compressed, scaled=view.compressed)
        elif isinstance(view.scaled, Scaled):
            view = replace(view, data=data, scaled=view.scaled.replace_data(data))
        options = replace(self.options, callback=None, time_budget=None)
        return replace(self, opened=opened, options=options, view=view)

    @property
    def n_starts(self) -> int:
        return self.options.n_starts if isinstance(self.options.init, str) else 1

    @cached_property
    def grid(self) -> Grid:
        later = self.options.equilibrate or self.opened.keeps_rows_remote
        return self.options.make_grid(lambdas=not later and self.options.loss is FROBENIUS)

    def walk_all(self, *, keep_partial: bool) -> Walked:
        """Walk from every initial point, one after another or in threads; none is begun after the deadline.

        If the compression is unreliable, nothing is kept. After Ctrl-C what was found is kept, with a
        warning; with nothing found, or without ``keep_partial``, KeyboardInterrupt is raised.
        """
        walked, n_jobs = self.walked, self.options.n_jobs
        in_turn = n_jobs in (None, 1) or self.n_starts == 1
        interrupted = False
        try:
            if in_turn:
                for index in range(self.n_starts):
                    if not self.stop.is_set():
                        self.walk(index)
            else:
                self._walk_in_threads()
        except KeyboardInterrupt:
            interrupted = True
            if not keep_partial or not walked.visits:
                raise
            warn(self._describe_interruption(), RuntimeWarning)
        walked.complete = walked.n_complete == self.n_starts and not interrupted
        return Walked(unreliable=True) if walked.unreliable else walked

    def _walk_in_threads(self) -> None:
        """Walk from all initial points; an error or Ctrl-C ends every thread after its iteration."""
        from joblib import effective_n_jobs

        left = iter(range(self.n_starts))
        errors: list[BaseException] = []

        def work(finished: Event) -> None:
            try:
                while not self.stop.is_set() and (index := next(left, None)) is not None:
                    self.walk(index)
            except BaseException as error:  # raised again below, in the thread of the caller
                errors.append(error)
                self.stop.set()
            finally:
                finished.set()

        count = min(effective_n_jobs(self.options.n_jobs), self.n_starts)
        ends = [Event() for _ in range(count)]
        threads = [Thread(target=work, args=[end], name="autonmf-path") for end in ends]
        try:
            for thread in threads:
                thread.start()
            for end in ends:  # Ctrl-C in `join` would make a thread look as if it had ended
                while not end.wait(timeout=0.1):  # a signal that another thread receives ends no longer wait
                    pass
        except BaseException:
            self.stop.set()
            raise
        finally:
            for thread, end in zip(threads, ends, strict=True):
                if thread.ident is not None:
                    end.wait()
                    thread.join()
        if errors:
            raise errors[0]

    def walk(self, index: int) -> None:
        """Follow the grid from one initial point."""
        options, grid = self.options, self.grid
        problem = self.on.pose(mu=options.mu, delta=options.delta)
        search = f"{self.on.engine}, from rank {self.max_rank}"
        track = self.checkpoint.track(search, index) if self.checkpoint else None
        last = self._resume(problem, track) if track else None
        if last is None and index > 0 and time.monotonic() > options.deadline(self.began):
            self.walked.finish()  # not begun: the time is up
            return
        solver = options.make_solver()
        if track and track.finished:
            task = None
        elif last is not None:
            task = grid.go_on(last, options.stopping, options.last_rank)
        else:
            U, V = self._initialize(index)
            task = grid.begin(solver, problem, U, V, options.stopping, options.last_rank)
        observer = Reporter(self, options.callback, index)
        while task is not None and not self.stop.is_set():
            deadline = self._deadline(task, index)
            result = run(solver, task.state, task.stopping, deadline=deadline, observer=observer)
            stop = grid.reach(task, result)
            if stop.run.state.rank:
                visit = self._record(stop, index)
                if result.reason == "stopped":
                    return
                if track:
                    track.add(visit, stop)
                if last is None and self._ends_as_unreliable(stop, visit.loss):
                    return
                last = stop
            task = grid.go_on(stop, options.stopping, options.last_rank)
        if task is None and not self.stop.is_set():
            self.walked.finish()
            if track:
                track.finish()

    def _resume(self, problem: Posed, track: Track) -> Stop | None:
        """The last stop of a checkpoint, after taking in all of them; None if there is none."""
        last: Stop | None = None
        for visit, lam, state, count in track.stops(problem, self.on.double.shape):
            run_before = Run(self.grid.solution(state), visit.n_iter, visit.reason)
            last = self.grid.resume(lam, state, run_before, count)
            self._keep(last, visit, visit.loss)
            if count == 1 and self._ends_as_unreliable(last, visit.loss):
                return last
        return last

    def _initialize(self, index: int) -> tuple[Any, Array]:
        """The factors that a path begins with, in the units of the view."""
        options, view = self.options, self.on
        rng = deepcopy(self.generators[index])  # a search that is repeated begins at the same point
        if isinstance(options.init, str):
            return options.loss.initialize(view.matrix, self.max_rank, options.init, rng, view.fixed)
        given = check_factors(self.opened.data, options.init)
        U, V = self.opened.scaling.then(view.scaling).to_scaled(*given)
        dtype = view.matrix.dtype
        return np.asfortranarray(U, dtype), np.asfortranarray(V, dtype)

    def _deadline(self, task: Task, index: int) -> float:
        """When a task has to end: each initial point has its part of the time, and each stop."""
        now, deadline = time.monotonic(), self.options.deadline(self.began)
        end = self.began + (deadline - self.began) * (index + 1) / self.n_starts
        return now + max(end - now, 0.0) / task.n_left

    def _record(self, stop: Stop, index: int) -> Visit:
        """Keep a solution in the units of the view, and note the stop."""
        state = stop.run.state
        loss = self.on.measure(state)
        visit = Visit(
            start=index,
            lam=stop.lam,
            rank=state.rank,
            loss=loss,
            n_iter=stop.run.n_iter,
            seconds=time.monotonic() - self.began,
            reason=stop.run.reason,
            next_lam=stop.next_lam,
        )
        self._keep(stop, visit, loss)
        return visit

    def _keep(self, stop: Stop, visit: Visit, loss: float) -> None:
        state = stop.run.state
        needed = not self.view.sampled or state.rank <= HIGH_RANK  # others of a sample are never read
        U = state.U if needed else None
        self.walked.add(Solution(U, state.V, loss, stop.lam, stop.run.n_iter), visit)

    def _ends_as_unreliable(self, stop: Stop, loss: float) -> bool:
        """Whether the first solution of a path cannot be trusted, which ends all paths."""
        state = stop.run.state
        if self.options.engine != "auto" or not self.on.is_unreliable(state.U, state.V, loss):
            return False
        self.walked.unreliable = True
        self.stop.set()
        return True

    def _describe_interruption(self) -> str:
        if self.walked.n_complete:
            finished = f"{self.walked.n_complete} of {self.n_starts}"
            return f"interrupted: the path is the best of {finished} initial points"
        ranks = [visit.rank for visit in self.walked.visits]
        return (
            f"interrupted at rank {min(ranks)}: the path is incomplete and has ranks {max(ranks)} to "
            f"{min(ranks)} only"
        )


@dataclass(frozen=True)
class Reporter:
    """Tells a caller about each iteration; True from the caller, or Ctrl-C, ends all paths."""

    walker: Walker
    callback: Callable[[Progress], bool | None] | None
    index: int

    def __call__(self, state: Any, iteration: int) -> bool:
        walker = self.walker
        if self.callback is None or walker.stop.is_set():
            return walker.stop.is_set()
        progress = Progress(
            start=self.index,
            n_starts=walker.n_starts,
            max_rank=walker.max_rank,
            rank=state.rank,
            iteration=iteration,
            relative_loss=state.quick_loss / walker.view.energy,
            seconds=time.monotonic() - walker.began,
        )
        if self.callback(progress):
            walker.stop.set()
        return walker.stop.is_set()
