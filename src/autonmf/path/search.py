"""The search: prepare X, walk along the grid, and come back to X with every rank's best solution."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array, Lazy, as_generator
from autonmf._warnings import warn
from autonmf.data import Data, OpenedData, Scaling, as_rows, find_spectrum, lead, lead_tall
from autonmf.data.factors import as_factor, scale_rows, take_columns
from autonmf.data.noise import EXACT, WhitenedSpectrum, measure_known, project_out, whiten
from autonmf.losses import FROBENIUS
from autonmf.losses.frobenius import fit_rows
from autonmf.model.components import balance
from autonmf.model.known import replace_known
from autonmf.path.checkpoint import Checkpoint
from autonmf.path.options import PathOptions, find_loss
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit, not_visited
from autonmf.path.sampling import Sample, draw_sample
from autonmf.path.unscale import Unscaler, find_plateaus
from autonmf.path.view import View, compress_view, prepare, prepare_like, takes_sample
from autonmf.path.walk import Solution, Walked, Walker
from autonmf.solvers import HIGH_RANK, Stopping, run


class Spectra(NamedTuple):
    """What a rule looks at besides losses; beyond the known components if there are any."""

    leading: Array  # YᵀL of the leading directions L of Y
    first: float  # σ₁² of Y, as a fraction of ‖Y‖²
    of_Y: Array  # squared singular values of Y, as fractions of ‖Y‖²
    whitened: WhitenedSpectrum  # of X with noise of unit variance
    known_drops: Array  # by how much each known component of Y lowers the loss, as fractions of ‖Y‖²


MARGIN, PART = 5, 1 / 4
"""Ranks that a path begins above the first beyond which X is noise; this part of that rank if it is more."""

GIVEN_MARGIN, GIVEN_PART = 10, 1 / 2
"""The same above a rank that is given. Paths that begin higher end at a slightly lower loss, and no time is
spent on evidence."""

LAGS = 1.2
"""A rank where noise begins is iterated further if the next drop is above so many squared singular values."""

NEGLIGIBLE = 1e-6
"""Added to that limit, as a fraction of ‖Y‖²."""

MORE_ITERATIONS, PROGRESS = 600, 3e-5
"""Maximum number of iterations of such a rank; they end when the loss falls by less than this fraction."""

POOR, MATTERS, REPAIR_ITERATIONS = 0.25, 0.1, 50
"""A drop that is less than this fraction of the next one is that of a poor local minimum, if the next one is
at least this fraction of the loss. At most so many iterations lead out of it."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found. What no rule reads is left to `finish`: points of X, the fallback, and λ.

    Points of X take the place of solutions in the list when they are computed.
    """

    opened: OpenedData
    path: RankPath  # of ``opened.data``, without its points
    unscaler: Unscaler
    solutions: list[Solution | PathPoint]  # of every rank; a point of X takes the place of each
    plateaus: bool = False  # whether the λ of the points are still to be found
    weighted: View | None = None  # X with weights that the noise suggested, if the path was computed on it
    known: Array | None = None  # known components of X, as columns
    sample: Sample | None = None  # of the rows, if the path was computed on it
    above: Walker | None = None  # what walks through the ranks above, if the path began below its bound

    @property
    def view(self) -> View:
        """X as it was prepared: what a polish goes on from."""
        return self.weighted or self.unscaler.view

    @property
    def ranks(self) -> list[int]:
        """The ranks that were visited, increasing."""
        return [solution.rank for solution in self.solutions]

    def at_rank(self, rank: int) -> PathPoint:
        """The point at a rank that was visited; a `ValueError` for any other rank."""
        return self._to_point(self._find(rank))

    def _find(self, rank: int) -> int:
        if rank not in self.ranks:
            raise not_visited(rank, self.ranks)
        return self.ranks.index(rank)

    def start_at(self, rank: int) -> tuple[Any, Array, Data | None]:
        """The factors of X at a rank, and the rows of the view that they are of if not of all."""
        if self.sample is None:
            point = self._to_point(self._find(rank))
            return point.U, point.V, None
        rows = self.sample.take(self.view.scaled)
        V = self.unscaler.unscale_columns(self.solutions[self._find(rank)].V)
        with one_pool():
            return *self.view.scaling.to_original(fit_rows(rows, V), V), rows

    def _to_point(self, index: int) -> PathPoint:
        point = self.solutions[index]
        if isinstance(point, Solution):
            with one_pool():
                point = self.solutions[index] = self.unscaler.to_point(point)
        return point

    def with_points(self) -> RankPath:
        """The path of X with the points of all ranks: the largest first, smaller ones fit where they were."""
        points = [self._to_point(index) for index in reversed(range(len(self.solutions)))]
        path = replace(self.path, points=tuple(reversed(points)))
        if not self.weighted:
            return path
        visits = (visit._replace(loss=path.at_rank(visit.rank).loss) for visit in path.visits)
        return replace(path, visits=tuple(visits))

    def finish(self) -> RankPath:
        """The path of X with all its points, and the λ of each; losses never rise on an exact path."""
        with one_pool():
            full = self._add_ranks_above()
            path = full._make_monotone() if self.path.settings["grid"] == "exact" else full.with_points()
            if self.plateaus:
                path = find_plateaus(path, self.unscaler.view)
        return replace(path, points=tuple(map(self._present, path.points)))

    def _add_ranks_above(self) -> SearchResult:
        """With the ranks from the upper bound down to where the path began."""
        if self.above is None:
            return self
        spent = max(visit.seconds for visit in self.path.visits)
        walker = self.above.renew(began=time.monotonic() - spent, view=replace(self.above.view))
        walked = walker.walk_all(keep_partial=False)
        del walker  # with what it iterated on, which is as large as X
        solutions = [solution for solution in walked.solutions() if solution.rank > self.ranks[-1]]
        visits = _join_visits(walked, solutions)
        if self.unscaler.sampled:
            solutions = [solution._replace(U=None) for solution in solutions]
        path = replace(self.path, visits=(*visits, *self.path.visits))
        return replace(self, path=path, solutions=[*self.solutions, *solutions], above=None)

    def _make_monotone(self) -> RankPath:
        """With the greedy fallback where losses would rise; the best visits of such ranks say so."""
        replaced = set()
        for index in reversed(range(len(self.solutions))):
            self.solutions[index] = self.unscaler.improve(self._to_point(index))
        points = map(self._to_point, range(len(self.solutions)))
        for index, point in enumerate(self.unscaler.make_monotone(points)):
            if point is not self.solutions[index]:
                replaced.add(point.rank)
                self.solutions[index] = point
        path = self.with_points()
        visits, same_units = list(path.visits), self.unscaler.scaling.is_uniform
        for point in path.points:
            here = [i for i, visit in enumerate(visits) if visit.rank == point.rank]
            best = min(here, key=lambda i: visits[i].loss)
            if point.rank in replaced or (same_units and point.loss < visits[best].loss):
                visits[best] = visits[best]._replace(loss=point.loss, reason="fallback")
        return replace(path, visits=tuple(visits))

    def finish_later(self) -> Lazy[RankPath]:
        """`finish` when the path is read, if that needs no more of X than a copy no larger than the path."""
        if (self.plateaus or self.above) and not self.opened.keeps_rows_remote:
            unscaler = self.unscaler.without_X(0 if self.unscaler.sampled else self._size_of_path)
            if unscaler is not None:
                opened = replace(self.opened, data=unscaler.view.data)
                above = self.above and self.above.without_X(opened)
                weighted = self.weighted and unscaler.view
                later = replace(
                    self, opened=opened, unscaler=unscaler, weighted=weighted, sample=None, above=above
                )
                return Lazy(later.finish)
        return Lazy.known(self.finish())

    @property
    def _size_of_path(self) -> int:
        """How many bytes the factors of all ranks have, in the precision of X."""
        (n, m), rank = self.path.shape, self.above.max_rank if self.above else self.solutions[-1].rank
        return self.opened.data.dtype.itemsize * (n + m) * (rank * (rank + 1) // 2)

    def _present(self, point: PathPoint) -> PathPoint:
        """A point as the caller sees it. With weights the factors are of X, the loss is weighted."""
        project = partial(project_rows, beta_loss=self.path.beta_loss)
        U, V = point.U, point.V
        if not self.opened.weighted:
            U, V = replace_known(U, V, self.known)
        U = self.opened.present_rows(U, V, project)
        if self.opened.weighted:
            U, V = balance(*self.opened.scaling.to_original(U, V), sort=True, n_fixed=self.path.n_known)
            U, V = replace_known(U, V, self.known)
            U, V = (as_factor(factor, point.V.dtype) for factor in (U, V))
        return replace(point, U=U, V=V)


def search(
    opened: OpenedData,
    options: PathOptions,
    *,
    checkpoint: Checkpoint | None = None,
    keep_partial: bool = True,
    weights: Scaling | None = None,
    whitened: WhitenedSpectrum | None = None,
    given_rank: bool = False,
) -> SearchResult:
    """Search a path of X; with weights of its rows and columns, and with its noise where that is known.

    If the rank is given, there is no evidence for a rule.

    The path is computed on X in other units or, where the options say so, on X with rows and columns of
    comparable norm; on a sample of the rows of a tall X; on a compression of either where that pays, and once
    more without it where the first solution shows that it is unreliable. The solutions are those of X.
    """
    data = opened.data
    opened.check_options(options)
    began = time.monotonic() - (checkpoint.seconds if checkpoint else 0.0)
    max_rank = options.first_rank(data.shape)
    evidence = options.equilibrate and not given_rank
    rng = as_generator(options.random_state)
    *generators, sketch = rng.spawn(options.n_starts + 1)
    with one_pool():
        known = find_known(opened, options)
        view = prepare(data, options, max_rank, sketch, weights, known, sample=True)
        spectra = None
        if evidence and view.scaled.complete:  # before there are solutions: both need memory
            spectra = _find_spectra(view, [], max_rank, rng, whitened)
        first = _find_first_rank(view, spectra, options, max_rank, given_rank=given_rank)
        walker = Walker(opened, options, first, generators, began, checkpoint, view)
        del view  # so that nothing refers to its compression where that is unreliable
        for begun_at in sorted({first, max_rank}):
            walker = walker.renew(max_rank=begun_at)
            found = None
            if takes_sample(walker.view, options, max_rank):
                found = _walk_sample(walker, max_rank, spectra, sketch, rng, keep_partial=keep_partial)
            if found is None:
                walker = walker.renew(view=compress_view(walker.view, options, max_rank, sketch))
                while (walked := walker.walk_all(keep_partial=keep_partial)).unreliable:
                    walker = walker.renew(view=walker.view.direct())
                found = ComputedPath(walker.view, walker.view, walker.on, walked)
            computed, walked = found, found.walked
            if spectra is None or not walked.complete or not _lags_at_noise(computed, spectra):
                break
        if not walked.visits:
            raise ValueError(options.too_heavy)
        deadline = options.deadline(began)
        try:
            if evidence and spectra is None:
                spectra = _find_spectra(computed.view, walked.solutions(), max_rank, rng)
            result = _make_result(opened, computed, options, deadline, spectra)
        except KeyboardInterrupt:
            if not keep_partial:
                raise
            warn_of_rising_losses()
            walked.complete = False
            result = _make_result(opened, computed, options, -math.inf, spectra)
    if begun_at == max_rank or not walked.complete:
        return result
    above = replace(options, min_rank=begun_at + 1, engine=computed.whole.engine)
    walker = walker.renew(options=above, max_rank=max_rank, checkpoint=None, view=computed.whole)
    return replace(result, above=walker)


class ComputedPath(NamedTuple):
    """A path, and what it was computed on."""

    view: View  # X', with its compression if there is one
    whole: View  # the same, or a sample of its rows
    on: View  # the same, or only the leading directions of its compression
    walked: Walked
    sample: Sample | None = None


def _find_first_rank(
    view: View, spectra: Spectra | None, options: PathOptions, max_rank: int, *, given_rank: bool
) -> int:
    """Where a path begins: some ranks above the one that is given, or that from which on X is noise.

    Higher ranks fit noise. They are computed when ``path_`` is first read, from the compression of X or, with
    a loss that reads its entries, from a copy of it.
    """
    if options.loss.reads_entries:
        can_wait = view.in_memory and (given_rank or options.equilibrate)
    else:
        can_wait = options.uses_equilibrated
    if options.grid != "exact" or not can_wait or not isinstance(options.init, str):
        return max_rank
    rank = options.last_rank
    if given_rank:
        return min(rank + max(GIVEN_MARGIN, int(GIVEN_PART * rank)), max_rank)
    if spectra is None or not spectra.whitened.has_noise:
        return max_rank
    rank = max(rank, view.n_fixed + spectra.whitened.count_above())
    return min(rank + max(MARGIN, int(PART * rank)), max_rank)


def _walk_sample(
    walker: Walker, max_rank: int, spectra: Spectra | None, sketch: np.random.Generator,
    rng: np.random.Generator, *, keep_partial: bool,
) -> ComputedPath | None:  # fmt: skip
    """Walk on a sample of the rows of X' that shows all that a rank leaves of it; None: only all rows do."""
    view, options = walker.view, walker.options
    leading = spectra.leading if spectra else lead(view.scaled, max_rank, rng)
    rank = min(spectra.whitened.count_above(), HIGH_RANK) if spectra else options.min_rank
    sample: Sample | None = draw_sample(view.scaled, leading, rng)
    while sample is not None:
        begun = walker.renew(view=compress_view(sample.view, options, max_rank, sketch))
        while (walked := begun.walk_all(keep_partial=keep_partial)).unreliable:
            begun = begun.renew(view=begun.view.direct())
        solutions = walked.solutions()
        if not solutions:
            return None
        V = min(solutions, key=lambda solution: abs(solution.rank - rank)).V
        if sample.shows_all(V):
            return ComputedPath(view, begun.view, begun.on, walked, sample)
        sample = sample.enlarge(V, rng)
    return None


