"""Rules by name."""

from __future__ import annotations

from autonmf.path import Evidence, RankPath
from autonmf.selection.automatic import auto_rule
from autonmf.selection.estimate import RankEstimate
from autonmf.selection.marginal import check_tau, marginal_rule

RULES = ("auto", "marginal")


def select_rank(
    path: RankPath | Evidence, rule: str = "marginal", *, tau: float | None = None
) -> RankEstimate:
    """Choose a rank from a path.

    Parameters
    ----------
    path : RankPath or Evidence
        From `rank_path`. "auto" needs the evidence of a path by way of the evened copy of X:
        ``rank_path(X, evened=True)``, or the ``path_`` of an `AutoNMF` with that rule.
    rule : {"marginal", "auto"}
        "marginal" is the paper's rule: the first rank whose drop of the loss is more than ``tau`` times the
        next one's. "auto", the default of `AutoNMF`, weighs four features and says how sure it is.
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
    >>> select_rank(rank_path(X, evened=True, random_state=0), rule="auto").rank
    3
    """
    check_rule(rule, tau)
    if not isinstance(path, RankPath | Evidence):
        raise TypeError(
            f"select_rank reads a path, got {type(path).__name__}: pass rank_path(X), or model.path_"
        )
    if rule == "auto":
        return auto_rule(_evidence(path))
    if isinstance(path, Evidence):
        raise TypeError('rule="marginal" reads a RankPath, got Evidence')
    return marginal_rule(path, 5.0 if tau is None else tau)


def check_rule(rule: str, tau: float | None) -> None:
    """Refuse what `select_rank` would, before a path is computed for it."""
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; choose one of {', '.join(RULES)}")
    if tau is not None:
        check_tau(tau)
        if rule != "marginal":
            raise ValueError(f'tau belongs to rule="marginal"; rule={rule!r} has no threshold')


def _evidence(path: RankPath | Evidence) -> Evidence:
    if isinstance(path, Evidence):
        return path
    if path.evidence is None:
        raise ValueError(
            'rule="auto" reads the evened copy of X, which this path did not see: '
            "use rank_path(X, evened=True)"
        )
    return path.evidence
