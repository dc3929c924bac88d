"""The components of one rank, in the form that their field reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from autonmf._types import Array
from autonmf.plotting.forms import Templates
from autonmf.plotting.forms.templates import FLOOR
from autonmf.plotting.terms import scores_of, top_of
from autonmf.plotting.tiles import as_picture
from autonmf.report.picture import curve, picture
from autonmf.report.reading import Reading
from autonmf.report.subject import Factors

MOST_SAMPLES = 3
"""Named samples that are shown with a component."""


class Detail(NamedTuple):
    """How much of a component is kept."""

    name: str
    pixels: int
    points: int


FULL, SMALL = Detail("full", 128 * 128, 512), Detail("small", 32 * 32, 96)


class Term(NamedTuple):
    """A feature that stands for a component, and its score relative to the first one's."""

    name: str
    score: float


@dataclass(frozen=True)
class ComponentView:
    """What the page shows of a component."""

    share: float | None  # of the sum of the energies ‖U_j‖²‖V_j‖²
    like: int | None  # the component at the model's own rank that is most alike, from 1; each at most once
    likeness: float | None  # their cosine
    image: str | None = None
    curve: str | None = None
    peak: float | None = None  # where the curve has its maximum
    map: str | None = None  # the component's share of each sample
    map_top: float | None = None
    map_mean: float | None = None
    amounts: str | None = None  # the weights times the component's maximum, in the units of X
    amounts_top: float | None = None
    activity: str | None = None  # weights along the samples
    by_weight: tuple[Term, ...] | None = None
    by_specificity: tuple[Term, ...] | None = None
    samples: tuple[str, ...] | None = None  # where the component is strongest


def components_of(
    factors: Factors, reading: Reading, reference: Array, detail: Detail
) -> list[ComponentView]:
    """Every component at one rank; ``reference`` are the columns V at the model's own rank."""
    shares = shares_of(factors)
    kin = likeness(factors.V, reference)
    forms = _forms(factors, reading, detail)
    return [
        ComponentView(share, *alike, **form, samples=_strongest(factors.U, index, reading))  # type: ignore[arg-type]
        for index, (share, alike, form) in enumerate(zip(shares, kin, forms, strict=True))
    ]


def shares_of(factors: Factors) -> list[float | None]:
    """Each component's share of the sum of all energies; None where the weights are not known."""
    if factors.U is None:
        return [None] * factors.V.shape[1]
    energies = np.square(factors.U, dtype=float).sum(axis=0) * np.square(factors.V, dtype=float).sum(axis=0)
    total = energies.sum()
    return [float(energy / total) if total > 0 else 0.0 for energy in energies]


def likeness(V: Array, reference: Array) -> list[tuple[int | None, float | None]]:
    """For each column of V the column of the reference that it is matched with, from 1, and their cosine."""
    cosines = _unit(V).T @ _unit(reference)
    found: list[tuple[int | None, float | None]] = [(None, None)] * V.shape[1]
    for ours, theirs in zip(*linear_sum_assignment(-cosines), strict=True):
        found[ours] = (int(theirs) + 1, float(cosines[ours, theirs]))
    return found


def _unit(V: Array) -> Array:
    norms = np.linalg.norm(np.asarray(V, dtype=float), axis=0)
    return np.asarray(V / np.where(norms > 0, norms, 1.0))


def _forms(factors: Factors, reading: Reading, detail: Detail) -> Iterator[dict[str, object]]:
    H = np.asarray(factors.V.T, dtype=float)
    if reading.kind == "image":
        assert reading.image_shape is not None
        for row in H:
            yield {"image": picture(as_picture(row, reading.image_shape, reading.order), detail.pixels)}
    elif reading.kind == "words":
        scores = {by: scores_of(H, by) for by in ("weight", "specificity")}
        for index in range(len(H)):
            yield {f"by_{by}": _terms(scores[by][index], reading) for by in scores}
    else:
        yield from _curves(H, factors.U, reading, detail)


def _curves(H: Array, U: Array | None, reading: Reading, detail: Detail) -> Iterator[dict[str, object]]:
    assert reading.axis is not None
    shares = None if U is None or reading.map_shape is None else sample_shares(U, H)
    heights = H
    if reading.kind == "template":
        heights = 1.0 - Templates(H, reading.axis).decibels / FLOOR
    for index, (row, height) in enumerate(zip(H, heights, strict=True)):
        form: dict[str, object] = {
            "curve": curve(height, detail.points),
            "peak": float(reading.axis[np.argmax(row)]),
        }
        if U is not None and shares is not None:
            form |= _maps(shares[:, index], U[:, index] * row.max(), reading, detail)
        elif U is not None and reading.kind == "template":
            form["activity"] = curve(U[:, index], detail.points)
        yield form


def sample_shares(U: Array, H: Array) -> Array:
    """What each component makes up of the sum of a sample's fitted values: rows of U that add up to one.

    These are the abundances of spectral unmixing. Unlike the weights they do not depend on how bright a
    sample is, so that a dark material (water) stands out where it is alone.
    """
    parts = np.asarray(U, dtype=float) * H.sum(axis=1)
    totals = parts.sum(axis=1, keepdims=True)
    return np.asarray(parts / np.where(totals > 0, totals, 1.0))


def _maps(shares: Array, amounts: Array, reading: Reading, detail: Detail) -> dict[str, object]:
    assert reading.map_shape is not None
    map_of, amounts_of = (as_picture(v, reading.map_shape, reading.order) for v in (shares, amounts))
    return {
        "map": picture(map_of, detail.pixels),
        "map_top": float(shares.max()),
        "map_mean": float(shares.mean()),
        "amounts": picture(amounts_of, detail.pixels),
        "amounts_top": float(amounts.max()),
    }


def _terms(scores: Array, reading: Reading) -> tuple[Term, ...]:
    top = top_of(scores, reading.n_top)
    return tuple(Term(reading.feature(i), round(float(scores[i] / scores[top[0]]), 3)) for i in top)


def _strongest(U: Array | None, index: int, reading: Reading) -> tuple[str, ...] | None:
    if U is None or reading.sample_names is None:
        return None
    return tuple(reading.sample(i) for i in top_of(U[:, index], MOST_SAMPLES))
