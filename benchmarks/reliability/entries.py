"""Every entry point, on matrices of every kind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from drawn import (
    GRIDS,
    SOLVERS,
    check_factor,
    check_model,
    check_path,
    documented_warnings,
    matrix,
    options,
    same,
)  # fmt: skip
from faults import Fault, require
from scipy import sparse

from autonmf import AutoNMF, RankPath, compare_ranks, rank_path, select_rank
from autonmf.baselines import METHODS, discrete_path
from autonmf.datasets import make_low_rank

SOUND = "an answer: finite, nonnegative, no worse than rank one"
FINITE = "an answer: finite, nonnegative"
HOLDING_BACK = ("cv-wold", "cv-bicv")
"""Methods that need enough data to hold some back."""
SLOW = ("stability", "cv-wold", "cv-bicv", "ard")


def call(entry: Callable[[Any, np.random.Generator], str], seed: int, *, may_refuse: bool = False) -> str:
    """One call, and its outcome: an answer, and only from some entry points an error that X is too small."""
    rng = np.random.default_rng(seed)
    X = matrix(rng)
    with documented_warnings():
        return answer(entry, X, rng) if may_refuse else entry(X, rng)


def answer(entry: Callable[[Any, np.random.Generator], str], X: Any, rng: np.random.Generator) -> str:
    """What an entry point says to X."""
    try:
        return entry(X, rng)
    except (ValueError, TypeError) as error:
        require(len(str(error)) > 20, f"{type(error).__name__} without an explanation: {error}")
        return f"refused: {type(error).__name__}"


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def smaller_side(X: Any) -> int:
    """Of a matrix; 2 of what is none."""
    shape = getattr(X, "shape", ())
    return max(min(shape), 1) if len(shape) == 2 else 2


def path(X: Any, rng: np.random.Generator, **fixed: Any) -> str:
    check_path(rank_path(X, **options(rng) | fixed))
    return "answered"


def masked_path(X: Any, rng: np.random.Generator) -> str:
    holes = dense(X).astype(float)
    holes[rng.random(holes.shape) < 0.1] = np.nan
    if not np.nansum(holes):
        return "nothing known but zeros: not tried"
    found = rank_path(
        holes, missing="mask", evened=bool(rng.integers(2)), random_state=0, solver=SOLVERS[rng.integers(4)]
    )
    check_path(found)
    return "answered"


def weighted_path(X: Any, rng: np.random.Generator) -> str:
    X = dense(X)
    found = rank_path(X, weights=rng.uniform(0.1, 10, X.shape), evened=bool(rng.integers(2)), random_state=0)
    check_path(found)
    return "answered"


def fit(X: Any, rng: np.random.Generator) -> str:
    model = AutoNMF(solver=SOLVERS[rng.integers(4)], grid=GRIDS[rng.integers(2)], **options(rng))
    W = model.fit_transform(X)
    check_model(model, W)
    check_factor(model.transform(X))
    for rank in (int(rank) for rank in model.path_.ranks):
        check_model(model.at_rank(rank))
        check_model(model.at_rank(rank, X))
    return "answered"


def fit_given(X: Any, rng: np.random.Generator) -> str:
    rank = int(rng.integers(1, smaller_side(X) + 1))
    model = AutoNMF(rank, solver=SOLVERS[rng.integers(4)], random_state=0)
    check_model(model, model.fit_transform(X))
    require(model.components_.shape == (rank, np.shape(X)[1]), "another number of components")
    return "answered"


def report(X: Any, rng: np.random.Generator) -> str:
    with tempfile.TemporaryDirectory() as folder:
        page = AutoNMF(random_state=0).fit(X).report(Path(folder, "report.html"), X=X)
        require(page.stat().st_size > 10_000, "the page is empty")
    return "answered"


def choice(X: Any, rng: np.random.Generator) -> str:
    evened = bool(rng.integers(2))
    found = rank_path(X, evened=evened, random_state=0)
    estimate = select_rank(found, "auto" if evened else "marginal")
    require(estimate.rank in {1, *found.ranks} and estimate.why, "no rank of the path, or no reason")
    require(estimate.rank in estimate.plausible, "the rank is not plausible")
    return "answered"


def baseline(name: str, X: Any, rng: np.random.Generator) -> str:
    estimate = METHODS[name](X, random_state=int(rng.integers(1000)))
    require(0 <= estimate.rank <= min(np.shape(X)), f"rank {estimate.rank} of {np.shape(X)}")
    require(estimate.why, "no reason")
    return "answered"


def discrete(X: Any, rng: np.random.Generator) -> str:
    direction = ("increasing", "decreasing")[rng.integers(2)]
    found = discrete_path(X, range(1, min(smaller_side(X), 6) + 1), direction, random_state=0)
    for point in found.points:
        check_factor(point.U, point.V)
    return "answered"


def compare(X: Any, rng: np.random.Generator) -> str:
    names = rng.choice(list(METHODS), 3, replace=False).tolist()
    comparison = compare_ranks(X, names, random_state=0)
    failed = [a.why for a in comparison.answers if a.failed]
    require(all(why.startswith("ValueError: ") for why in failed), " ".join(failed))
    return "answered"


def saved(X: Any, rng: np.random.Generator) -> str:
    with tempfile.TemporaryDirectory() as folder:
        found = rank_path(X, evened=bool(rng.integers(2)), random_state=0)
        found.save(Path(folder, "path.npz"))
        require(same(RankPath.load(Path(folder, "path.npz")), found), "other bits")
    return "the same bits"


def generated(seed: int) -> str:
    rng = np.random.default_rng(seed)
    n, m, rank = (int(size) for size in rng.integers(-1, 30, size=3))
    noise = float(rng.choice([0.0, 0.1, 1e3, -1.0, np.nan]))
    try:
        X, U, V = make_low_rank(n, m, rank, noise, random_state=seed)
    except ValueError:
        require(min(n, m, rank) < 1 or not noise >= 0, "refused without need")
        return "refused: ValueError"
    require(X.shape == (n, m) and U.shape == (n, rank) and V.shape == (m, rank), "another shape")
    check_factor(X, U, V)
    return "answered"


def _lines() -> list[Fault]:
    lines = [
        Fault(f'rank_path, "{solver}", {grid} grid', SOUND,
              partial(call, partial(path, solver=solver, grid=grid)),
              3 if grid == "exact" else 1, 100 if grid == "exact" else 30)
        for solver in SOLVERS for grid in GRIDS
    ]  # fmt: skip
    lines += [
        Fault("rank_path(evened=True)", SOUND, partial(call, partial(path, evened=True)), 4, 120),
        Fault("rank_path(missing='mask'), a tenth unknown", SOUND, partial(call, masked_path), 4, 120),
        Fault("rank_path(weights=...)", SOUND, partial(call, weighted_path), 4, 120),
        Fault("AutoNMF: fit, transform, at_rank of each rank", SOUND, partial(call, fit), 8, 120),
        Fault("AutoNMF(n_components)", SOUND, partial(call, fit_given), 4, 120),
        Fault("AutoNMF.report", "a page", partial(call, report), 1, 20),
        Fault("select_rank", "a rank of the path, with a reason", partial(call, choice), 4, 120),
        Fault("discrete_path", FINITE, partial(call, discrete), 3, 100),
        Fault(
            "compare_ranks", "every method answers or is refused as too small", partial(call, compare), 3, 60
        ),
        Fault("RankPath.save and load", "the same bits", partial(call, saved), 3, 100),
        Fault("make_low_rank, wrong sizes too", "a matrix, or an error", generated, 50, 1000),
    ]
    return lines + [_baseline_line(name) for name in METHODS]


def _baseline_line(name: str) -> Fault:
    quick, full = (1, 25) if name in SLOW else (3, 100)
    refuses = name in HOLDING_BACK
    return Fault(
        f'baseline "{name}"',
        "a possible rank" + (", or refused as too small" if refuses else ""),
        partial(call, partial(baseline, name), may_refuse=refuses),
        quick,
        full,
    )


ENTRIES = _lines()
