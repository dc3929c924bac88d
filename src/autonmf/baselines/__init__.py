"""Other ways to find the rank: what the paper compares with, and what else people use."""

from autonmf.baselines.ard import ard_nmf
from autonmf.baselines.cross_validation import cross_validate
from autonmf.baselines.discrete import discrete_path
from autonmf.baselines.information import bic
from autonmf.baselines.kneedle import elbow
from autonmf.baselines.parallel import parallel_analysis
from autonmf.baselines.registry import METHODS, Method, by_rule, reads_path
from autonmf.baselines.restarts import stability
from autonmf.baselines.thresholding import svht

__all__ = [
    "METHODS",
    "Method",
    "ard_nmf",
    "bic",
    "by_rule",
    "cross_validate",
    "discrete_path",
    "elbow",
    "parallel_analysis",
    "reads_path",
    "stability",
    "svht",
]