def _lags_at_noise(computed: ComputedPath, spectra: Spectra) -> bool:
    """Whether components lag behind directions where noise begins: it may take many more components."""
    losses = {solution.rank: solution.loss for solution in computed.walked.solutions()}
    count, n_fixed = spectra.whitened.count_above(), computed.view.n_fixed
    rank = max(n_fixed + count, 1)
    if not {rank, rank + 1} <= losses.keys():
        return False
    squares = _loss_unit(computed.on, spectra) * np.pad(spectra.of_Y, (0, rank))
    return _lags(losses[rank] - losses[rank + 1], squares, rank - n_fixed)


def _loss_unit(view: View, spectra: Spectra) -> float:
    """What squared singular values, as fractions of ‖Y‖², are multiplied by to be compared with losses."""
    if view.loss.equilibrates:
        return view.energy
    return view.energy / max(1.0 - spectra.first, EXACT)  # the loss of rank one is a fraction 1 - σ₁² of it


def find_known(opened: OpenedData, options: PathOptions) -> Array | None:
    """The known components in the units of the opened data, as columns."""
    if options.fixed_components is None:
        return None
    rows = np.asarray(options.fixed_components, dtype=np.float64)
    return np.asarray(scale_rows(rows.T, 1.0 / opened.scaling.b))


