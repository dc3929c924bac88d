"""Paths whose left factors are on the workers of a cluster."""

from __future__ import annotations

from dataclasses import fields, replace
from os import PathLike
from typing import Any

import numpy as np

from autonmf import kernels
from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.spread import Tall, total, workers_of
from autonmf.model.lazy import lazy_projection
from autonmf.path.options import PathOptions
from autonmf.path.result import RankPath, Visit
from autonmf.solvers import State


def refuse_unsupported(options: PathOptions) -> None:
    """Say what a Dask array cannot be given to, and what to use instead."""
    if options.solver != "pasm" or options.grid != "exact":
        raise NotImplementedError(
            f"a Dask array is factorised with solver='pasm' and grid='exact' only, got {options.solver!r} "
            f"and {options.grid!r}; the others need X in memory: X.compute()"
        )
    if options.init != "random":
        raise NotImplementedError(
            "a Dask array is factorised from init='random' only; other initial points need X in memory: "
            "X.compute()"
        )
    if options.checkpoint is not None:
        raise NotImplementedError(
            "a checkpoint holds factors of X that are on the client, and those of a Dask array are on its "
            "workers, which the scheduler replaces when they fail: leave checkpoint out"
        )


def end_of_plateau(state: State) -> float:
    """The smallest breakpoint of either block."""
    problem = state.problem
    blocks = (state.U, state.XV, state.gram_V), (state.V, state.XtU, state.gram_U)

    def least(block: Array, product: Array, gram: Array) -> float:
        gamma = problem.step_size(gram)
        norms = total(_forward_norms, block, product, gram, problem.mu, gamma)
        return float(problem.penalty.breakpoints(norms, gamma).min())

    return min(least(*block) for block in blocks)


class LazyPath(RankPath):
    """A path whose U are Dask arrays, which project X on V when they are asked for.

    Nothing of length n is left on the workers, and nothing depends on a cluster that may be gone.
    """

    def computed(self) -> RankPath:
        """The path with U as ordinary arrays."""
        points = tuple(replace(point, U=np.asarray(point.U)) for point in self.points)
        return RankPath(**_fields(self) | {"points": points})

    def save(self, file: str | PathLike[str]) -> None:
        """Write the path to one file, with U computed: each is n x rank, and all of them must fit memory."""
        self.computed().save(file)


def lazily(path: RankPath, data: Data) -> RankPath:
    """The path with lazy U, where they are on workers."""
    if not isinstance(data, Tall) or workers_of(data) is None:
        return path
    points = tuple(replace(point, U=lazy_projection(data.source, point.V)) for point in path.points)
    return LazyPath(**_fields(path) | {"points": points})


def _fields(path: RankPath) -> dict[str, Any]:
    return {field.name: getattr(path, field.name) for field in fields(path)}


def one_a_point(path: RankPath) -> tuple[Visit, ...]:
    """The visit that led to each point, by decreasing rank."""
    return tuple(
        min((visit for visit in path.visits if visit.rank == point.rank), key=lambda visit: visit.loss)
        for point in reversed(path.points)
    )


def _forward_norms(block: Array, product: Array, gram: Array, mu: float, gamma: float) -> Any:
    return np.asarray(kernels.forward_step(block, product, gram, mu, gamma)[1])
