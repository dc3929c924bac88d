"""Section VI-E: one method on one synthetic matrix."""

from __future__ import annotations

import time
from typing import Any

from autonmf._types import Array
from autonmf.baselines import cross_validate, svht
from autonmf.datasets import make_low_rank
from autonmf.estimator import AutoNMF
from autonmf.metrics import recovery_error
from autonmf.reproduce.work.grid import paper_grid

TAU = 5.0
"""The paper's threshold for synthetic data."""


def solve(
    *, n: int, m: int, noise: float, rank: int, seed: int, method: str, **reading: Any
) -> dict[str, Any]:
    """A cell: the rank that a method finds, its recovery error and its time.

    ``reading`` holds what `paper_grid` may be told beside the solver.
    """
    X, U, _ = make_low_rank(n, m, rank, noise, random_state=seed)
    if method in ("ipalm", "s-ipalm", "pasm"):
        found = paper_grid(X, method, tau=TAU, seed=seed, **reading)
        return {"rows": [found.row | _error(U, found.U)], "curves": [found.curve]}
    if method == "svht":
        began = time.perf_counter()
        estimate = svht(X)
        return {"rows": [{"found": estimate.rank, "seconds": time.perf_counter() - began}]}
    if method == "cv":
        return {"rows": [_cross_validated(X, U, seed)]}
    options: dict[str, Any] = {"rule": "marginal", "tau": TAU} if method == "pasm exact" else {}
    return {"rows": [_estimated(X, U, seed, options)]}


def _estimated(X: Array, U: Array, seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """`AutoNMF` with these options and no others."""
    model = AutoNMF(random_state=seed, **options)
    began = time.perf_counter()
    W = model.fit_transform(X)
    seconds = time.perf_counter() - began
    estimate = model.rank_estimate_
    return {
        "found": model.n_components_,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "confidence": estimate.confidence if estimate else None,
        **_error(U, W),
    }


def _cross_validated(X: Array, U: Array, seed: int) -> dict[str, Any]:
    """Wold's cross-validation, then a factorisation at the rank that it finds."""
    began = time.perf_counter()
    estimate = cross_validate(X, random_state=seed)
    W = AutoNMF(estimate.rank, random_state=seed).fit_transform(X)
    seconds = time.perf_counter() - began
    return {"found": estimate.rank, "seconds": seconds, **_error(U, W)}


def _error(U: Array, W: Array | None) -> dict[str, Any]:
    return {"recovery_error": None if W is None else recovery_error(U, W)}
