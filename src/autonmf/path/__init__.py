"""Solutions at decreasing ranks, each started from the one before."""

from autonmf.path.checkpoint import Checkpoint, open_checkpoint
from autonmf.path.compute import rank_path
from autonmf.path.options import ENGINES, GRIDS, PathOptions, Progress, default_max_rank, find_loss
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit, format_intervals
from autonmf.path.search import SearchResult, find_known, project_rows, search
from autonmf.path.tree import ComponentTree, make_tree, select_levels
from autonmf.path.view import View, prepare

__all__ = [
    "ENGINES",
    "GRIDS",
    "Checkpoint",
    "ComponentTree",
    "Evidence",
    "PathOptions",
    "PathPoint",
    "Progress",
    "RankPath",
    "SearchResult",
    "View",
    "Visit",
    "default_max_rank",
    "find_known",
    "find_loss",
    "format_intervals",
    "make_tree",
    "open_checkpoint",
    "prepare",
    "project_rows",
    "rank_path",
    "search",
    "select_levels",
]
