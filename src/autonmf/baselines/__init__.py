"""Other methods of rank selection: those in the paper's comparison, and other common ones."""

from autonmf.baselines.ard import ard_nmf
from autonmf.baselines.cross_validation import cross_validate
from autonmf.baselines.curve import bic, elbow
from autonmf.baselines.discrete import discrete_path
from autonmf.baselines.methods import METHODS, Method, by_rule, reads_path
from autonmf.baselines.restarts import stability
from autonmf.baselines.spectrum import parallel_analysis, svht

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