def warn_of_rising_losses() -> None:
    """Say that the path ended before its losses were made monotone."""
    warn("interrupted: losses may rise with the rank", RuntimeWarning)


def project_rows(X: Any, V: Array, beta_loss: str | float = "frobenius") -> Array:
    """U ≥ 0 minimising the loss for given rows of X, which are checked."""
    return np.asarray(find_loss(beta_loss).project(as_rows(X), V).W)


def _find_spectra(
    view: View, solutions: list[Solution], rank: int, rng: np.random.Generator,
    whitened: WhitenedSpectrum | None = None,
) -> Spectra:  # fmt: skip
    """The spectra of X, from its leading directions for components up to a rank.

    Missing entries are those of a solution. One with too many components has fitted noise, and fills in
    patterns of its own: of all completions by fewer components than directions are found, the last with the
    fewest directions is taken.
    """
    found: list[Spectra] = []
    for solution in [None] if view.scaled.complete else solutions:
        filled = view.scaled if solution is None else view.scaled.completed_at(solution.U, solution.V)
        Y, leading, known = view.lead(filled, rank, rng)
        of_Y, drops = find_spectrum(leading, Y), np.zeros(0)
        first = float(of_Y[0])
        if view.n_fixed:
            of_Y = find_spectrum(project_out(leading, known), Y)
            drops = measure_known(Y, leading, known)
        L = None if view.compressed is None else view.compressed.L
        found.append(Spectra(leading, first, of_Y, whitened or whiten(Y, leading, known, L), drops))
        fewest = min(spectra.whitened.count_above() for spectra in found)
        if solution and fewest + view.n_fixed <= solution.rank:
            break
    return min(reversed(found), key=lambda one: one.whitened.count_above())


