"""Solutions along increasing λ: every rank from an upper bound down to one."""

from autonmf.path.confirm import confirm
from autonmf.path.evened import HARDLY_ITERATED, explore_evened
from autonmf.path.explore import Exploration, explore
from autonmf.path.follow import Progress
from autonmf.path.options import GRIDS, PathOptions, default_max_rank
from autonmf.path.plateaus import LatePath
from autonmf.path.polishing import Polished, polish
from autonmf.path.rescaling import Scales, rescaled
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit
from autonmf.path.resume import checkpointed
from autonmf.path.search import rank_path
from autonmf.path.workspace import ENGINES, Workspace

__all__ = [
    "ENGINES",
    "GRIDS",
    "HARDLY_ITERATED",
    "Evidence",
    "Exploration",
    "LatePath",
    "PathOptions",
    "PathPoint",
    "Polished",
    "Progress",
    "RankPath",
    "Scales",
    "Visit",
    "Workspace",
    "checkpointed",
    "confirm",
    "default_max_rank",
    "explore",
    "explore_evened",
    "polish",
    "rank_path",
    "rescaled",
]
