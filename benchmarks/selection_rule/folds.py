"""Weights fitted without a family, and the answers with these on that family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from logit import Choice, fit
from samples import Sample
from variants import Variant

from autonmf._types import Array
from autonmf.selection.automatic import columns_of, plausible_of, probabilities_of
from autonmf.selection.features import Features

SURE = 0.9


class View(NamedTuple):
    """A sample as a variant of the rule reads it."""

    sample: Sample
    features: Features
    visited: Array

    @classmethod
    def of(cls, sample: Sample, variant: Variant) -> View:
        evidence = sample.evened if variant.evened else sample.plain
        return cls(sample, variant.features(evidence), evidence.ranks)


class Answer(NamedTuple):
    """What the rule says of a sample."""

    sample: Sample
    rank: int
    confidence: float
    plausible: tuple[int, ...]

    @property
    def missed_by(self) -> int:
        return abs(self.rank - self.sample.truth)


def weights_of(views: Sequence[View]) -> Array:
    """Fit the weights: the ranks from two on are the candidates, and each family counts the same."""
    fitted = [view for view in views if view.sample.truth > 1]
    size = Counter(view.sample.kind for view in fitted)
    return fit(
        [
            Choice(columns_of(view.features)[1:], view.sample.truth - 2, 1.0 / size[view.sample.kind])
            for view in fitted
        ]
    )


def answer(view: View, weights: Array) -> Answer:
    """The default rule with other weights."""
    probabilities = probabilities_of(view.features, view.visited, weights.tolist())
    best = int(np.argmax(probabilities))
    return Answer(view.sample, best + 1, float(probabilities[best]), plausible_of(probabilities))


def leave_one_out(views: Sequence[View]) -> tuple[list[Answer], dict[str, Array]]:
    """The answers of every family with weights that the others gave, and these weights."""
    weights = {
        kind: weights_of([view for view in views if view.sample.kind != kind])
        for kind in dict.fromkeys(view.sample.kind for view in views)
    }
    return [answer(view, weights[view.sample.kind]) for view in views], weights


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """Shares of the answers; "sure" ones have a confidence of `SURE` at least."""
    sure = [a.missed_by == 0 for a in answers if a.confidence >= SURE]
    return {
        "matrices": len(answers),
        "exact": fmean(a.missed_by == 0 for a in answers),
        "within one": fmean(a.missed_by <= 1 for a in answers),
        "sure": len(sure) / len(answers),
        "exact if sure": fmean(sure) if sure else None,
        "covered": fmean(a.sample.truth in a.plausible for a in answers),
    }


def by_family(answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
    kinds = dict.fromkeys(a.sample.kind for a in answers)
    return {kind: figures([a for a in answers if a.sample.kind == kind]) for kind in kinds}


def calibration(answers: Sequence[Answer], parts: int = 10) -> list[dict[str, Any]]:
    """Tenths of the answers by increasing confidence, and how many of each are exact."""
    ordered = sorted(answers, key=lambda a: a.confidence)
    tenths = [[ordered[i] for i in part] for part in np.array_split(np.arange(len(ordered)), parts)]
    return [
        {
            "matrices": len(tenth),
            "from": tenth[0].confidence,
            "to": tenth[-1].confidence,
            "mean": fmean(a.confidence for a in tenth),
            "exact": fmean(a.missed_by == 0 for a in tenth),
        }
        for tenth in tenths
        if tenth
    ]
