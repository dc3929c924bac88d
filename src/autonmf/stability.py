r"""`ComponentStability`: how well the components of a model are found again in resamples of X.

A resample has as many samples as X, drawn with replacement. It is factorised from a random initial point of
its own: started from the components of the model, it would confirm them. Its components are matched one to
one with those of the model (Hungarian algorithm) by the cosine of the matrices :math:`U_jV_j^\top`, which is
the product of the cosines of weights and loadings. Loadings alone would not do: those of different spectra
can be similar.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.data import Scaling, open_data
from autonmf.fit import check_same_data, estimate_weights, polish
from autonmf.metrics import unit_columns
from autonmf.path import PathOptions, RankPath, prepare, walk_view
from autonmf.path.view import prepare_like
from autonmf.path.walk import Walker

INTERVAL = (0.05, 0.95)
"""Quantiles over the resamples between which intervals lie."""

MORE = 5
"""Resamples begin with this many components more than the model has; the curve over the ranks ends there."""

POLISH_TOL, POLISH_ITERATIONS = 1e-3, 30
"""A resample is polished to a lower accuracy than the model: the difference between resamples is larger."""

Factors = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class ComponentStability:
    """How well each component is found again in resamples of X.

    The *stability* of a component is its median cosine over the resamples, where the cosine is that between
    the matrices U_j V_jᵀ of the component and of its match, on the samples that were drawn.
    """

    cosines: Array  # n_resamples x r, of each component of the model with its match
    components: Array  # r x m, the components of the model
    lower: Array  # r x m, 5 % quantile of each loading, with matched components of equal norm
    upper: Array  # r x m, 95 % quantile
    ranks: Array  # of the curve, increasing: up to some more than the rank of the model
    by_rank: Array  # the mean stability of the components at each of `ranks`
    lowest_by_rank: Array  # the lowest stability of a component

    @property
    def rank(self) -> int:
        """The number of components."""
        return len(self.components)

    @property
    def n_resamples(self) -> int:
        """The number of resamples."""
        return len(self.cosines)

    @property
    def stability(self) -> Array:
        """The median cosine of each component over the resamples."""
        return np.asarray(np.median(self.cosines, axis=0))

    @property
    def interval(self) -> Array:
        """The 5 % and 95 % quantiles of the cosines of each component (2 x r)."""
        return np.asarray(np.quantile(self.cosines, INTERVAL, axis=0))

    def plot(self, ax: Any = None) -> Any:
        """Draw the stability of the components and of the ranks, and return the `StabilityDisplay`."""
        from autonmf.plotting import StabilityDisplay

        return StabilityDisplay.from_stability(self).plot(ax)

    def plot_loadings(self, component: int, ax: Any = None, **options: Any) -> Any:
        """Draw the loadings of one component with their intervals, and return the axes.

        ``options`` are ``feature_names`` and ``n_top`` for the largest loadings by name, or ``axis`` for a
        curve, for example the wavelengths.
        """
        from autonmf.plotting.stability import plot_loadings

        if not 0 <= component < self.rank:
            raise ValueError(f"component must be 0 to {self.rank - 1}, got {component!r}")
        arrays = (array[component] for array in (self.components, self.lower, self.upper))
        return plot_loadings(*arrays, ax, **options)

    def __str__(self) -> str:
        """The stability of each component with its interval; components are numbered from 1."""
        lines = [f"{self.n_resamples} resamples", "component  stability  5 to 95 %"]
        for number, (middle, (low, high)) in enumerate(
            zip(self.stability, self.interval.T, strict=True), start=1
        ):
            lines.append(f"{number:9}  {middle:9.2f}  {low:.2f} to {high:.2f}")
        return "\n".join(lines)


class _Resamples(NamedTuple):
    """What every resample needs."""

    X: Any  # an array, or a CSR matrix
    rows: Array  # those that are drawn from
    options: PathOptions
    reference: dict[int, Factors]  # the solution of each rank, with columns of unit norm
    rank: int  # of the model
    sample_weight: Array | None
    weights: Array | None
    noise_weights: Scaling | None  # that the noise of counts suggests


def measure_stability(
    X: Any,
    factors: Factors,
    path: RankPath,
    options: PathOptions,
    *,
    n_resamples: int,
    random_state: Seed,
    sample_weight: Any = None,
    weights: Any = None,
) -> ComponentStability:
    """The stability of components of X in memory, given (W, V) of the model and the path of its fit."""
    if not isinstance(n_resamples, int | np.integer) or isinstance(n_resamples, bool) or n_resamples < 2:
        raise ValueError(f"n_resamples must be an integer of at least 2, got {n_resamples!r}")
    W, V = factors
    X = X.tocsr() if hasattr(X, "tocsr") else X
    sample_weight, weights = (None if w is None else np.asarray(w) for w in (sample_weight, weights))
    if sample_weight is not None and sample_weight.ndim and not np.all(sample_weight):
        kept = sample_weight > 0  # the others are not part of the path
        X, W, sample_weight = X[kept], W[kept], sample_weight[kept]
        weights = None if weights is None else weights[kept]
    given = {"sample_weight": sample_weight, "weights": weights}
    opened = open_data(X, missing=options.missing, power=options.loss.weight_power, **given)
    check_same_data(opened, path)
    with one_pool():
        sums = opened.data.right(np.ones((X.shape[1], 1), opened.data.dtype, order="F"))
    rows = np.flatnonzero(sums)
    if len(rows) < 2:
        raise ValueError(
            f"X has {len(rows)} sample that is not zero: stability is measured by drawing samples, and needs "
            "at least two"
        )
    bound = V.shape[1] + MORE
    reference = {p.rank: (np.asarray(p.U), p.V) for p in path.points if p.rank <= bound}
    reference[V.shape[1]] = W, V
    weighing = estimate_weights(opened, path, options)
    shared = _Resamples(X, rows, options, reference, V.shape[1], sample_weight, weights, weighing)
    found = _run_all(shared, as_generator(random_state).spawn(n_resamples), options.n_jobs)
    ranks = sorted(reference)
    medians = [np.median([cosines[rank] for cosines, _ in found], axis=0) for rank in ranks]
    loadings = np.array([loadings for _, loadings in found])
    loadings *= np.linalg.norm(V, axis=0)[:, None]
    lower, upper = np.quantile(loadings, INTERVAL, axis=0)
    return ComponentStability(
        cosines=np.array([cosines[V.shape[1]] for cosines, _ in found]),
        components=V.T,
        lower=lower,
        upper=upper,
        ranks=np.array(ranks),
        by_rank=np.array([np.mean(values) for values in medians]),
        lowest_by_rank=np.array([np.min(values) for values in medians]),
    )


Found = tuple[dict[int, Array], Array]
"""The cosines of the components at each rank, and the matched loadings of unit norm at that of the model."""


def _run_all(
    shared: _Resamples, generators: Sequence[np.random.Generator], n_jobs: int | None
) -> list[Found]:
    if n_jobs in (None, 1):
        return [_run(shared, rng) for rng in generators]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs, prefer="threads")(delayed(_run)(shared, rng) for rng in generators))


def _run(shared: _Resamples, rng: np.random.Generator) -> Found:
    """Draw samples, factorise them, and match the components of each rank."""
    count = shared.X.shape[0]
    rows = np.sort(rng.choice(shared.rows, count))
    solutions = _factorise(shared, rows, rng)
    cosines, loadings = {}, np.empty(0)
    for rank, (U, V) in shared.reference.items():
        unit_U, unit_V = unit_columns(U[rows]), unit_columns(V)
        other_U, other_V = _pad(solutions.get(rank), (len(rows), V.shape[0], rank))
        similar = (unit_U.T @ other_U) * (unit_V.T @ other_V)
        _, matches = linear_sum_assignment(similar, maximize=True)
        cosines[rank] = np.minimum(similar[np.arange(rank), matches], 1.0)
        if rank == shared.rank:
            loadings = other_V[:, matches].T
    return cosines, loadings


def _pad(factors: Factors | None, shape: tuple[int, int, int]) -> Factors:
    """Factors with columns of unit norm; zeros for components that a resample has not."""
    n, m, rank = shape
    if factors is None:
        return np.zeros((n, rank)), np.zeros((m, rank))
    return unit_columns(factors[0]), unit_columns(factors[1])


def _factorise(shared: _Resamples, rows: Array, rng: np.random.Generator) -> dict[int, Factors]:
    """The solutions of some samples at every rank from a bound down, polished at the rank of the model."""
    chosen = {
        name: None if values is None else values[rows]
        for name, values in (("sample_weight", shared.sample_weight), ("weights", shared.weights))
    }
    options = shared.options
    opened = open_data(shared.X[rows], missing=options.missing, power=options.loss.weight_power, **chosen)
    first = min(max(shared.reference), *opened.data.shape)
    options = replace(options, max_rank=first, min_rank=min(shared.reference))
    start, sketch = rng.spawn(2)
    weighing = shared.noise_weights
    if weighing is not None:
        weighing = Scaling(weighing.a[rows], weighing.b)
    with one_pool():
        view = prepare(opened.data, options, first, sketch, weighing)
        walk = partial(Walker, opened, options, first, [start], time.monotonic(), None)
        view, walked = walk_view(view, walk, keep_partial=False)
        solutions = {s.rank: view.scaling.to_original(s.U, s.V) for s in walked.solutions()}
        if shared.rank in solutions:
            plain = prepare_like(view, options) if options.follows_equilibrated else view
            light = replace(options, tol=max(POLISH_TOL, options.tol), max_iter=POLISH_ITERATIONS)
            polished = polish(plain, *solutions[shared.rank], light)
            solutions[shared.rank] = polished.U, polished.V
        if opened.weighted:
            solutions = {rank: opened.scaling.to_original(*both) for rank, both in solutions.items()}
    return solutions
