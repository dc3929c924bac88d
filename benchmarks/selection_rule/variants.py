"""The rule as it is, and what it would be with less: an ablation is a name and a function to features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from autonmf.path import Evidence
from autonmf.selection import features as module
from autonmf.selection.features import NO_STEP, Features, features_of

NOTHING = {"step": np.log10(NO_STEP), "bend": 0.0, "remainder": 1.0, "before": 1.0}
"""What a feature is where it says nothing: the same at every rank."""

LARGEST_TAU = 5.0  # the paper's two thresholds are 2, which is NO_STEP, and 5


@dataclass(frozen=True)
class Variant:
    """How the rule reads a matrix."""

    features: Callable[[Evidence], Features] = features_of
    evened: bool = True  # from the path of the evened copy, or from that of X alone


def without(*names: str) -> Variant:
    """The rule with some features silenced, for rank one too, which looks at the steps of the others."""

    def features(evidence: Evidence) -> Features:
        found = features_of(evidence)
        silent: dict[str, Any] = {name: np.full_like(found.step, NOTHING[name]) for name in names}
        return found._replace(**silent)

    return Variant(features)


def only(name: str) -> Variant:
    return without(*(other for other in NOTHING if other != name))


def step_of_Y(evidence: Evidence) -> Features:
    """The step on Y, between the paper's two thresholds, instead of that on X."""
    Y_alone = replace(evidence, losses_of_X=evidence.losses, spectrum_of_X=evidence.spectrum)
    step = np.minimum(features_of(Y_alone).step, np.log10(LARGEST_TAU))
    return features_of(evidence)._replace(step=step)


def without_floor(evidence: Evidence) -> Features:
    with patch.object(module, "FLOOR", 0.0):
        return features_of(evidence)


AS_IT_IS = "all four features"
VARIANTS = {
    AS_IT_IS: Variant(),
    "without step": without("step"),
    "without bend": without("bend"),
    "without remainder after": without("remainder"),
    "without remainder before": without("before"),
    "only step": only("step"),
    "only bend": only("bend"),
    "step of Y, between 2 and 5": Variant(step_of_Y),
    "X alone, not evened": Variant(evened=False),
    "no floor": Variant(without_floor),
}
