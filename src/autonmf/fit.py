"""The whole job: search the path, choose the rank, polish the solution there, project X on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array, Lazy
from autonmf._warnings import warn
from autonmf.data import Data, OpenedData, Scaling, looks_like_counts
from autonmf.data.factors import RemoteFactor, as_factor, take_columns
from autonmf.data.noise import whiten_counts
from autonmf.losses import FROBENIUS
from autonmf.losses.frobenius import fit_rows
from autonmf.model.components import balance
from autonmf.path import (
    Checkpoint,
    PathOptions,
    PathPoint,
    RankPath,
    SearchResult,
    View,
    default_max_rank,
    find_known,
    open_checkpoint,
    prepare,
    search,
)
from autonmf.path.options import ADDITIONAL
from autonmf.path.unscale import choose_dtype
from autonmf.selection import RankEstimate, check_rule, choose_rank
from autonmf.solvers import HIGH_RANK, Stopping, run

SAME = 1e-4
"""Relative difference of ‖X‖² above which X is not the training data."""

WINDOW = 3
"""Iterations over which the objective, or the factors, must have settled."""

CHECK_EVERY = 10
"""Iterations between two checks of the factors, which cost a pass over them; the objective settles first."""

TIGHTER = 0.01
"""The tolerance of the polish as a fraction of that of the path: its solution is the one returned."""

COUNTS = (
    'the entries look like counts: consider beta_loss="kullback-leibler", which is made for Poisson noise; '
    "with least squares, the largest entries dominate"
)
"""Advice where counts are fitted with least squares."""

SWEEPS = 3
"""Sweeps over V for weights of all rows that were solved for."""

MUCH = 20.0
"""A known component is used if the loss rises by more than so many times what noise explains without it."""

TIGHT_ITERATIONS = 100
"""Maximum number of those iterations to the tight tolerance that are not on X itself."""


@dataclass(frozen=True)
class Factorisation:
    """X ≈ W H at the chosen rank, and how it was found."""

    W: Any  # n x rank
    H: Array  # rank x m
    loss: float  # for example ½‖X - WH‖²
    energy: float  # what relative losses are fractions of
    lazy_path: Lazy[RankPath]
    estimate: RankEstimate | None  # None if the rank was given
    n_iter: int  # along the path and of the polish
    converged: bool  # whether the polish did
    seconds: float
    unused: tuple[int, ...] = ()  # known components that X does not need, from 0

    @property
    def rank(self) -> int:
        return len(self.H)

    @property
    def path(self) -> RankPath:
        return self.lazy_path.value

    @property
    def relative_loss(self) -> float:
        """What is not explained, as a fraction: ‖X - WH‖²/‖X‖² with the Frobenius loss."""
        return self.loss / self.energy

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what may be wrong."""
        return self.estimate.warnings if self.estimate else describe_unused(self.unused)

    @property
    def why(self) -> str:
        """One sentence on the rank."""
        return self.estimate.why if self.estimate else "this rank was requested"


def factorise(
    opened: OpenedData,
    options: PathOptions,
    *,
    n_components: int | None = None,
    rule: str = "auto",
    tau: float | None = None,
    on_polish: Callable[[int], None] | None = None,
) -> Factorisation:
    """Factorise X at the rank ``n_components``, by default chosen from the data.

    ``on_polish`` is called with the rank before it is polished. Ctrl-C raises, because no rank can be chosen
    from an incomplete path.
    """
    began = time.monotonic()
    check_rule(rule, tau)
    data = opened.data
    given = n_components is not None
    equilibrate = rule == "auto" and (options.loss.equilibrates or not given)
    options = replace(_stop_at(n_components, options, data.shape), equilibrate=equilibrate)
    opened.check_options(options)
    saved = nullcontext((options, None)) if options.checkpoint is None else open_checkpoint(options, data)
    with saved as (options, checkpoint):
        found = search(opened, options, checkpoint=checkpoint, keep_partial=False, given_rank=given)
        if options.loss.reweighs and not opened.weighted:
            found = _search_with_weights(opened, options, found, time.monotonic() - began, checkpoint)
    estimate = None
    if n_components is None:
        path = found.path if options.equilibrate else found.with_points()
        estimate = choose_rank(path, data, rule, tau=tau)
        if options.loss is FROBENIUS and looks_like_counts(data):
            estimate = replace(estimate, warnings=(*estimate.warnings, COUNTS))
        start = _start_at(found, estimate.rank)
    else:
        start = found.start_at(_nearest_rank(found, n_components))
    if on_polish is not None:
        on_polish(int(start[1].shape[1]))
    U, V, sample = start
    found = replace(found, sample=None)
    polished = polish(found.view, U, V, options, sample)
    del start, U, V, sample  # what is computed from here on needs memory, too
    W, H, loss = _project(opened, _pad(polished.V, n_components), options)
    unused = _find_unused(opened, found.view, polished, loss, options) if options.n_known else ()
    if estimate is not None and unused:
        estimate = replace(estimate, warnings=(*estimate.warnings, *describe_unused(unused)))
    return Factorisation(
        W=W,
        H=H,
        loss=loss,
        energy=found.path.energy,
        lazy_path=found.finish_later(),
        estimate=estimate,
        n_iter=sum(visit.n_iter for visit in found.path.visits) + polished.n_iter,
        converged=polished.converged,
        seconds=time.monotonic() - began,
        unused=unused,
    )


