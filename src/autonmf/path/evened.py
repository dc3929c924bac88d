"""The path of X by way of its evened copy, where faint components are as plain as bright ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data, compress, compress_onto, even_out, to_unit_scale
from autonmf.data.spread import by_columns, even_out_rows, is_spread
from autonmf.model.spectral import spectral_norm
from autonmf.path.explore import Exploration, explore
from autonmf.path.growing import grown_point, no_worse_than_one
from autonmf.path.options import PathOptions
from autonmf.path.rescaling import scaled_init
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit
from autonmf.path.workspace import Workspace


def explore_evened(data: Data, options: PathOptions) -> Exploration:
    """Search a path of the evened copy Y of X, and scale its solutions back.

    What was seen on Y becomes the path's `Evidence`. No λ of X led to the solutions: it is NaN until
    `with_plateaus` finds it.
    """
    rng = as_generator(options.random_state)
    with one_pool():
        unit, scale = to_unit_scale(data)
        even = even_out_rows(unit) if is_spread(unit) else even_out(unit)
        a, b = (np.sqrt(scale) * scales for scales in (even.a, even.b))
        found, prepared = explore(
            even,
            replace(
                options,
                init=scaled_init(options.init, (a, b)),
                lambdas=False,
                exact_losses=False,
                random_state=rng,
            ),
        )
        workspace = _workspace(data, b if prepared.transposed else a, prepared, options)
        solutions, found = list(found.points), replace(found, points=())
        spectrum, energy = _spectrum(prepared, solutions[-1], rng)
        losses = np.array([solution.loss for solution in solutions]) / (0.5 * energy)
        del prepared
        view = workspace.compressed or workspace.scaled
        points, visits = _scaled_back(solutions, found.visits, workspace, a, b, options)
        path = RankPath(
            points=points,
            visits=visits,
            shape=data.shape,
            squared_norm=data.squared_norm(),
            spectral_norm=spectral_norm(view) * workspace.scale,
            mu=options.mu * workspace.scale,
            delta=options.delta * workspace.scale,
            complete=found.complete,
            settings=options.settings() | {"engine": workspace.engine},
        )
        spectrum_of_X, energy_of_X = _spectrum(workspace, points[-1], rng)
        evidence = Evidence(
            shape=path.shape,
            ranks=path.ranks,
            losses=losses,
            losses_of_X=path.losses / (0.5 * energy_of_X),
            spectrum=spectrum,
            spectrum_of_X=spectrum_of_X,
            complete=path.complete,
        )
        path = replace(path, evidence=evidence, points=_mended(path, workspace))
    return Exploration(path, workspace)


def _spectrum(view: Workspace, fit: PathPoint, rng: np.random.Generator) -> tuple[Array, float]:
    """The leading squared singular values as shares of the energy, and the energy; of X seen from a fit."""
    seen = view.scaled.seen_from(*view.inward(fit.U, fit.V))
    leading = view.compressed or compress(seen, fit.rank, rng)
    squares = np.linalg.eigvalsh(leading.R.T @ leading.R)[::-1]
    energy = leading.squared_norm()
    return np.asarray(np.maximum(squares, 0.0) / energy), energy * view.scale**2


def _mended(path: RankPath, workspace: Workspace) -> tuple[PathPoint, ...]:
    """The points with the best one of rank one, and none that is worse."""
    return tuple(
        grown_point(point, workspace)
        if point.rank == 1
        else no_worse_than_one(point, workspace, path.rank_one_loss)
        for point in path.points
    )


def _workspace(data: Data, a: Array, prepared: Workspace, options: PathOptions) -> Workspace:
    """X prepared as its evened copy was: diag(a) L spans the range of X if L spans that of Y."""
    workspace = Workspace.of(data, scale=options.scale, tall=options.grid == "exact")
    if prepared.compressed is None:
        return workspace
    basis = prepared.compressed.L * (a / np.sqrt(workspace.scale))[:, None]
    return replace(workspace, compressed=compress_onto(workspace.scaled, basis))


def _scaled_back(
    solutions: list[PathPoint], visits: Sequence[Visit], workspace: Workspace, a: Array, b: Array,
    options: PathOptions,
) -> tuple[tuple[PathPoint, ...], tuple[Visit, ...]]:  # fmt: skip
    """The solutions for Y as solutions for X.

    The list is emptied on the way: a path is as large as a good part of X.
    """
    dtype, root = workspace.matrix.dtype, np.sqrt(workspace.scale)
    rows, columns = ((scales / root).astype(dtype)[:, None] for scales in (a, b))
    by_rank: dict[int, list[Visit]] = {}
    for visit in visits:
        by_rank.setdefault(visit.rank, []).append(visit)
    points, passed = [], []
    while solutions:
        solution = solutions.pop()
        here = by_rank[solution.rank]  # one a start, or a λ
        visit = min(here, key=lambda visit: visit.loss)
        factors = workspace.turned(solution.U * rows, solution.V * columns)
        U, V = (by_columns(factor, dtype) for factor in factors)
        point = workspace.point_at(U, V, solution.n_iter)
        points.append(point)
        spent = sum(visit.n_iter for visit in here)
        passed.append(visit._replace(lam=np.nan, loss=point.loss, n_iter=spent, next_lam=np.nan))
    return tuple(reversed(points)), tuple(passed)