def _make_result(
    opened: OpenedData, computed: ComputedPath, options: PathOptions, deadline: float, spectra: Spectra | None
) -> SearchResult:
    """The path of X from the solutions of the view, with what was seen there as evidence for a rule."""
    view, whole, on, walked, sample = computed
    solutions, evidence = walked.solutions(), None
    if spectra is not None:
        _, _, spectrum, whitened, known_drops = spectra
        if sample is not None:
            spectrum = find_spectrum(lead_tall(whole.scaled, len(spectrum)).R, whole.scaled)
        unit = _loss_unit(on, spectra)
        complete, n_fixed = view.scaled.complete, view.n_fixed
        if n_fixed:
            spectrum = np.append(1.0 - view.smallest[2] / (unit or 1.0), spectrum)
        if complete and options.grid == "exact" and time.monotonic() < deadline:
            first = n_fixed + whitened.count_above()
            solutions = _leave_poor_minima(solutions, first, on, options)
            solutions = _iterate_where_noise_begins(solutions, first, unit * spectrum, on, options)
        losses = np.array([solution.loss for solution in solutions]) / (unit or 1.0)
        if complete and solutions[0].rank == max(n_fixed, 1):
            losses[0] = 1.0 - spectrum[0]  # to the last digit
        ranks = np.array([solution.rank for solution in solutions])
        evidence = Evidence(
            opened.data.shape, ranks, losses, spectrum, whitened, walked.complete, complete, n_fixed,
            known_drops,
        )  # fmt: skip
    plain, weighted = view, None
    plateaus = options.loss is FROBENIUS and (options.uses_equilibrated or opened.keeps_rows_remote)
    if sample is not None:
        solutions = [solution._replace(U=None) for solution in solutions]  # all rows are projected later
    if view.scaling.is_uniform:
        visits = tuple(_in_units_of_X(visit, view) for visit in walked.sorted_visits())
    else:
        plain, visits = prepare_like(view, options), _join_visits(walked, solutions)
        weighted = None if options.uses_equilibrated else view
    path = RankPath(
        points=(),  # still to be made
        visits=visits,
        shape=opened.data.shape,
        squared_norm=opened.data.squared_norm(),
        rank_one_loss=plain.rank_one[2] * plain.loss_unit,
        energy=plain.energy * plain.loss_unit,
        mu=options.mu * plain.scaling.unit,
        delta=options.delta * plain.scaling.unit,
        complete=walked.complete,
        settings=options.settings() | {"engine": plain.engine, "weighted": opened.weighted},
        evidence=evidence,
        n_known=view.n_fixed,
    )
    unscaler = Unscaler(plain, view.scaling, options.mu, deadline, sample is not None)
    known = None if options.fixed_components is None else options.fixed_components.T
    return SearchResult(opened, path, unscaler, [*solutions], plateaus, weighted, known, sample)