def refine(opened: OpenedData, path: RankPath, rank: int, options: PathOptions) -> tuple[Any, Array, float]:
    """(W, H, loss) of X at another rank of its path, polished."""
    check_same_data(opened, path)
    U, V = _find_factors(opened, path, rank, options)
    weights = estimate_weights(opened, path, options)
    with one_pool():
        known = find_known(opened, options)
        view = prepare(opened.data, options, rank, np.random.default_rng(0), weights, known)
    return _project(opened, polish(view, U, V, options).V, options)


def refine_all(
    opened: OpenedData, path: RankPath, ranks: Iterable[int], options: PathOptions
) -> Iterator[PathPoint]:
    """The solutions of X at some ranks of its path, polished by `refine`, with balanced factors.

    A rank at which components vanish in the polish is left out.
    """
    for rank in ranks:
        W, H, loss = refine(opened, path, rank, options)
        with one_pool():
            U, V = balance(W, np.asfortranarray(H.T), n_fixed=options.n_known)
        if V.shape[1] == rank:
            yield replace(path.at_rank(rank), U=U, V=V, loss=loss)


def check_same_data(opened: OpenedData, path: RankPath) -> None:
    """Refuse data that are not those of a path."""
    data = opened.data
    if data.shape != path.shape:
        raise ValueError(
            f"X has {data.shape[0]} samples, but the model was fitted to {path.shape[0]}: "
            "pass the training data"
        )
    if abs(data.squared_norm() - path.squared_norm) > SAME * path.squared_norm:
        raise ValueError("X or its weights differ from those of the fit: pass the training data")


def estimate_weights(opened: OpenedData, path: RankPath, options: PathOptions) -> Scaling | None:
    """The weights of rows and columns that the noise of a path suggests, as in `factorise`."""
    if not options.loss.reweighs or opened.weighted:
        return None
    factors = _find_factors(opened, path, _rank_of_noise(path.ranks.tolist(), options), options)
    with one_pool():
        reweighing = options.loss.reweigh(opened.data, *factors)
    return None if reweighing is None else reweighing.weights


def _find_factors(opened: OpenedData, path: RankPath, rank: int, options: PathOptions) -> tuple[Any, Array]:
    """The solution of a path at a rank, as factors of the opened data."""
    U, V = path.at_rank(rank).U, path.at_rank(rank).V
    with one_pool():
        if opened.weighted:
            U, V = opened.scaling.to_scaled(U, V)
        if opened.keeps_rows_remote:
            U = options.loss.project(opened.data, V.astype(opened.data.dtype)).W
    return U, V


def _search_with_weights(
    opened: OpenedData,
    options: PathOptions,
    found: SearchResult,
    spent: float,
    checkpoint: Checkpoint | None,
) -> SearchResult:
    """Repeat the search with weights estimated from the noise of its solution, if there are any.

    A checkpoint holds the records of both searches: the weights follow from the whole path of the first.
    """
    saved = replace(checkpoint, weighted=True) if checkpoint and found.path.complete else None
    point = found.at_rank(_rank_of_noise(found.ranks, options))
    with one_pool():
        reweighing = options.loss.reweigh(opened.data, point.U, point.V)
    left = None if options.time_budget is None else options.time_budget - spent
    if reweighing is None or (left is not None and left <= spent):
        return found
    weights, dispersion = reweighing
    whitened = None
    if options.equilibrate and opened.data.complete:
        with one_pool():
            known = find_known(opened, options)
            whitened = whiten_counts(opened.data, point.U, point.V, dispersion, found.ranks[-1], known)
    del found, point  # with a copy of X
    again = replace(options, time_budget=left)
    return search(opened, again, checkpoint=saved, keep_partial=False, weights=weights, whitened=whitened)


