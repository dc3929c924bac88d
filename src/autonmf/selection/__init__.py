"""From the evidence of a path to a rank."""

from autonmf.selection.estimate import UNCERTAIN, RankEstimate, UncertainRankWarning
from autonmf.selection.rules import RULES, check_rule, choose_rank, evaluate_on_X, select_rank

__all__ = [
    "RULES",
    "UNCERTAIN",
    "RankEstimate",
    "UncertainRankWarning",
    "check_rule",
    "choose_rank",
    "evaluate_on_X",
    "select_rank",
]
