"""All methods by name, with the same signature ``method(X, max_rank=..., random_state=...)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from autonmf._types import Seed
from autonmf.baselines.ard import ard_nmf
from autonmf.baselines.cross_validation import cross_validate
from autonmf.baselines.curve import bic, elbow
from autonmf.baselines.restarts import stability
from autonmf.baselines.spectrum import parallel_analysis, svht
from autonmf.distributed import as_data
from autonmf.path import RankPath, rank_path
from autonmf.selection import RankEstimate, choose_rank, select_rank

Method = Callable[..., RankEstimate]


def by_rule(rule: str, tau: float | None = None) -> Method:
    """A rule of `select_rank` as a method that computes a path, or uses a given one."""

    def choose(
        X: Any, *, max_rank: int | None = None, random_state: Seed = None, path: RankPath | None = None
    ) -> RankEstimate:
        data = as_data(X)
        if path is None:
            path = rank_path(data, max_rank, random_state=random_state)
        return choose_rank(path, data, rule, tau=tau)

    return choose


def automatic(
    X: Any,
    *,
    max_rank: int | None = None,
    random_state: Seed = None,
    beta_loss: str | float = "frobenius",
) -> RankEstimate:
    """The default rule of `AutoNMF`, on the path of X with equilibrated rows and columns."""
    path = rank_path(X, max_rank, beta_loss=beta_loss, equilibrate=True, random_state=random_state)
    return select_rank(path, "auto")


def reads_path(method: Method) -> bool:
    """Whether a method accepts a path of X that has already been computed."""
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