def _rank_of_noise(ranks: list[int], options: PathOptions) -> int:
    """The rank whose residual is used to estimate the noise."""
    most = max(HIGH_RANK, options.n_known + ADDITIONAL) if options.n_known else HIGH_RANK
    return max(rank for rank in ranks if rank <= max(most, ranks[0]))


class Polished(NamedTuple):
    """A solution of X at one rank, and whether a stopping criterion held in the end."""

    U: Any
    V: Array
    loss: float  # with the weights of the view, if it has any
    n_iter: int
    converged: bool


def polish(view: View, U: Any, V: Array, options: PathOptions, sample: Data | None = None) -> Polished:
    """Iterate from (U, V) at this rank with λ = 0, until a stopping criterion holds.

    The iterations are made on the compression first, if there is one, or on a sample of the rows if U are
    those of a sample, and then on X itself.
    """
    solver = replace(options, grid="exact").make_solver(long=True)
    whole = view.matrix if options.loss.reads_entries else view.scaled
    tight, settled = TIGHTER * options.tol, options.tol / WINDOW
    stages: list[tuple[Any, float, int, int]] = [(whole, tight, options.max_iter, WINDOW)]
    smaller = view.compressed if sample is None else sample
    if smaller is not None:
        few = min(options.max_iter, TIGHT_ITERATIONS)
        stages = [(smaller, tight, few, WINDOW)]
        stages += [(data, settled, options.max_iter, 1) for data in (smaller, view.scaled)]
    n_iter = 0
    with one_pool():
        U, V = view.scaling.to_scaled(U, V)
        for data, tol, max_iter, window in stages:
            if sample is not None and data is not sample:
                U = fit_rows(data, V)
            stopping = Stopping(tol, 0.0, window, window, window, change_every=CHECK_EVERY, max_iter=max_iter)
            U, V = view.fix(*(as_factor(factor, data.dtype) for factor in (U, V)))
            posed = options.loss.pose(data, mu=options.mu, delta=options.delta, n_fixed=view.n_fixed)
            start = solver.init(posed, U, V)
            if sample is not None and data is not sample:
                start = start.sweep_V(SWEEPS)
            last = run(solver, start, stopping)
            U, V, n_iter = last.state.U, last.state.V, n_iter + last.n_iter
        state, converged = last.state, last.converged
        del U, V, start, last  # each step below needs another copy of U
        state = state.balance().compact()
        if state.rank == 0:
            raise ValueError(options.too_heavy)
        loss = state.loss * (view.loss_unit if view.scaling.is_uniform else 1.0)
        dtype = choose_dtype(state.V.dtype, float(np.max(view.scaling.b)))
        U, V = (factor.astype(dtype, copy=False) for factor in (state.U, state.V))
        del state
        U, V = view.scaling.to_original(U, V)
        U, V = balance(U, V, sort=True, n_fixed=view.n_fixed)
        return Polished(U, V, loss, n_iter, converged)


def _project(opened: OpenedData, V: Array, options: PathOptions) -> tuple[Any, Array, float]:
    """The best W for given components of the opened data, and both as factors of X; known ones as given."""
    dtype = opened.data.dtype
    known = find_known(opened, options)
    if known is not None:
        V = np.array(V, dtype=dtype, order="F")  # the polish may be in single precision
        V[:, : options.n_known] = known
    with one_pool():
        W, loss = options.loss.project(opened.data, V)
    if opened.weighted:
        W, V = opened.scaling.to_original(W, V)
    if known is not None:
        V[:, : options.n_known] = options.fixed_components.T
    if not isinstance(W, RemoteFactor):
        W = np.ascontiguousarray(W, dtype=dtype)
    return W, np.ascontiguousarray(V.T, dtype=dtype), loss


def _find_unused(
    opened: OpenedData, view: View, polished: Polished, loss: float, options: PathOptions
) -> tuple[int, ...]:
    """The known components without which the loss rises by no more than noise explains, from 0.

    Components that are not known are polished again without it, because they may have left something to it.
    """
    U, V = polished[:2]
    rank, known = V.shape[1], find_known(opened, options)
    assert known is not None
    unused = []
    for index in range(options.n_known if rank > 1 else 0):
        others, fewer = np.arange(rank) != index, np.delete(known, index, axis=1)
        start = take_columns(U, others), take_columns(V, others)
        rise, limit = _compare_with_noise(opened, known, index, start[1], loss, options)
        if limit < rise <= MUCH * limit and rank > options.n_known:
            again = polish(replace(view, known=fewer), *start, options)
            rise, limit = _compare_with_noise(opened, known, index, again.V, loss, options)
        if rise <= limit:
            unused.append(index)
    return tuple(unused)


