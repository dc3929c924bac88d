"""Nonnegative matrix factorisation that finds the number of components by itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autonmf.compare import Comparison, compare_ranks
    from autonmf.estimator import AutoNMF
    from autonmf.path import ComponentTree, PathPoint, RankPath, rank_path
    from autonmf.selection import RankEstimate, UncertainRankWarning, select_rank
    from autonmf.stability import ComponentStability
    from autonmf.unmixing import Unmixing, unmix

__all__ = [
    "AutoNMF",
    "Comparison",
    "ComponentStability",
    "ComponentTree",
    "PathPoint",
    "RankEstimate",
    "RankPath",
    "UncertainRankWarning",
    "Unmixing",
    "__version__",
    "compare_ranks",
    "rank_path",
    "select_rank",
    "unmix",
]

_HOMES = {
    "AutoNMF": "autonmf.estimator",
    "Comparison": "autonmf.compare",
    "ComponentStability": "autonmf.stability",
    "ComponentTree": "autonmf.path",
    "PathPoint": "autonmf.path",
    "RankEstimate": "autonmf.selection",
    "RankPath": "autonmf.path",
    "UncertainRankWarning": "autonmf.selection",
    "Unmixing": "autonmf.unmixing",
    "compare_ranks": "autonmf.compare",
    "rank_path": "autonmf.path",
    "select_rank": "autonmf.selection",
    "unmix": "autonmf.unmixing",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `import autonmf` itself stays light."""
    if name == "__version__":
        from importlib.metadata import version

        return version("autonmf")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'autonmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
