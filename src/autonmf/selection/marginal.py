r"""The paper's marginal-loss rule (Section VI-A).

With distinct ranks in increasing order and the best loss at each,

.. math:: \vartheta(i) = \frac{|\mathrm{loss}(i-1)-\mathrm{loss}(i)|}{|\mathrm{rank}(i-1)-\mathrm{rank}(i)|}

is the drop of the loss per component; the first :math:`i` whose drop is more than τ times the next is the
answer. Index 0 is rank one with :math:`\tfrac12(\|X\|_F^2-\sigma_1^2)`, in place of the path's own rank one.
The rule therefore never answers one, unless the loss does not fall at all. A rank whose loss is above that of
a smaller rank has not converged and is left out. With known components, index 0 is their own loss, and the
rule always finds at least one component beyond them unless none lowers the loss.
"""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.path import RankPath
from autonmf.selection.estimate import RankEstimate
from autonmf.selection.features import format_number

NEGLIGIBLE = 1e-12
"""A drop below this fraction of ½‖X‖² is rounding error and counts as zero."""


def check_tau(tau: float) -> None:
    """Refuse a threshold that is no positive number."""
    if not isinstance(tau, int | float | np.number) or not tau > 0:
        raise ValueError(f"tau must be positive, got {tau!r}")


def marginal_rule(path: RankPath, tau: float = 5.0) -> RankEstimate:
    """The first rank whose drop is more than ``tau`` times the next rank's."""
    check_tau(tau)
    ranks, losses = _start_at_rank_one(path)
    drops = _compute_drops(ranks, losses, path.energy)
    ratios = _compute_ratios(drops)
    evidence = {"rank": ranks, "loss": losses, "drop": drops, "drop_ratio": ratios}
    above = np.flatnonzero(ratios > tau)
    chosen, why, warnings = _choose(ranks, drops, ratios, above, tau, path.n_known)
    return RankEstimate(
        rank=chosen,
        rule="marginal",
        why=why,
        evidence=evidence,
        plausible=tuple(sorted({chosen, *(int(r) for r in ranks[above])})),
        warnings=(*warnings, *([] if path.complete else ["the path is incomplete"])),
    )


def _choose(
    ranks: Array, drops: Array, ratios: Array, above: Array, tau: float, n_known: int
) -> tuple[int, str, list[str]]:
    if len(ranks) == 1:
        only = int(ranks[0])
        return only, f"the path has only rank {only}", ["the path has one rank only, so nothing was chosen"]
    if not np.nansum(drops) > 0 and n_known:
        return int(ranks[0]), "no component lowers the loss beyond the known ones", []
    if not np.nansum(drops) > 0:
        return (
            int(ranks[0]),
            "no component lowers the loss beyond the first",
            ["no structure beyond rank one"],
        )
    if above.size == 0:
        last = int(ranks[-1])
        return (
            last,
            f"no drop of the loss is more than {tau:g} times the next, so the largest rank is kept",
            [f"no elbow: the loss keeps falling up to rank {last}; raise max_rank or lower tau"],
        )
    i = int(above[0])
    if np.isinf(ratios[i]):
        why = f"components beyond {ranks[i]} do not lower the loss"
    else:
        why = (
            f"component {ranks[i]} lowers the loss {format_number(ratios[i])} times as much as the next one, "
            f"the first time that this ratio is above {tau:g}"
        )
    return int(ranks[i]), why, []


def _start_at_rank_one(path: RankPath) -> tuple[Array, Array]:
    """Ranks and losses from the exact rank-one loss, without ranks whose loss exceeds a smaller rank's."""
    if path.n_known:  # the loss of the known components alone is a global minimum, too
        ranks, losses = path.ranks, path.losses
    else:
        beyond = path.ranks > 1
        ranks = np.concatenate([[1], path.ranks[beyond]])
        losses = np.concatenate([[path.rank_one_loss], path.losses[beyond]])
    best = np.minimum.accumulate(losses)
    solved = losses <= best + NEGLIGIBLE * path.energy
    return ranks[solved], best[solved]


def _compute_drops(ranks: Array, losses: Array, energy: float) -> Array:
    """ϑ(i), NaN at rank one and zero where the loss increases by rounding."""
    fallen = np.maximum(-np.diff(losses), 0.0)
    fallen[fallen <= NEGLIGIBLE * energy] = 0.0
    return np.concatenate([[np.nan], fallen / np.diff(ranks)])


def _compute_ratios(drops: Array) -> Array:
    """ϑ(i)/ϑ(i+1): infinite where the next drop is zero and this one is not, NaN where both are."""
    here, following = drops[:-1], drops[1:]
    ratios = np.full(len(drops), np.nan)
    np.divide(here, following, out=ratios[:-1], where=following > 0)
    ratios[:-1][(following == 0) & (here > 0)] = np.inf
    return ratios
