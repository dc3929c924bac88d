"""`Contents`: everything that the page shows, as data that JSON can hold, without any HTML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from autonmf._types import Array
from autonmf.report.answer import Answer, answer_of
from autonmf.report.components import FULL, SMALL, ComponentView, Detail, components_of
from autonmf.report.evidence import Evidence, evidence_of, sentence
from autonmf.report.fit import Fit, SampleFit, fits
from autonmf.report.health import Health, health_of, health_unseen
from autonmf.report.picture import block_side, thinned_axis
from autonmf.report.reading import Reading
from autonmf.report.recipe import Recipe
from autonmf.report.subject import Subject
from autonmf.report.wording import percent

IN_FULL = 0.7
"""The share of the space for components that full detail may take."""


@dataclass(frozen=True)
class RankView:
    """The page at one rank."""

    rank: int
    polished: bool
    explained_words: str
    on_path_words: str | None  # where it reads otherwise
    left: float  # unexplained, as the path left it
    added_words: str | None
    probability_words: str | None
    sentence: str
    samples: SampleFit | None
    detail: str | None  # of the components: "full", "small", or None where they are left out
    components: tuple[ComponentView, ...] = ()
    remainder: str | None = None  # the picture of what is left
    remainder_top: float | None = None


@dataclass(frozen=True)
class Form:
    """How components are drawn."""

    kind: str
    axis_label: str
    axes: dict[str, tuple[float, ...]]  # of curves, by detail
    map: bool
    shape: tuple[int, int] | None  # of a picture
    blocks: dict[str, int]  # pixels of a picture that became one, along a side, by detail
    thinned: dict[str, bool]  # whether curves have fewer points than features, by detail


@dataclass(frozen=True)
class Contents:
    """One report."""

    title: str
    shape: tuple[int, int]
    rank: int  # where the page opens
    chosen: int | None  # by the rule
    rule: str | None
    plausible: tuple[int, ...]
    answer: Answer
    form: Form
    evidence: Evidence
    views: tuple[RankView, ...]
    health: Health
    recipe: Recipe

    def as_json(self) -> str:
        """Without white space, and without what is None."""
        return compact(asdict(self))


def contents_of(subject: Subject, reading: Reading, recipe: Recipe, title: str, most_bytes: int) -> Contents:
    """Everything about a result; the components take ``most_bytes`` at most, of which the page tells."""
    fit, evidence = fits(subject, reading), evidence_of(subject)
    reference = subject.factors(subject.rank).V
    heavy = within(most_bytes, subject.by_interest, lambda rank, detail: _heavy(
        subject, reading, reference, fit[rank], rank, detail
    ))  # fmt: skip
    estimate = subject.estimate
    return Contents(
        title=title,
        shape=subject.path.shape,
        rank=subject.rank,
        chosen=None if estimate is None else estimate.rank,
        rule=None if estimate is None else estimate.rule,
        plausible=() if estimate is None else estimate.plausible,
        answer=answer_of(subject, fit, evidence),
        form=_form(reading),
        evidence=evidence,
        views=tuple(_view(subject, rank, fit[rank], evidence, heavy.get(rank, {})) for rank in subject.ranks),
        health=_health(subject),
        recipe=recipe,
    )


def within(
    most_bytes: int, ranks: Iterable[int], build: Callable[[int, Detail], dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """What ``build`` makes for each rank: in full, in small once full detail takes too much, then nothing."""
    found: dict[int, dict[str, Any]] = {}
    details, used = [FULL, SMALL], 0
    for rank in ranks:
        while details:
            built = build(rank, details[0])
            size = len(compact({**built, "components": [asdict(c) for c in built["components"]]}))
            if used + size <= (IN_FULL if details[0] is FULL else 1.0) * most_bytes:
                found[rank], used = built, used + size
                break
            details.pop(0)
    return found


def compact(value: Any) -> str:
    """JSON without white space; members that are None are left out."""
    return json.dumps(_without_none(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value


def _heavy(
    subject: Subject, reading: Reading, reference: Array, fit: Fit, rank: int, detail: Detail
) -> dict[str, Any]:
    left = fit.remainder
    return {
        "detail": detail.name,
        "components": tuple(components_of(subject.factors(rank), reading, reference, detail)),
        "remainder": None if left is None else left.pictures[detail.name],
        "remainder_top": None if left is None else left.top,
    }


def _view(subject: Subject, rank: int, fit: Fit, evidence: Evidence, heavy: dict[str, Any]) -> RankView:
    chances = evidence.column("probability") if rank in evidence.ranks else None
    shown, on_path = percent(fit.explained), percent(1.0 - fit.left)
    return RankView(
        rank=rank,
        polished=subject.factors(rank).polished,
        explained_words=shown,
        on_path_words=None if on_path == shown else on_path,
        left=fit.left,
        added_words=None if fit.added is None else percent(fit.added),
        probability_words=chances.words[evidence.ranks.index(rank)] if chances else None,
        sentence=sentence(evidence, rank),
        samples=fit.samples,
        **({"detail": None} | heavy),
    )


def _form(reading: Reading) -> Form:
    shape = reading.image_shape if reading.kind == "image" else reading.map_shape
    curves = reading.kind in ("spectrum", "template")
    details = (FULL, SMALL)
    axis = reading.axis
    assert axis is not None
    return Form(
        kind=reading.kind,
        axis_label=reading.axis_label,
        axes={d.name: tuple(thinned_axis(axis, d.points).round(6).tolist()) for d in details}
        if curves
        else {},
        map=curves and reading.map_shape is not None,
        shape=shape,
        blocks={d.name: block_side(shape, d.pixels) for d in details} if shape else {},
        thinned={d.name: len(axis) > d.points for d in details} if curves else {},
    )


def _health(subject: Subject) -> Health:
    if subject.data is None:
        return health_unseen(subject.path.shape, subject.path.squared_norm)
    return health_of(subject.data)
