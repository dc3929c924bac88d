"""`Contents`: everything that the page shows, as data for JSON, and the fit at every rank."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Block, Data, sums_of_squares
from autonmf.plotting.presentation import Presentation, as_picture
from autonmf.report.components import (
    FULL,
    SMALL,
    Detail,
    describe_form,
    encode_picture,
    match_components,
    place_in_tree,
    view_components,
    view_intervals,
    view_materials,
)
from autonmf.report.evidence import (
    LOSS_WORDS,
    Answer,
    Evidence,
    build_answer,
    build_evidence,
    describe_rank,
)
from autonmf.report.health import Health, check_health, unknown_health
from autonmf.report.result import Recipe, Result
from autonmf.report.samples import Samples, pack_tables
from autonmf.report.wording import percent, percents
from autonmf.solvers import HIGH_RANK
from autonmf.unmixing import Unmixing

IN_FULL = 0.7
"""Fraction of the space for components that full detail may use."""

IN_TABLES = 0.35
"""Fraction of all space that W and H may use."""

TREE_ROWS = 12
"""The tree ends at this rank, or two above the largest plausible one up to `HIGH_RANK`."""


@dataclass(frozen=True)
class Contents:
    """One report."""

    title: str
    shape: tuple[int, int]
    rank: int  # shown first
    chosen: int | None  # by the rule
    rule: str | None
    plausible: tuple[int, ...]
    answer: Answer
    form: dict[str, Any]  # how components are drawn
    evidence: Evidence
    loss: dict[str, str]  # how the loss is called
    samples: dict[str, Any]  # those that are shown, and their groups
    stability: dict[str, Any] | None  # of the components of the model and by rank, intervals of loadings
    tables: dict[str, Any]  # W and H of the model
    tree: int  # the largest rank in the picture of the tree
    left_out: tuple[int, int] | None  # the largest rank on the page and on the path, if they differ
    views: tuple[dict[str, Any], ...]  # the page at each rank
    health: Health
    recipe: Recipe
    materials: list[dict[str, Any]] | None = None  # if X was unmixed

    def as_json(self) -> str:
        """JSON without white space and without members that are None."""
        return compact(asdict(self))


def build_contents(
    result: Result,
    presentation: Presentation,
    recipe: Recipe,
    title: str,
    max_bytes: int,
    unmixing: Unmixing | None = None,
) -> Contents:
    """Everything about a result; components, materials, samples and tables take at most ``max_bytes``.

    Ranks for whose components there is no space are not on the page.
    """
    materials = None if unmixing is None else view_materials(unmixing, presentation)
    stability = _describe_stability(result, presentation)
    max_bytes -= len(compact(materials)) + len(compact(stability))
    fits, evidence = compute_fits(result, presentation), build_evidence(result)
    final = result.factors(result.rank)
    samples, tree = Samples(presentation, result.path.shape[0]), place_in_tree(result)
    tables = pack_tables(final, presentation, int(IN_TABLES * max_bytes))

    power = 2 if result.path.beta_loss == "frobenius" else 1

    def show(rank: int, detail: Detail) -> dict[str, Any]:
        factors, places = result.factors(rank), tree.get(rank, [{}] * rank)
        components = view_components(
            factors,
            presentation,
            final.V,
            detail,
            power=power,
            n_known=result.path.n_known,
            known_names=result.known_names,
        )
        return {
            "detail": detail.name,
            "components": [one | place for one, place in zip(components, places, strict=True)],
            "residual": fits[rank].residual.get(detail.name),
            "residual_top": fits[rank].residual_top,
            **samples.view(factors),
        }

    shown = fill_space(max_bytes - len(compact(tables)), result.ranks_by_distance, show)
    shown.setdefault(result.rank, show(result.rank, SMALL))
    estimate, known = result.estimate, (result.path.shape, result.path.squared_norm)
    ranks = sorted(shown)
    plausible = () if estimate is None else estimate.plausible
    likely = max([result.rank, *(rank for rank in plausible if rank <= HIGH_RANK)])
    return Contents(
        title=title,
        shape=result.path.shape,
        rank=result.rank,
        chosen=None if estimate is None else estimate.rank,
        rule=None if estimate is None else estimate.rule,
        plausible=() if estimate is None else estimate.plausible,
        answer=build_answer(
            result, {rank: fit.unexplained for rank, fit in fits.items()}, evidence, ranks=ranks
        ),
        form=describe_form(presentation),
        evidence=evidence,
        loss=LOSS_WORDS[result.path.beta_loss],
        samples=samples.describe(),
        stability=stability,
        tables=tables,
        tree=max((rank for rank in ranks if rank <= max(TREE_ROWS, likely + 2)), default=ranks[-1]),
        left_out=None if ranks[-1] == result.ranks[-1] else (ranks[-1], result.ranks[-1]),
        views=tuple(_view_rank(result, rank, fits[rank], evidence) | shown[rank] for rank in ranks),
        health=unknown_health(*known)
        if result.data is None
        else check_health(result.data, result.path.beta_loss),
        recipe=recipe,
        materials=materials,
    )


def fill_space(
    max_bytes: int, ranks: Iterable[int], build: Callable[[int, Detail], dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Build each rank in full detail, then in small, then not at all, as long as the space lasts."""
    found: dict[int, dict[str, Any]] = {}
    details, used = [FULL, SMALL], 0
    for rank in ranks:
        while details:
            built = build(rank, details[0])
            size = len(compact(built))
            if used + size <= (IN_FULL if details[0] is FULL else 1.0) * max_bytes:
                found[rank], used = built, used + size
                break
            details.pop(0)
    return found


