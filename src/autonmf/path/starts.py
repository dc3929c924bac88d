"""All starts of a search, one after another or in threads, and what is left of them after Ctrl-C."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from autonmf._types import Array
from autonmf.path.follow import Followed, Search

Initial = Callable[[int], tuple[Array, Array]]
"""The factors that a start begins with, by its number."""


def from_every_start(search: Search, initial: Initial, n_jobs: int | None) -> Followed:
    """The best of each rank, and all visits; after an incomplete start no other is begun.

    What was found is kept when interrupted, with a warning. With nothing found, or where nothing is to be
    kept, KeyboardInterrupt is raised.
    """

    def follow(index: int) -> Followed:
        return search.from_start(index, *initial(index))

    in_turn = n_jobs in (None, 1) or search.n_starts == 1
    results = _in_turn(follow, search.n_starts) if in_turn else _in_threads(follow, search.n_starts, n_jobs)
    whole, finished = Followed(0, complete=True), 0
    try:
        for result in results:  # as they come: each has a path of solutions
            whole.best.add(*result.best.points, start=result.start)
            whole.visits += result.visits
            whole.complete &= result.complete
            finished += result.complete
    except KeyboardInterrupt:
        search.interrupt()
        if not search.keep_partial:
            raise
        whole.complete = False
    whole.visits.sort(key=lambda visit: visit.start)
    if search.interrupted.is_set():
        if not whole.visits:
            raise KeyboardInterrupt
        warnings.warn(_left(whole, finished, search.n_starts), RuntimeWarning, stacklevel=4)
    return whole


def _in_turn(follow: Callable[[int], Followed], n_starts: int) -> Iterator[Followed]:
    for index in range(n_starts):
        result = follow(index)
        yield result
        if not result.complete:
            return


def _in_threads(follow: Callable[[int], Followed], n_starts: int, n_jobs: int | None) -> Iterator[Followed]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs, prefer="threads", return_as="generator_unordered")
    yield from parallel(delayed(follow)(i) for i in range(n_starts))


def _left(whole: Followed, finished: int, n_starts: int) -> str:
    if finished:
        return f"interrupted: the path is the best of {finished} of {n_starts} starts"
    ranks = [visit.rank for visit in whole.visits]
    return (
        f"interrupted at rank {min(ranks)}: the path is incomplete and has ranks {max(ranks)} to "
        f"{min(ranks)} only"
    )
