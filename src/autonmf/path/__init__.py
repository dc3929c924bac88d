"""Solutions along increasing λ: every rank from an upper bound down to one."""

from autonmf.path.polish import polish
from autonmf.path.result import PathPoint, RankPath, Visit
from autonmf.path.search import GRIDS, Progress, default_max_rank, rank_path

__all__ = [
    "GRIDS",
    "PathPoint",
    "Progress",
    "RankPath",
    "Visit",
    "default_max_rank",
    "polish",
    "rank_path",
]
