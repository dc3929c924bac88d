"""Plots as display objects: make one from arrays or from a result, then call ``plot(ax=None)``.

Displays take plain arrays, so nothing here imports a path, a rule or an estimator. They need matplotlib.
"""

from autonmf.plotting.components import ComponentsDisplay
from autonmf.plotting.displays import AgreementDisplay, PathDisplay, RankDisplay
from autonmf.plotting.stability import StabilityDisplay
from autonmf.plotting.style import branch_colors
from autonmf.plotting.tree import TreeDisplay
from autonmf.plotting.unmixing import UnmixingDisplay

__all__ = [
    "AgreementDisplay",
    "ComponentsDisplay",
    "PathDisplay",
    "RankDisplay",
    "StabilityDisplay",
    "TreeDisplay",
    "UnmixingDisplay",
    "branch_colors",
]