def compact(value: Any) -> str:
    """JSON without white space; members that are None are left out."""
    return json.dumps(_drop_none(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _drop_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_drop_none(item) for item in value]
    return value


def _view_rank(result: Result, rank: int, fit: Fit, evidence: Evidence) -> dict[str, Any]:
    """The page at one rank, without its components."""
    probabilities = evidence.column("probability") if rank in evidence.ranks else None
    polished = result.factors(rank).polished
    rough, fine = percents([fit.unexplained, result.polished_loss])
    return {
        "rank": rank,
        "polished": polished,
        "explained_words": percent(1.0 - fit.unexplained),
        "unexplained_words": percent(fit.unexplained),
        "polish_words": f"from {rough} to {fine}" if polished and rough != fine else None,
        "unexplained": fit.unexplained,
        "added_words": None if fit.added is None else percent(fit.added),
        "probability_words": probabilities.words[evidence.ranks.index(rank)] if probabilities else None,
        "sentence": describe_rank(evidence, rank),
        "samples": fit.samples,
        "detail": None,
    }


def _describe_stability(result: Result, presentation: Presentation) -> dict[str, Any] | None:
    """The stability of each component of the model, by rank, and the intervals of the loadings.

    Components are in the order of the page, which shows those of the path if the weights are unknown.
    """
    found = result.stability
    if found is None:
        return None
    matches = match_components(result.factors(result.rank).V, found.components.T)
    order = [match - 1 for match, _ in matches if match is not None]
    return {
        "resamples": found.n_resamples,
        "components": found.stability[order].round(3).tolist(),
        "interval": found.interval.T[order].round(3).tolist(),
        "loadings": [
            view_intervals(found.components[j], found.lower[j], found.upper[j], presentation) for j in order
        ],
        "ranks": found.ranks.tolist(),
        "mean": found.by_rank.round(3).tolist(),
        "lowest": found.lowest_by_rank.round(3).tolist(),
    }


MAX_WORK = 3e10
"""Multiply-adds spent on the fit of each sample; ranks close to that of the model come first."""

QUANTILES = 41
"""Number of points of the curve of the fits by sample."""

N_WORST = 5
"""Number of samples with the worst fit that are named."""


@dataclass(frozen=True)
class Fit:
    """The fit at one rank."""

    unexplained: float  # relative loss on the path, so that ranks compare
    added: float | None  # decrease of the relative loss from the next smaller rank of the path
    samples: dict[str, Any] | None = None  # how well each sample is fitted: see `_summarise`
    residual: Mapping[str, str] = field(default_factory=dict)  # map of ‖x_i - V u_i‖, by detail
    residual_top: float | None = None  # its maximum


def compute_fits(result: Result, presentation: Presentation) -> dict[int, Fit]:
    """The fit at every rank."""
    path = dict(zip(result.path.ranks.tolist(), result.path.relative_losses.tolist(), strict=True))
    by_sample = dict(_fit_samples(result, presentation))
    found: dict[int, Fit] = {}
    previous: float | None = None
    for rank in result.ranks:
        left = path.get(rank)
        added = None if left is None or previous is None else previous - left
        found[rank] = Fit(result.relative_loss(rank), added, **by_sample.get(rank, {}))
        previous = previous if left is None else left
    return found


def _fit_samples(result: Result, presentation: Presentation) -> Iterator[tuple[int, dict[str, Any]]]:
    """The part of `Fit` that needs X, for as many ranks as the work allows."""
    if result.data is None:
        return
    energies = row_energies(result.data)
    work = 0.0
    for rank in result.ranks_by_distance:
        work += rank * result.data.cost
        if work > MAX_WORK and rank != result.rank:
            return
        U, V, _ = result.factors_on_path(rank)
        assert U is not None
        residuals = row_residuals(result.data, U, V, energies)
        found: dict[str, Any] = {}
        if result.path.beta_loss == "frobenius":  # squares say little about the fit of another loss
            found["samples"] = _summarise(energies, residuals, presentation)
        if presentation.map_shape is not None:
            roots = np.sqrt(residuals)
            picture = as_picture(roots, presentation.map_shape, presentation.order)
            found["residual"] = {each.name: encode_picture(picture, each.pixels) for each in (FULL, SMALL)}
            found["residual_top"] = float(roots.max())
        yield rank, found


def _summarise(energies: Array, residuals: Array, presentation: Presentation) -> dict[str, Any]:
    """The explained fraction of the squared norm of each sample, over the samples that are not zero."""
    some = np.flatnonzero(energies > 0)
    lost = np.clip(residuals[some] / energies[some], 0.0, 1.0)
    explained = 1.0 - lost
    quantiles = np.quantile(lost, np.linspace(1.0, 0.0, QUANTILES))
    worst = np.argsort(explained, kind="stable")[:N_WORST]
    low, median = np.quantile(explained, (0.05, 0.5))
    return {
        "quantiles": [
            float(f"{value:.4g}") for value in quantiles
        ],  # unexplained, from the worst to the best
        "low": float(low),
        "median": float(median),
        "worst": [(presentation.sample(int(some[i])), float(explained[i])) for i in worst],
    }


def row_energies(data: Data) -> Array:
    """‖x_i‖² of every sample."""
    return np.asarray(sums_of_squares(data)[0])[:, 0]


def row_residuals(data: Data, U: Array, V: Array, energies: Array) -> Array:
    """‖x_i - V u_i‖² of every sample, given ‖x_i‖²."""
    U, V = (np.asarray(factor, dtype=float) for factor in (U, V))
    if not data.complete:
        return np.asarray(data.map_blocks(_square_residuals, U, V)[0])[:, 0]
    with one_pool():
        products = np.asarray(data.right(np.asfortranarray(V, dtype=data.dtype)), dtype=float)
        crossed = np.einsum("ij,ij->i", U, products)
        fitted = np.einsum("ij,ij->i", U @ (V.T @ V), U)
    return np.asarray(np.maximum(energies - 2.0 * crossed + fitted, 0.0))


def _square_residuals(block: Block, U: Array, V: Array) -> tuple[Array, None]:
    return np.square(block.residual(U, V)).sum(axis=1, keepdims=True), None
