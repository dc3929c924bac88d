"""`ComponentStability`: how much each component changes when X is drawn again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf._types import Array

INTERVAL = (0.05, 0.95)
"""Quantiles over the resamples between which intervals lie."""


@dataclass(frozen=True, eq=False)
class ComponentStability:
    """How well each component is found again in resamples of X.

    A stability is the median over the resamples of the cosine between the loadings of a component (row of H)
    and those of its match.
    """

    cosines: Array  # n_resamples x r, of each component at the rank of the model
    components: Array  # r x m, the components of the model
    lower: Array  # r x m, 5 % quantile of each loading, with matched components of equal norm
    upper: Array  # r x m, 95 % quantile
    ranks: Array  # of the curve: 1 up to a bound above the rank of the model
    by_rank: Array  # the median stability of the components at each of `ranks`
    method: str  # "bootstrap" of samples, or "thinning" of counts

    @property
    def rank(self) -> int:
        return len(self.components)

    @property
    def n_resamples(self) -> int:
        return len(self.cosines)

    @property
    def stability(self) -> Array:
        """The median cosine of each component over the resamples."""
        return np.asarray(np.median(self.cosines, axis=0))

    @property
    def interval(self) -> Array:
        """The 5 % and 95 % quantiles of the cosines of each component (2 x r)."""
        return np.asarray(np.quantile(self.cosines, INTERVAL, axis=0))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the stabilities and return their display; ``options`` are those of `StabilityDisplay.plot`."""
        from autonmf.plotting import StabilityDisplay

        return StabilityDisplay.from_stability(self).plot(ax, **options)
