"""The paper's statements as checks of a result: whether it is stationary, whether its rank is right.

All take X and factors in the units of X, as a `PathPoint` holds them; λ, μ and δ are those of the
`RankPath` (``point.lam``, ``path.mu``, ``path.delta``).
"""

from autonmf.theory.columns import RankCondition, rank_condition
from autonmf.theory.recovery import Recovery, exact_recovery
from autonmf.theory.residuals import BlockResidual, Stationarity, stationarity

__all__ = [
    "BlockResidual",
    "RankCondition",
    "Recovery",
    "Stationarity",
    "exact_recovery",
    "rank_condition",
    "stationarity",
]
