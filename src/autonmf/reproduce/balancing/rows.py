"""The paths of Section VI-D by data set and solver."""

from __future__ import annotations

from typing import Any

from autonmf.reproduce.balancing.cells import SOLVERS
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.plateau import Plateau, plateau_of

Group = dict[str, list[dict[str, Any]]]


def groups_of(results: Results) -> dict[tuple[str, float], Group]:
    """Curves by data set and by solver, in the order of the seeds."""
    found: dict[tuple[str, float], Group] = {}
    for done in results:
        for curve in done.curves:
            group = found.setdefault((curve["data"], curve["noise"]), {})
            group.setdefault(curve["solver"], []).append(curve)
    return {key: group for key, group in found.items() if set(group) == set(SOLVERS)}


def plateaus_of(curves: list[dict[str, Any]]) -> list[Plateau]:
    """Those of the paths that have one."""
    return [plateau for curve in curves if (plateau := plateau_of(curve))]
