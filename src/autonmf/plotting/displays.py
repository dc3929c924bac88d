"""The display of a result, by what the result is."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from autonmf.compare import Comparison
from autonmf.path import RankPath
from autonmf.plotting.agreement_display import AgreementDisplay
from autonmf.plotting.path_display import PathDisplay
from autonmf.plotting.rank_display import RankDisplay
from autonmf.selection import RankEstimate


@singledispatch
def display(result: Any) -> Any:
    """The display that shows a `RankPath`, a `RankEstimate` or a `Comparison`; call its ``plot``."""
    raise TypeError(f"there is no display for {type(result).__name__}")


display.register(RankPath, PathDisplay.from_path)
display.register(RankEstimate, RankDisplay.from_estimate)
display.register(Comparison, AgreementDisplay.from_comparison)
