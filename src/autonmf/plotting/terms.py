"""What stands for a component: the features that score highest in it."""

from __future__ import annotations

import numpy as np

from autonmf._types import Array

TOP_BY = ("weight", "specificity")


def scores_of(components: Array, top_by: str) -> Array:
    """What decides which features come first in each component (r x m).

    The weight, or weight times specificity: the component's share of the feature, over all components at
    unit norm.
    """
    if top_by == "weight":
        return components
    norms = np.linalg.norm(components, axis=1, keepdims=True)
    unit = components / np.where(norms > 0, norms, 1.0)
    total = unit.sum(axis=0)
    return np.asarray(unit**2 / np.where(total > 0, total, 1.0))


def top_of(scores: Array, n_top: int) -> Array:
    """The features of one component that score highest, the highest first; without those of score zero."""
    least = np.partition(scores, -n_top)[-n_top] if n_top < len(scores) else 0.0
    some = np.flatnonzero((scores >= least) & (scores > 0))
    return np.asarray(some[np.argsort(-scores[some], kind="stable")[:n_top]])
