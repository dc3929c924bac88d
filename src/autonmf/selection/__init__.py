"""From the evidence of a path to a rank."""

from autonmf.selection.confirmed import choose_rank
from autonmf.selection.estimate import RankEstimate
from autonmf.selection.rules import RULES, select_rank

__all__ = ["RULES", "RankEstimate", "choose_rank", "select_rank"]