def _compare_with_noise(
    opened: OpenedData, known: Array, index: int, V: Array, loss: float, options: PathOptions
) -> tuple[float, float]:
    r"""The rise of the loss if V, without one known component, replaces all, and what noise explains of it.

    Weights of a component that is not in X follow the noise. Without them the loss rises by
    :math:`\tfrac12\sigma^2 z_+^2` in a row, with a normal z, which has the mean :math:`\tfrac14\sigma^2` and
    the variance :math:`\tfrac5{16}\sigma^4`, where σ² is twice the loss per degree of freedom. A rise of up
    to three standard deviations more than the mean is that of noise.

    In the features of this component noise may be stronger, or correlated. But if its weights follow the
    noise, negative weights would lower the loss as much: by :math:`\tfrac12\sigma^2 z_-^2`, with the same
    mean, and the variance of the difference is :math:`\tfrac34\sigma^4`. A rise of up to three standard
    deviations more than this fall is that of noise, too. Counts are fitted with positive weights only; their
    noise is independent.
    """
    (n, m), rank = opened.data.shape, V.shape[1] + 1
    variance = 2.0 * loss / max((n - rank) * (m - rank), 1)
    limit = variance * (0.25 * n + 3.0 * np.sqrt(0.3125 * n))
    without = _evaluate(opened, np.delete(known, index, axis=1), V, options)
    rise = without - loss
    if options.loss is FROBENIUS and limit < rise <= MUCH * limit:
        negative = known * np.where(np.arange(known.shape[1]) == index, -1.0, 1.0)
        fall = without - _evaluate(opened, negative, np.insert(V, index, 0.0, axis=1), options)
        limit = max(limit, fall * (1.0 + 3.0 * np.sqrt(12.0 / n)))
    return rise, limit


def _evaluate(opened: OpenedData, known: Array, V: Array, options: PathOptions) -> float:
    """The loss of components of the opened data, the first of which are known."""
    V = np.array(V, dtype=opened.data.dtype, order="F")
    V[:, : known.shape[1]] = known
    with one_pool():
        return options.loss.project(opened.data, V).loss


def describe_unused(unused: tuple[int, ...]) -> tuple[str, ...]:
    """A sentence on the known components that X does not need; none if it needs all."""
    if not unused:
        return ()
    *before, last = (str(index + 1) for index in unused)
    which = f"components {', '.join(before)} and {last} are" if before else f"component {last} is"
    return (f"known {which} not used: the others fit X as well",)


def _start_at(found: SearchResult, rank: int) -> tuple[Any, Array, Data | None]:
    """What a polish begins with at a rank: the best of the smallest rank if that was not visited."""
    if rank > max(found.path.n_known, 1) or rank in found.ranks:
        return found.start_at(rank)
    view = found.view
    return *balance(*view.scaling.to_original(*view.smallest[:2]), n_fixed=view.n_fixed), None


def _stop_at(n_components: int | None, options: PathOptions, shape: tuple[int, int]) -> PathOptions:
    """Options of a path that ends at a given rank, after checking it against the shape."""
    if n_components is None:
        return options
    if not isinstance(n_components, int | np.integer) or isinstance(n_components, bool) or n_components < 1:
        raise ValueError(f"n_components must be a positive integer, 'auto' or None, got {n_components!r}")
    if n_components > min(shape):
        raise ValueError(
            f"n_components={n_components} is larger than min(n_samples, n_features)={min(shape)}, "
            "the largest possible nonnegative rank"
        )
    if n_components < options.n_known:
        raise ValueError(
            f"n_components={n_components} is less than the {options.n_known} known components, which it "
            "counts too: raise it, or leave some of them out"
        )
    first = options.max_rank
    if first is None and isinstance(options.init, str):
        first = max(default_max_rank(shape), int(n_components))
    elif first is None:
        first = np.shape(options.init[0])[-1]
    if n_components > first:
        raise ValueError(f"n_components={n_components} is larger than max_rank={first}: raise max_rank")
    return replace(options, max_rank=int(first), min_rank=int(n_components))


def _nearest_rank(found: SearchResult, n_components: int) -> int:
    """The given rank, or the largest one if components have vanished."""
    largest = found.ranks[-1]
    if largest >= n_components:
        return n_components
    warn(
        f"{n_components - largest} of the {n_components} components vanished on the path and are zero; "
        "to get more components, raise max_rank or try another random_state"
    )
    return largest


def _pad(V: Array, n_components: int | None) -> Array:
    """V with zero columns up to the requested number."""
    missing = (n_components or 0) - V.shape[1]
    if missing <= 0:
        return V
    return np.asfortranarray(np.pad(V, ((0, 0), (0, missing))))