def _leave_poor_minima(
    solutions: list[Solution], last: int, view: View, options: PathOptions
) -> list[Solution]:
    """The solutions with others in place of those that waste a component, up to a rank.

    A merger may spare two components for what one could explain, and lose another. All ranks below then waste
    a component, down to one that hardly lowers the loss while the next one does. Each of them is replaced by
    the rank above without the component that it needs least, or by the rank below with one more.
    """
    better = {solution.rank: solution for solution in solutions}
    for rank in range(2, min(last, HIGH_RANK) + 1):
        for start, step in ((rank + 1, "drop"), (rank - 1, "grow")):
            if not {rank - 1, rank, rank + 1} <= better.keys():
                break
            drop, next_drop = (better[k - 1].loss - better[k].loss for k in (rank, rank + 1))
            if drop >= POOR * next_drop or next_drop < MATTERS * better[rank].loss:
                break
            better[rank] = _iterate(better[rank], better[start], step, view, options, REPAIR_ITERATIONS)
    return list(better.values())


def _iterate_where_noise_begins(
    solutions: list[Solution], rank: int, squares: Array, view: View, options: PathOptions
) -> list[Solution]:
    """The solutions with more iterations from the rank beyond which X is noise on, as long as they lag.

    A solution lags if the next component lowers the loss by more than the next direction could, which is what
    ``squares`` say: either so many components cannot do what as many directions do, or the iteration ended
    too early. The rule has to know which. Known components count as the first square.
    """
    better = {solution.rank: solution for solution in solutions}
    squares = np.pad(squares, (0, solutions[-1].rank))
    before = max(view.n_fixed - 1, 0)

    def lags(rank: int) -> bool:
        return _lags(better[rank].loss - better[rank + 1].loss, squares, rank - before)

    while {rank, rank + 1} <= better.keys() and rank - before < HIGH_RANK and lags(rank):
        better[rank] = _iterate(better[rank], better[rank], "here", view, options)
        if lags(rank):  # it may be a poor local minimum: come from either side
            better[rank] = _iterate(better[rank], better[rank + 1], "merge", view, options)
        if rank - 1 in better and lags(rank):
            better[rank] = _iterate(better[rank], better[rank - 1], "grow", view, options)
        rank += 1
    return list(better.values())


