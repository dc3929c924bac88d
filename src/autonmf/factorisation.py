"""The whole job: follow the path, choose the rank, polish the solution there, project X on it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.spread import is_rows, workers_of
from autonmf.model.projection import project
from autonmf.model.spectral import leading_triplet
from autonmf.path import (
    Exploration,
    LatePath,
    PathOptions,
    PathPoint,
    Polished,
    RankPath,
    Scales,
    Workspace,
    checkpointed,
    default_max_rank,
    explore,
    explore_evened,
    polish,
)
from autonmf.path.spread import refuse_unsupported
from autonmf.selection import RankEstimate, check_rule, choose_rank

SAME = 1e-4
"""Energies of X that differ by more than this share are those of different data."""


@dataclass(frozen=True)
class Factorisation:
    """X ≈ W H at the chosen rank, and how it was found."""

    W: Array  # n x rank
    H: Array  # rank x m
    loss: float  # ½‖X - WH‖²
    squared_norm: float  # ‖X‖²
    late_path: LatePath
    estimate: RankEstimate | None  # None if the rank was given
    n_iter: int  # along the path and of the polish
    converged: bool  # whether the polish did
    seconds: float

    @property
    def rank(self) -> int:
        return len(self.H)

    @property
    def path(self) -> RankPath:
        return self.late_path.value

    @property
    def relative_loss(self) -> float:
        """‖X - WH‖²/‖X‖²."""
        return 2.0 * self.loss / self.squared_norm

    @property
    def why(self) -> str:
        """One sentence on the rank."""
        return self.estimate.why if self.estimate else "this rank was asked for"


def factorise(
    data: Data,
    options: PathOptions,
    *,
    n_components: int | None = None,
    rule: str = "auto",
    tau: float | None = None,
    reached: Callable[[int], None] | None = None,
    scales: Scales | None = None,
) -> Factorisation:
    """Factorise X at the rank that the data, or ``n_components``, say.

    ``scales`` (a, b) make factors of weighted data factors of X: diag(a) U and diag(b) V.

    ``reached`` is called with the rank before it is polished. Ctrl-C raises: half a path leaves nothing to
    choose from.
    """
    began = time.monotonic()
    check_rule(rule, tau)
    evened = n_components is None and rule == "auto"
    search = explore_evened if evened else explore
    down = _down_to(n_components, options, data.shape)
    if workers_of(data) is not None:
        refuse_unsupported(options)
        down = replace(down, lambdas=False)  # they are found at the end
    with checkpointed(down, data, evened=evened) as down:
        found = search(data, down)
    estimate = None
    if n_components is None:
        path, estimate = choose_rank(found.path, data, rule, tau=tau)
        found = replace(found, path=path)
        point = _chosen(found, estimate.rank)
    else:
        point = _wanted(found.path, n_components)
    if reached is not None:
        reached(point.rank)
    polished, converged = _polished(found.workspace, point, options)
    V = _padded(polished.V, n_components)
    with one_pool():
        W, loss = project(data, V)
    if scales is not None:
        W, V = (factor * scale[:, None] for factor, scale in zip((W, V), scales, strict=True))
    return Factorisation(
        W=_by_rows(W, data.dtype),
        H=np.ascontiguousarray(V.T, dtype=data.dtype),
        loss=loss,
        squared_norm=found.path.squared_norm,
        late_path=LatePath(found, scales),
        estimate=estimate,
        n_iter=sum(visit.n_iter for visit in found.path.visits) + polished.n_iter,
        converged=converged,
        seconds=time.monotonic() - began,
    )


def refine(
    data: Data, path: RankPath, rank: int, options: PathOptions, scales: Scales | None = None
) -> tuple[Array, Array, float]:
    """(W, H, loss) of X at another rank of its path, polished."""
    if data.shape != path.shape:
        raise ValueError(
            f"X has {data.shape[0]} samples, but the path was made from {path.shape[0]}; "
            "pass the training data"
        )
    if abs(data.squared_norm() - path.squared_norm) > SAME * path.squared_norm:
        raise ValueError("X or its weights are not what the model was fitted to: pass the training data")
    point = path.at_rank(rank)
    if scales is not None:
        U, V = (factor / scale[:, None] for factor, scale in zip((point.U, point.V), scales, strict=True))
        point = replace(point, U=U, V=V)
    if workers_of(data) is not None:
        point = replace(point, U=project(data, point.V.astype(data.dtype)).W)
    workspace = Workspace.of(data).with_engine(options.engine, rank, np.random.default_rng(0))
    V = _polished(workspace, point, options).point.V
    with one_pool():
        W, loss = project(data, V)
    if scales is not None:
        W, V = (factor * scale[:, None] for factor, scale in zip((W, V), scales, strict=True))
    return _by_rows(W, data.dtype), np.ascontiguousarray(V.T, dtype=data.dtype), loss


def _by_rows(W: Array, dtype: Any = None) -> Array:
    return W if is_rows(W) else np.ascontiguousarray(W, dtype=dtype)


def _polished(workspace: Workspace, point: PathPoint, options: PathOptions) -> Polished:
    polished = polish(
        workspace,
        point.U,
        point.V,
        solver=options.solver,
        mu=options.mu,
        delta=options.delta,
        tol=options.tol,
        max_iter=options.max_iter,
    )
    if polished.point.rank == 0:
        raise ValueError(options.too_heavy)
    return polished


def _chosen(found: Exploration, rank: int) -> PathPoint:
    """The path's solution at a rank, or the leading singular pair if rank one was not visited."""
    path = found.path
    if rank == 1 and 1 not in path.ranks:
        u, sigma, v = leading_triplet(found.workspace.data)
        root = np.sqrt(sigma)
        return PathPoint(u * root, v * root, path.rank_one_loss, float(path.lambdas.max()), 0)
    return found.at_rank(rank)


def _down_to(n_components: int | None, options: PathOptions, shape: tuple[int, int]) -> PathOptions:
    """Options of a path that ends at a given rank, after checking it against the shape."""
    options = replace(options, keep_partial=False)
    if n_components is None:
        return options
    if not isinstance(n_components, int | np.integer) or isinstance(n_components, bool) or n_components < 1:
        raise ValueError(f"n_components must be a positive integer or None, got {n_components!r}")
    if n_components > min(shape):
        raise ValueError(
            f"n_components={n_components} is more than min(n_samples, n_features)={min(shape)}, "
            "which no nonnegative rank exceeds"
        )
    first = options.max_rank
    if first is None and isinstance(options.init, str):
        first = max(default_max_rank(shape), int(n_components))
    elif first is None:
        first = np.shape(options.init[0])[-1]
    if n_components > first:
        raise ValueError(f"n_components={n_components} is more than max_rank={first}, where the path starts")
    return replace(options, max_rank=int(first), min_rank=int(n_components))


def _wanted(path: RankPath, n_components: int) -> PathPoint:
    """The solution at a given rank, or the largest one if components beyond it vanished by themselves."""
    largest = path.points[-1]
    if largest.rank >= n_components:
        return path.at_rank(n_components)
    warnings.warn(
        f"{n_components - largest.rank} of the {n_components} components vanished on the path and are zero; "
        "for more of them raise max_rank, or try another random_state",
        UserWarning,
        stacklevel=4,
    )
    return largest


def _padded(V: Array, n_components: int | None) -> Array:
    """V with zero columns up to the number that was asked for."""
    missing = (n_components or 0) - V.shape[1]
    if missing <= 0:
        return V
    return np.asfortranarray(np.pad(V, ((0, 0), (0, missing))))
