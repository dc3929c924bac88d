r"""`ComponentStability`: how well the components of a model are found again in resamples of X.

A resample has as many samples as X, drawn with replacement. It is factorised from a random initial point of
its own: started from the components of the model, it would confirm them. Its components are matched one to
one with those of the model (Hungarian algorithm) by the cosine of the matrices :math:`U_jV_j^\top`, which is
the product of the cosines of weights and loadings. Loadings alone would not do: those of different spectra
can be similar.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator
from autonmf.data import Scaling, open_data
from autonmf.data.weights import check_sample_weight, check_weights
from autonmf.fit import check_same_data, estimate_weights, polish
from autonmf.metrics import unit_columns
from autonmf.path import PathOptions, RankPath, find_known, prepare
from autonmf.path.view import prepare_like
from autonmf.path.walk import Walker

INTERVAL = (0.05, 0.95)
"""Quantiles over the resamples between which intervals lie."""

LEVEL = 1 / 3
"""The quantile over the resamples that is called stability: two of three resamples reach it."""

MORE = 5
"""Resamples begin with this many components more than the model has; the curve over the ranks ends there."""

POLISH_TOL, POLISH_ITERATIONS = 1e-3, 30
"""A resample is polished to a lower accuracy than the model: the difference between resamples is larger."""

Factors = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class ComponentStability:
    """How well each component is found again in resamples of X.

    The *stability* of a component is the cosine that two of three resamples reach, where the cosine is that
    between the matrices U_j V_jᵀ of the component and of its match, on the samples that were drawn.
    """

    cosines: Array  # n_resamples x r, of each component of the model with its match
    components: Array  # r x m, the components of the model
    lower: Array  # r x m, 5 % quantile of each loading, with matched components of equal norm
    upper: Array  # r x m, 95 % quantile
    ranks: Array  # of the path, increasing, up to five more than that of the model
    by_rank: Array  # the mean stability of the components of the path at each of `ranks`
    lowest_by_rank: Array  # the lowest stability of one of them

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
        """The cosine of each component that two of three resamples reach."""
        return np.asarray(np.quantile(self.cosines, LEVEL, axis=0))

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
        loadings, lower, upper = (each[component] for each in (self.components, self.lower, self.upper))
        return plot_loadings(loadings, lower, upper, ax, **options)

    def __str__(self) -> str:
        """The stability of each component with its interval; components are numbered from 1."""
        lines = [f"{self.n_resamples} resamples", "component  stability  5 to 95 %"]
        for number, (middle, (low, high)) in enumerate(
            zip(self.stability, self.interval.T, strict=True), start=1
        ):
            lines.append(f"{number:9}  {middle:9.2f}  {low:.2f} to {high:.2f}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Resampler:
    """What every resample needs, and how it is made."""

    X: Any  # an array, or a CSR matrix
    rows: Array  # those that are drawn from
    options: PathOptions
    model: Factors  # W and V of the model
    path: dict[int, Factors]  # the solutions that the curve over the ranks is made of
    weights: dict[str, Array | None]  # ``sample_weight`` and ``weights`` of the fit
    noise_weights: Scaling | None  # that the noise of counts suggests

    def run(self, rng: np.random.Generator) -> Resample:
        """Draw samples, factorise them, and match the components."""
        rows = np.sort(rng.choice(self.rows, self.X.shape[0]))
        polished, solutions = self._factorise(rows, rng)
        cosines, loadings = _match(self.model, rows, polished)
        curve = {rank: _match(both, rows, _find(solutions, rank))[0] for rank, both in self.path.items()}
        return Resample(cosines, loadings, curve)

    def _factorise(self, rows: Array, rng: np.random.Generator) -> tuple[Factors, dict[int, Factors]]:
        """The polished solution of some samples at the rank of the model, and those of their path."""
        rank, loss = self.model[1].shape[1], self.options.loss
        weights = {name: None if each is None else each[rows] for name, each in self.weights.items()}
        opened = open_data(self.X[rows], missing=self.options.missing, power=loss.weight_power, **weights)
        first = min(rank + MORE, *opened.data.shape)
        options = replace(self.options, max_rank=first, min_rank=min([rank, *self.path]))
        start, sketch = rng.spawn(2)
        noise_weights = self.noise_weights
        if noise_weights is not None:
            noise_weights = replace(noise_weights, a=noise_weights.a[rows])
        with one_pool():
            known = find_known(opened, options)
            view = prepare(opened.data, options, first, sketch, noise_weights, known)
            walker = Walker(opened, options, first, [start], time.monotonic(), None, view)
            while (walked := walker.walk_all(keep_partial=False)).unreliable:
                walker = walker.renew(view=view.direct())
            view = walker.view
            found = {s.rank: view.scaling.to_original(s.U, s.V) for s in walked.solutions()}
            if not found:
                raise ValueError(options.too_heavy)
            plain = prepare_like(view, options) if options.uses_equilibrated else view
            light = replace(options, tol=max(POLISH_TOL, options.tol), max_iter=POLISH_ITERATIONS)
            end = polish(plain, *_find(found, rank), light)
            solutions = {k: opened.scaling.to_original(*both) for k, both in found.items()}
            return opened.scaling.to_original(end.U, end.V), solutions


class Resample(NamedTuple):
    """How well components were found again in one resample."""

    cosines: Array  # r, of the components of the model
    loadings: Array  # r x m, of their matches, with unit norm
    curve: dict[int, Array]  # the cosines of the components of each rank of the path


def _find(solutions: dict[int, Factors], rank: int) -> Factors:
    """The solution at a rank or, where components have vanished, at the largest rank below it."""
    return solutions[max((k for k in solutions if k <= rank), default=min(solutions))]


def _match(factors: Factors, rows: Array, others: Factors) -> tuple[Array, Array]:
    """The cosine of each component with its match, and the loadings of that, with unit norm.

    ``others`` are factors of some rows of X. Components that they have not are taken for zero.
    """
    (U, V), rank = factors, factors[1].shape[1]
    missing = max(rank - others[1].shape[1], 0)
    unit_U, unit_V = (np.pad(unit_columns(factor), ((0, 0), (0, missing))) for factor in others)
    similar = (unit_columns(U[rows]).T @ unit_U) * (unit_columns(V).T @ unit_V)
    matches = linear_sum_assignment(similar, maximize=True)[1]
    return np.minimum(similar[np.arange(rank), matches], 1.0), unit_V[:, matches].T


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
    """The stability of the components of X in memory, given (W, V) of the model and the path of its fit."""
    if not isinstance(n_resamples, int | np.integer) or isinstance(n_resamples, bool) or n_resamples < 2:
        raise ValueError(f"n_resamples must be an integer of at least 2, got {n_resamples!r}")
    W, V = factors
    X = X.tocsr() if hasattr(X, "tocsr") else X
    given: dict[str, Array | None] = {
        "sample_weight": None if sample_weight is None else check_sample_weight(sample_weight, X.shape[0]),
        "weights": None if weights is None else check_weights(weights, X.shape),
    }
    if given["sample_weight"] is not None and not given["sample_weight"].all():
        kept = given["sample_weight"] > 0  # the others are not part of the path
        X, W = X[kept], W[kept]
        given = {name: None if each is None else each[kept] for name, each in given.items()}
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
    curve = {p.rank: (np.asarray(p.U), p.V) for p in path.points if p.rank <= V.shape[1] + MORE}
    weighing = estimate_weights(opened, path, options)
    resampler = _Resampler(X, rows, options, (W, V), curve, given, weighing)
    found = _run_all(resampler.run, as_generator(random_state).spawn(n_resamples), options.n_jobs)
    by_rank = [np.quantile([one.curve[rank] for one in found], LEVEL, axis=0) for rank in curve]
    loadings = np.linalg.norm(V, axis=0)[:, None] * np.array([one.loadings for one in found])
    lower, upper = np.quantile(loadings, INTERVAL, axis=0)
    return ComponentStability(
        cosines=np.array([one.cosines for one in found]),
        components=V.T,
        lower=lower,
        upper=upper,
        ranks=np.array(list(curve)),
        by_rank=np.array([values.mean() for values in by_rank]),
        lowest_by_rank=np.array([values.min() for values in by_rank]),
    )


def _run_all(
    run: Callable[[np.random.Generator], Resample],
    generators: Sequence[np.random.Generator],
    n_jobs: int | None,
) -> list[Resample]:
    """All resamples, one after another or in threads."""
    if n_jobs in (None, 1):
        return list(map(run, generators))
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs, prefer="threads")(delayed(run)(rng) for rng in generators))
