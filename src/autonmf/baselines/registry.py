"""Every method by name, all called alike: ``method(X, max_rank=..., random_state=...)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from autonmf._types import Seed
from autonmf.baselines.ard import ard_nmf
from autonmf.baselines.cross_validation import cross_validate
from autonmf.baselines.information import bic
from autonmf.baselines.kneedle import elbow
from autonmf.baselines.parallel import parallel_analysis
from autonmf.baselines.restarts import stability
from autonmf.baselines.thresholding import svht
from autonmf.data import as_data
from autonmf.path import RankPath, rank_path
from autonmf.selection import RankEstimate, choose_rank, select_rank

Method = Callable[..., RankEstimate]


def by_rule(rule: str, tau: float | None = None) -> Method:
    """One of the rules of `select_rank` as a method: it computes a path, or reads the one it is given."""

    def choose(
        X: Any, *, max_rank: int | None = None, random_state: Seed = None, path: RankPath | None = None
    ) -> RankEstimate:
        data = as_data(X)
        if path is None:
            path = rank_path(data, max_rank, random_state=random_state)
        return choose_rank(path, data, rule, tau=tau)[1]

    return choose


def automatic(X: Any, *, max_rank: int | None = None, random_state: Seed = None) -> RankEstimate:
    """The default rule of `AutoNMF`, on a path by way of the evened copy of X."""
    return select_rank(rank_path(X, max_rank, evened=True, random_state=random_state), "auto")


def reads_path(method: Method) -> bool:
    """Whether a method can be given a path of X that is there already."""
    return "path" in inspect.signature(method).parameters


METHODS: dict[str, Method] = {
    "auto": automatic,
    "marginal-2": by_rule("marginal", 2.0),
    "marginal-5": by_rule("marginal", 5.0),
    "elbow": elbow,
    "bic": bic,
    "svht": svht,
    "parallel": parallel_analysis,
    "cv-wold": partial(cross_validate, kind="wold"),
    "cv-bicv": partial(cross_validate, kind="bicv"),
    "stability": stability,
    "ard": ard_nmf,
}
"""What `compare_ranks` compares."""
