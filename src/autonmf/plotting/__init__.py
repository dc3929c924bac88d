"""Plots as display objects: the data first, then ``plot(ax=None)``. They need matplotlib."""

from autonmf.plotting.agreement_display import AgreementDisplay
from autonmf.plotting.components_display import ComponentsDisplay
from autonmf.plotting.displays import display
from autonmf.plotting.path_display import PathDisplay
from autonmf.plotting.rank_display import RankDisplay

__all__ = ["AgreementDisplay", "ComponentsDisplay", "PathDisplay", "RankDisplay", "display"]
