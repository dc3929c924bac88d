"""The path of X by way of its evened copy, where faint components are as plain as bright ones."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data, compress, compress_onto, even_out, to_unit_scale
from autonmf.data.spread import even_out_rows, is_spread
from autonmf.path.explore import Exploration, explore
from autonmf.path.growing import Growth
from autonmf.path.options import PathOptions
from autonmf.path.rescaling import scaled_init
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit
from autonmf.path.way_back import WayBack
from autonmf.path.workspace import Workspace

HARDLY_ITERATED = 25
"""From this rank up a path only leads down: rules read the spectrum, and solutions wait to be scaled back."""


def explore_evened(data: Data, options: PathOptions) -> Exploration:
    """Search a path of the evened copy Y of X, and scale its solutions back.

    What was seen on Y becomes the path's `Evidence`. No λ of X led to the solutions: it is NaN until
    `with_plateaus` finds it, and so are the losses of visits.
    """
    rng = as_generator(options.random_state)
    deadline = options.deadline(time.monotonic())
    with one_pool():
        unit, scale = to_unit_scale(data)
        even = even_out_rows(unit) if is_spread(unit) else even_out(unit)
        a, b = (np.sqrt(scale) * scales for scales in (even.a, even.b))
        init = scaled_init(options.init, (a, b))
        found = explore(
            even, replace(options, init=init, lambdas=False, exact_losses=False, random_state=rng)
        )
        largest = found.path.points[-1].rank
        spectrum = _spectrum(found.workspace, found.path.points[-1], largest, rng)
        ranks, losses = found.path.ranks, _shares(found.path.losses, even, spectrum, found.path.ranks)
        workspace = _workspace(data, b if found.workspace.transposed else a, found.workspace, options)
        path, solutions = _bare(found.path, workspace, options), list(found.path.points)
        del found  # a path is as large as a good part of X
        back = WayBack.of(workspace, a, b, Growth(workspace, options.mu, deadline))
        # Missing entries are filled in from the largest solution, which is then needed at once.
        at_once = np.searchsorted(ranks, HARDLY_ITERATED) + 1 if data.complete else len(ranks)
        points = tuple(back.point(solutions.pop(0)) for _ in ranks[:at_once])
        spectrum_of_X = _spectrum(workspace, points[-1], largest, rng)
        evidence = Evidence(
            shape=path.shape,
            ranks=ranks,
            losses=losses,
            losses_of_X=_shares(np.array([point.loss for point in points]), data, spectrum_of_X, ranks),
            spectrum=spectrum,
            spectrum_of_X=spectrum_of_X,
            complete=path.complete,
        )
    return Exploration(replace(path, points=points, evidence=evidence), workspace, tuple(solutions), back)


def _bare(found: RankPath, workspace: Workspace, options: PathOptions) -> RankPath:
    """A path of X like the one that was found of Y, still without points."""
    return RankPath(
        points=(),
        visits=_visits(found),
        shape=found.shape,
        squared_norm=workspace.data.squared_norm(),
        spectral_norm=workspace.spectral_norm,
        mu=options.mu * workspace.scale,
        delta=options.delta * workspace.scale,
        complete=found.complete,
        settings=options.settings() | {"engine": workspace.engine},
    )


def _spectrum(view: Workspace, fit: PathPoint, rank: int, rng: np.random.Generator) -> Array:
    """The leading squared singular values as shares of the energy, of X seen from a fit."""
    seen = view.scaled.seen_from(*view.inward(fit.U, fit.V))
    leading = view.compressed or compress(seen, rank, rng)
    squares = np.linalg.eigvalsh(leading.R.T @ leading.R)[::-1]
    return np.asarray(np.maximum(squares, 0.0) / leading.squared_norm())


def _shares(losses: Array, data: Data, spectrum: Array, ranks: Array) -> Array:
    """Losses as shares of the energy, which is that of known entries, as the losses are.

    Rank one is known to the last digit where all entries are.
    """
    shares = losses / (0.5 * data.squared_norm())
    if data.complete and ranks[0] == 1:
        shares[0] = 1.0 - spectrum[0]
    return np.asarray(shares)


def _workspace(data: Data, a: Array, prepared: Workspace, options: PathOptions) -> Workspace:
    """X prepared as its evened copy was: diag(a) L spans the range of X if L spans that of Y."""
    workspace = Workspace.of(data, scale=options.scale, tall=options.grid == "exact")
    if prepared.compressed is None:
        return workspace
    basis = prepared.compressed.L * (a / np.sqrt(workspace.scale))[:, None]
    return replace(workspace, compressed=compress_onto(workspace.scaled, basis))


def _visits(found: RankPath) -> tuple[Visit, ...]:
    """One visit a rank, with the iterations of all starts; λ and losses of X are found with its plateaus."""
    by_rank: dict[int, list[Visit]] = {}
    for visit in found.visits:
        by_rank.setdefault(visit.rank, []).append(visit)

    def joined(here: list[Visit]) -> Visit:
        best = min(here, key=lambda visit: visit.loss)
        spent = sum(visit.n_iter for visit in here)
        return best._replace(lam=np.nan, loss=np.nan, n_iter=spent, next_lam=np.nan)

    return tuple(joined(by_rank[point.rank]) for point in reversed(found.points))
