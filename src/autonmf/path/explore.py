"""The path search: prepare X, follow the grid from every start, keep the best of each rank."""

from __future__ import annotations

import time
import warnings
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data
from autonmf.model.initial import initial_point
from autonmf.model.objective import Problem
from autonmf.path.confirm import misleads
from autonmf.path.follow import Search
from autonmf.path.growing import Growth
from autonmf.path.options import PathOptions
from autonmf.path.result import PathPoint, RankPath
from autonmf.path.starts import from_every_start
from autonmf.path.way_back import WayBack
from autonmf.path.workspace import Workspace
from autonmf.solvers import make_solver


@dataclass(frozen=True)
class Exploration:
    """A path, and X as it was prepared for it: what a polish goes on from."""

    path: RankPath
    workspace: Workspace
    higher: tuple[PathPoint, ...] = ()  # solutions for the evened copy at ranks that ``path`` lacks ...
    back: WayBack | None = None  # ... and their way back to X

    def at_rank(self, rank: int) -> PathPoint:
        """The solution at a rank that was visited."""
        for solution in self.higher:
            if self.back and solution.rank == rank:
                with one_pool():
                    return self.back.point(solution)
        return self.path.at_rank(rank)

    def whole(self) -> RankPath:
        """The path with all its points."""
        if self.back is None:
            return self.path
        with one_pool():
            points = tuple(self.back.point(solution) for solution in self.higher)
        return replace(self.path, points=(*self.path.points, *points))

    def without_X(self) -> Exploration | None:
        """The same with something in place of X that is no larger than the path; None if there is nothing."""
        points = (*self.path.points, *self.higher)
        workspace = self.workspace.without_X(sum(point.U.nbytes + point.V.nbytes for point in points))
        if workspace is None:
            return None
        return replace(self, workspace=workspace, back=self.back and self.back.on(workspace))


def explore(data: Data, options: PathOptions) -> Exploration:
    """Search a path of X; on X itself, where the first solution shows that its compression misleads."""
    began = time.monotonic() - (options.saved.seconds if options.saved else 0.0)
    max_rank = options.first_rank(data.shape)
    *starts, sketch = as_generator(options.random_state).spawn(options.n_starts + 1)

    def begun(i: int) -> np.random.Generator:
        return deepcopy(starts[i])  # a second search begins where the first did

    def follow(workspace: Workspace, *, checked: bool = False) -> RankPath | None:
        """The path; None if its first solution was checked, and misled."""
        problem = Problem(workspace.matrix, mu=options.mu, delta=options.delta)

        def initial(i: int) -> tuple[Array, Array]:
            if isinstance(options.init, str):
                return initial_point(problem.data, max_rank, options.init, begun(i))
            U, V = workspace.inward(*initial_point(data, max_rank, options.init, begun(i)))
            return np.asfortranarray(U, problem.data.dtype), np.asfortranarray(V, problem.data.dtype)

        search = Search(
            workspace=workspace,
            problem=problem,
            solver=make_solver(options.solver),
            grid=options.make_grid(),
            stopping=options.stopping,
            lowest=options.min_rank,
            max_rank=max_rank,
            n_starts=options.n_starts if isinstance(options.init, str) else 1,
            began=began,
            deadline=options.deadline(began),
            callback=options.callback,
            keep_partial=options.keep_partial,
            saved=options.saved,
            misleads=partial(misleads, workspace=workspace) if checked else None,
        )
        found = from_every_start(search, initial, options.n_jobs)
        if search.misled.is_set():
            return None
        if not found.visits:
            raise ValueError(options.too_heavy)
        path = RankPath(
            points=found.best.points,
            visits=tuple(found.visits),
            shape=data.shape,
            squared_norm=data.squared_norm(),
            spectral_norm=workspace.spectral_norm,
            mu=options.mu * workspace.scale,
            delta=options.delta * workspace.scale,
            complete=found.complete,
            settings=options.settings() | {"engine": workspace.engine},
        )
        try:
            return _mended(path, Growth(workspace, options.mu, options.deadline(began)))
        except KeyboardInterrupt:
            if not options.keep_partial:
                raise
            warnings.warn(
                "interrupted: solutions that are worse than one of rank one are kept", RuntimeWarning, 4
            )
            return replace(path, complete=False)

    with one_pool():
        workspace = Workspace.of(data, scale=options.scale, tall=options.grid == "exact")
        workspace = workspace.with_engine(options.on, max_rank, sketch)
        workspace = replace(workspace, exact=options.exact_losses or options.on == "direct")
        path = follow(workspace, checked=workspace.compressed is not None and options.on == "auto")
        if path is None:
            workspace = workspace.direct()
            path = follow(workspace)
    return Exploration(cast(RankPath, path), workspace)


def _mended(path: RankPath, growth: Growth) -> RankPath:
    """The path without solutions that are worse than the best one of rank one."""
    points = tuple(map(growth.no_worse_than_one, path.points))
    visits = list(path.visits)
    for old, new in zip(path.points, points, strict=True):
        if new is not old:
            at = min(
                (i for i, visit in enumerate(visits) if visit.rank == old.rank), key=lambda i: visits[i].loss
            )
            visits[at] = visits[at]._replace(loss=new.loss, reason="grown")
    return replace(path, points=points, visits=tuple(visits))
