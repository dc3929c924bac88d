"""Progress of a fit: printed, and passed to scikit-learn's callbacks where it has them (from 1.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from autonmf.path import PathOptions, Progress

__all__ = ["CallbackSupportMixin", "FitObserver", "with_callbacks"]


Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:  # scikit-learn has no types

    class CallbackSupportMixin:
        def set_callbacks(self, *callbacks: Any) -> Self:
            return self

    def with_callbacks(method: Method) -> Method:
        return method

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Replaces that of scikit-learn before 1.9, which has no callbacks."""

        def with_callbacks(method: Method) -> Method:
            return method


class FitObserver:
    """Prints a line per rank of a fit of `AutoNMF`, and calls scikit-learn's callbacks."""

    def __init__(self, estimator: Any, options: PathOptions, X: Any, y: Any) -> None:
        self._verbose = bool(estimator.verbose)
        told = getattr(estimator, "_skl_callbacks", None)
        self._tasks = FitTasks(estimator, options, X, y) if told else None
        self._last: Progress | None = None

    @property
    def callback(self) -> Callable[[Progress], bool] | None:
        """The callback of the path; None if there is nothing to do, so that no progress is computed."""
        return self._reached if self._verbose or self._tasks else None

    def polishing(self, rank: int) -> None:
        """Called when the path is done and its solution at ``rank`` is polished."""
        self._print_last()
        if self._tasks:
            self._tasks.polishing(rank)

    def ended(self) -> None:
        """Called when the estimator is fitted."""
        if self._tasks:
            self._tasks.ended()

    def _reached(self, progress: Progress) -> bool:
        if self._last is not None and progress.rank != self._last.rank:
            self._print_last()
        self._last = progress
        return self._tasks is not None and self._tasks(progress)

    def _print_last(self) -> None:
        """Print the last rank that was finished."""
        if self._verbose and self._last is not None:
            rank, loss, seconds = self._last.rank, self._last.relative_loss, self._last.seconds
            print(f"[AutoNMF] rank {rank:4d}  relative loss {loss:.6f}  {seconds:.1f} s", flush=True)


class FitTasks:
    """A fit as the tree of tasks that scikit-learn's callbacks are called for.

    ``fit`` has a numbered ``path`` for each initialisation, and a ``polish``; a path has a ``rank`` for each
    rank that it visits. The hooks of a rank get ``metadata`` with the ``rank``, and at its end the
    ``relative_loss`` and the ``seconds`` since the path began. A hook that returns True when a rank or a
    path ends ends the search there.
    """

    def __init__(self, estimator: Any, options: PathOptions, X: Any, y: Any) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._lowest = estimator.n_components if isinstance(estimator.n_components, int) else 1
        n_paths = options.n_starts if isinstance(options.init, str) else 1
        self._fit = estimator._init_callback_context(max_subtasks=n_paths + 1, sequential_subtasks=False)
        self._ids = count(n_paths)  # of tasks beside the first path of each initialisation
        self._begun: set[int] = set()  # initialisations
        self._paths: dict[int, _PathTask] = {}  # the running path of each initialisation
        self._polish: Any = None
        self._stopped = False
        self._in_turn = options.n_jobs in (None, 1)
        self._lock = Lock()  # paths may run in threads
        self._begin(self._fit)

    def __call__(self, progress: Progress) -> bool:
        with self._lock:
            path = self._paths.get(progress.start)
            if path is None or path.is_over(progress):
                path = self._begin_path(progress)
            if path.is_at_new_rank(progress):
                self._end_rank(path)
                path.rank = path.task.subcontext(task_name="rank")
                self._begin(path.rank, metadata={"rank": progress.rank})
            path.last = progress
            return self._stopped

    def polishing(self, rank: int) -> None:
        self._end_paths(self._paths)
        self._polish = self._fit.subcontext(task_name="polish", task_id=next(self._ids))
        self._begin(self._polish, metadata={"rank": rank})

    def ended(self) -> None:
        self._end(self._polish)
        self._end(self._fit, reconstruction_attributes={})

    def _begin_path(self, progress: Progress) -> _PathTask:
        self._end_paths(self._paths if self._in_turn else self._paths.keys() & {progress.start})
        again = progress.start in self._begun  # on X itself, since the compression was unreliable
        self._fit.max_subtasks += again
        self._begun.add(progress.start)
        task = self._fit.subcontext(
            task_name="path",
            task_id=next(self._ids) if again else progress.start,
            max_subtasks=progress.max_rank - self._lowest + 1,
        )
        self._begin(task)
        path = self._paths[progress.start] = _PathTask(task, self._lowest)
        return path

    def _end_rank(self, path: _PathTask) -> None:
        if path.last is not None:
            names = ("rank", "relative_loss", "seconds")
            self._end(path.rank, metadata={name: getattr(path.last, name) for name in names})

    def _end_paths(self, starts: Iterable[int]) -> None:
        for start in list(starts):
            path = self._paths.pop(start)
            self._end_rank(path)
            self._end(path.task)

    def _begin(self, task: Any, **more: Any) -> None:
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data, **more)

    def _end(self, task: Any, **more: Any) -> None:
        stop = task.call_on_fit_task_end(estimator=self._estimator, **self._data, **more)
        self._stopped = self._stopped or stop


@dataclass
class _PathTask:
    """A running path and its current rank."""

    task: Any
    lowest: int
    rank: Any = None  # the task of the rank
    reached: float = inf  # the lowest rank that has a task
    last: Progress | None = None

    def is_over(self, progress: Progress) -> bool:
        """Whether this progress belongs to another search, which began after this one had ended."""
        return self.reached <= self.lowest < progress.rank and progress.iteration == 1

    def is_at_new_rank(self, progress: Progress) -> bool:
        """Whether a rank is reached for the first time; a component that vanished may reappear."""
        new = self.last is None or self.lowest <= progress.rank < self.reached
        self.reached = progress.rank if new else self.reached
        return new
