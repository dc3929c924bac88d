"""How well the components of each rank describe X, as a whole and sample by sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.blocks import row_blocks
from autonmf.plotting.tiles import as_picture
from autonmf.report.components import FULL, SMALL
from autonmf.report.picture import picture
from autonmf.report.reading import Reading
from autonmf.report.subject import Factors, Subject

MOST_WORK = 3e10
"""Multiply-adds spent on fits by sample; ranks near the model's own come first."""

QUANTILES = 41
"""Points of the curve of the samples' fits."""

WORST = 5
"""Samples that are named because they are described worst."""


@dataclass(frozen=True)
class SampleFit:
    """The share of a sample's squared norm that is explained, over the samples that are not zero."""

    quantiles: tuple[
        float, ...
    ]  # from the worst sample to the best, at even steps, of what is *not* explained
    low: float  # 5 % of the samples are below
    median: float
    worst: tuple[tuple[str, float], ...]  # the name of a sample, and its share


class Remainder(NamedTuple):
    """A picture of ‖x_i - V u_i‖ over the samples, by the name of its detail."""

    pictures: dict[str, str]
    top: float  # the largest


@dataclass(frozen=True)
class Fit:
    """The fit at one rank."""

    explained: float  # 1 - ‖X - UVᵀ‖²/‖X‖² of what is shown
    left: float  # what is not explained as the path left it, so that ranks compare; else of what is shown
    added: float | None  # what this rank explains more than the next smaller one, on the path
    samples: SampleFit | None = None
    remainder: Remainder | None = None


def fits(subject: Subject, reading: Reading) -> dict[int, Fit]:
    """The fit at every rank."""
    path = dict(_curve(subject))
    by_sample = dict(_by_sample(subject, reading))
    found: dict[int, Fit] = {}
    previous: float | None = None
    for rank in subject.ranks:
        shown, left = subject.relative_loss(rank), path.get(rank)
        added = None if left is None or previous is None else previous - left
        found[rank] = Fit(
            1.0 - shown, shown if left is None else left, added, *by_sample.get(rank, (None, None))
        )
        previous = previous if left is None else left
    return found


def _curve(subject: Subject) -> Iterator[tuple[int, float]]:
    return zip(subject.path.ranks.tolist(), subject.path.relative_losses.tolist(), strict=True)


def _by_sample(
    subject: Subject, reading: Reading
) -> Iterator[tuple[int, tuple[SampleFit, Remainder | None]]]:
    if subject.data is None:
        return
    squares = subject.data.squares(np.ones(subject.data.shape[1]))
    work = 0.0
    for rank in subject.by_interest:
        work += rank * subject.data.cost
        if work > MOST_WORK and rank != subject.rank:
            return
        left = residuals(subject.data, subject.factors(rank), squares)
        yield rank, (_sample_fit(squares, left, reading), _remainder(left, reading))


def residuals(data: Data, factors: Factors, squares: Array) -> Array:
    """‖x_i - V u_i‖² of every sample, given ‖x_i‖²."""
    assert factors.U is not None
    U, V = (np.asarray(factor, dtype=float) for factor in factors[:2])
    if not data.complete:
        blocks = row_blocks(data.shape)
        return np.concatenate([np.square(data.residual(U, V, b)).sum(axis=1) for b in blocks])
    with one_pool():
        products = np.asarray(data.right(np.asfortranarray(V, dtype=data.dtype)), dtype=float)
        crossed = np.einsum("ij,ij->i", U, products)
        fitted = np.einsum("ij,ij->i", U @ (V.T @ V), U)
    return np.asarray(np.maximum(squares - 2.0 * crossed + fitted, 0.0))


def _sample_fit(squares: Array, left: Array, reading: Reading) -> SampleFit:
    some = np.flatnonzero(squares > 0)
    lost = np.clip(left[some] / squares[some], 0.0, 1.0)
    shares = 1.0 - lost
    quantiles = np.quantile(lost, np.linspace(1.0, 0.0, QUANTILES))
    worst = np.argsort(shares, kind="stable")[:WORST]
    low, median = np.quantile(shares, (0.05, 0.5))
    return SampleFit(
        quantiles=tuple(float(f"{value:.4g}") for value in quantiles),
        low=float(low),
        median=float(median),
        worst=tuple((reading.sample(int(some[i])), float(shares[i])) for i in worst),
    )


def _remainder(left: Array, reading: Reading) -> Remainder | None:
    if reading.map_shape is None:
        return None
    roots = np.sqrt(left)
    drawn = as_picture(roots, reading.map_shape, reading.order)
    return Remainder(
        {detail.name: picture(drawn, detail.pixels) for detail in (FULL, SMALL)}, float(roots.max())
    )
