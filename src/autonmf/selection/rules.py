"""Rules by name: from a path to a rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from autonmf._threads import one_pool
from autonmf.data import Data, unit_scaling
from autonmf.losses import FROBENIUS
from autonmf.path import Evidence, PathPoint, RankPath
from autonmf.selection.automatic import auto_rule
from autonmf.selection.estimate import RankEstimate
from autonmf.selection.marginal import check_tau, marginal_rule

RULES = ("auto", "marginal")

MAX_ROUNDS = 5
"""Maximum number of times that losses are evaluated on X and the rank is chosen again."""


def select_rank(
    path: RankPath | Evidence, rule: str = "marginal", *, tau: float | None = None
) -> RankEstimate:
    """Choose a rank from a path.

    Parameters
    ----------
    path : RankPath or Evidence
        From `rank_path`. "auto" needs the evidence of a path computed on the equilibrated X:
        ``rank_path(X, equilibrate=True)``, or the ``path_`` of an `AutoNMF` with that rule.
    rule : {"marginal", "auto"}
        "marginal" is the paper's rule: the first rank whose drop of the loss is more than ``tau`` times the
        next one's. "auto", the default of `AutoNMF`, combines three features and gives a confidence.
    tau : float, optional
        Threshold of the marginal rule. Default 5, the paper's value for synthetic data; it uses 2 for real
        data.

    Returns
    -------
    RankEstimate

    Examples
    --------
    >>> from autonmf import rank_path, select_rank
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> select_rank(rank_path(X, max_rank=6, random_state=0), rule="marginal", tau=5.0).rank
    3
    >>> select_rank(rank_path(X, equilibrate=True, random_state=0), rule="auto").rank
    3
    """
    check_rule(rule, tau)
    if not isinstance(path, RankPath | Evidence):
        raise TypeError(
            f"select_rank reads a path, got {type(path).__name__}: pass rank_path(X), or model.path_"
        )
    if rule == "auto":
        return auto_rule(_get_evidence(path))
    if isinstance(path, Evidence):
        raise TypeError('rule="marginal" reads a RankPath, got Evidence')
    return marginal_rule(path, 5.0 if tau is None else tau)


def choose_rank(
    path: RankPath, data: Data, rule: str = "marginal", *, tau: float | None = None
) -> RankEstimate:
    """Choose a rank, evaluate the losses at and next to it on X, and repeat until the rank does not change.

    The losses of a path may be those of a compression of X. The default rule does not need those of X.
    """
    estimate = select_rank(path, rule, tau=tau)
    if rule == "auto":
        return estimate
    for _ in range(MAX_ROUNDS):
        around = {estimate.rank + step for step in (-1, 0, 1)}
        if all(point.on_X for point in path.points if point.rank in around):
            break
        path = evaluate_on_X(path, data, around)
        estimate = select_rank(path, rule, tau=tau)
    return estimate


def evaluate_on_X(path: RankPath, data: Data, ranks: Iterable[int]) -> RankPath:
    """The path with the losses at ``ranks`` evaluated on X."""
    wanted = set(ranks)
    with one_pool():
        points = tuple(
            _evaluate(point, data) if point.rank in wanted and not point.on_X else point
            for point in path.points
        )
    return replace(path, points=points)


def _evaluate(point: PathPoint, data: Data) -> PathPoint:
    scaling = unit_scaling(data)  # squares of large entries may not fit single precision
    U, V = (factor.astype(data.dtype) for factor in scaling.to_scaled(point.U, point.V))
    loss = FROBENIUS.value(scaling.apply(data), U, V) * scaling.unit**2  # only these are compressed
    return replace(point, loss=loss, on_X=True)


def check_rule(rule: str, tau: float | None) -> None:
    """Check the rule and its threshold, before a path is computed."""
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; choose one of {', '.join(RULES)}")
    if tau is not None:
        check_tau(tau)
        if rule != "marginal":
            raise ValueError(f'tau belongs to rule="marginal"; rule={rule!r} has no threshold')


def _get_evidence(path: RankPath | Evidence) -> Evidence:
    if isinstance(path, Evidence):
        return path
    if path.evidence is None:
        raise ValueError(
            'rule="auto" reads the equilibrated X, which this path was not computed on: '
            "use rank_path(X, equilibrate=True)"
        )
    return path.evidence