def _lags(drop: float, squares: Array, rank: int) -> bool:
    """Whether a component beyond so many directions lowers the loss by more than the next one could."""
    return bool(drop > LAGS * squares[rank] + NEGLIGIBLE * squares.sum())


def _iterate(
    known: Solution, start: Solution, step: str, view: View, options: PathOptions,
    max_iter: int = MORE_ITERATIONS,
) -> Solution:  # fmt: skip
    """A solution of the same rank by iterations from another one, or the known one if that is better.

    It starts ``here``, with the cheapest ``merge`` of a solution with one component more, with the component
    to ``drop`` from it that is needed least, or with one to ``grow`` on a solution with one less.
    """
    solver, posed = options.make_solver(long=True), view.pose(mu=options.mu, delta=options.delta)
    U, V = (as_factor(factor, view.matrix.dtype) for factor in (start.U, start.V))
    if step == "drop":
        others = (np.arange(start.rank) != gone for gone in range(view.n_fixed, start.rank))
        fewer = (solver.init(posed, take_columns(U, keep), take_columns(V, keep)) for keep in others)
        state = min(map(solver.step, fewer), key=lambda state: state.precise_loss.value)
    else:
        state = solver.init(posed, U, V)
    stopping = Stopping(options.tol, max_iter=max_iter, rank_window=max_iter, progress=PROGRESS)
    if step in ("merge", "grow"):
        state = run(solver, state, stopping).state.balance().compact()
        state = state.merge() if step == "merge" else state.grow()
    state = run(solver, state, stopping).state.balance().compact()
    if state.rank != known.rank:
        return known
    loss = view.evaluate(state.U, state.V)
    return known._replace(U=state.U, V=state.V, loss=loss) if loss < known.loss else known


def _in_units_of_X(visit: Visit, view: View) -> Visit:
    square = view.scaling.unit**2
    return visit._replace(
        lam=visit.lam * square, loss=visit.loss * view.loss_unit, next_lam=visit.next_lam * square
    )


def _join_visits(walked: Walked, solutions: list[Solution]) -> tuple[Visit, ...]:
    """One visit per rank, with the iterations of all initial points; λ and losses of X are found later."""
    by_rank: dict[int, list[Visit]] = {}
    for visit in walked.visits:
        by_rank.setdefault(visit.rank, []).append(visit)

    def join(here: list[Visit]) -> Visit:
        best = min(here, key=lambda visit: visit.loss)
        return best._replace(lam=0.0, next_lam=0.0, n_iter=sum(visit.n_iter for visit in here))

    return tuple(join(by_rank[solution.rank]) for solution in reversed(solutions))
