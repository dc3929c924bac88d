"""Section VI-F: one method on one data set, and the readings of the text that could explain its answer."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from autonmf._random import as_generator
from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.baselines import svht
from autonmf.data import as_data
from autonmf.estimator import AutoNMF
from autonmf.metrics import recovery_error
from autonmf.model.initial import initial_point
from autonmf.model.objective import Problem
from autonmf.reproduce.work.grid import paper_grid
from autonmf.reproduce.work.inputs import Input, signal
from autonmf.solvers import Hals, Stopping, run

TAU = 2.0
"""The paper's threshold for real data."""

STARTS = 3
"""Starts of the reference factorisation: one from the SVD, the others random; the best is kept."""

ITERATIONS = ((30, 500), (200, 100), (10**6, 15))
"""At most, for an NMF at SVHT's rank up to each: at high ranks one costs seconds, and RE mostly counts."""


def solve(
    *, data: str, method: str, seed: int, data_home: str | None = None, reference: bool = True, **reading: Any
) -> dict[str, Any]:
    """A cell: the rank that a method finds on a data set, RE of U against the reference, time.

    ``reading`` holds what `paper_grid` may be told beside the solver, and "transposed" and "scaling".
    """
    given = _loaded(data, data_home)
    facts = {"order": given.order, "rows_of_X": given.X.shape[0], "columns_of_X": given.X.shape[1]}
    if method in ("s-ipalm", "ipalm", "pasm"):
        X = _read(given.X, reading.pop("transposed", False), reading.pop("scaling", "none"))
        found = paper_grid(X, method, tau=TAU, seed=seed, **reading)
        row, curves, U = found.row, [found.curve], found.U
    else:
        row, U = _svht(given.X, seed) if method == "svht" else _default(given.X, seed)
        curves = []
    if reference:
        row |= {"recovery_error": None if U is None else recovery_error(_reference(data, data_home), U)}
    return {"rows": [facts | {"preprocessing": given.preprocessing} | row], "curves": curves}


@lru_cache(maxsize=2)
def _loaded(data: str, data_home: str | None) -> Input:
    return signal(data, data_home)


def _read(X: Any, transposed: bool, scaling: str) -> Any:
    """X turned and scaled: "none", its maximum is one, or its root mean square is one."""
    X = X.T if transposed else X
    if scaling == "none":
        return X
    squares = X.multiply(X).mean() if hasattr(X, "multiply") else np.square(X).mean()
    return X / (X.max() if scaling == "maximum" else np.sqrt(squares))


def _default(X: Any, seed: int) -> tuple[dict[str, Any], Array]:
    model = AutoNMF(random_state=seed)
    began = time.perf_counter()
    W = model.fit_transform(X)
    seconds = time.perf_counter() - began
    estimate = model.rank_estimate_
    assert estimate is not None  # no rank was given
    return {
        "found": model.n_components_,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "confidence": estimate.confidence,
        "plausible": list(estimate.plausible),
        "why": estimate.why,
    }, W


def _svht(X: Any, seed: int) -> tuple[dict[str, Any], Array]:
    """Its rank and time; the factor is that of an NMF at its rank, whose time is not counted."""
    began = time.perf_counter()
    rank = svht(X).rank
    seconds = time.perf_counter() - began
    return {"found": rank, "seconds": seconds}, _nmf(X, rank, seed)


def _nmf(X: Any, rank: int, seed: int) -> Array:
    """U of an NMF at a rank: HALS from a random start until the paper's stop rule holds."""
    with one_pool():
        data = as_data(X)
        problem, solver = Problem(data), Hals(sweeps=1, sweeps_above=1)
        U, V = initial_point(data, rank, "random", as_generator(seed))
        stopping = Stopping(max_iter=next(most for up_to, most in ITERATIONS if rank <= up_to))
        return run(solver, solver.init(problem, U, V), stopping).state.U


@lru_cache(maxsize=2)
def _reference(data: str, data_home: str | None) -> Array:
    """W_ref: scikit-learn's NMF at the reference order, the best of its starts."""
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    given = _loaded(data, data_home)
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for start in range(STARTS):
            model = NMF(
                given.order, init="nndsvda" if start == 0 else "random", tol=1e-5, max_iter=500,
                random_state=start,
            )  # fmt: skip
            W = model.fit_transform(given.X)
            fits.append((float(model.reconstruction_err_), W))
    best: Array = min(fits, key=lambda fit: fit[0])[1]
    return best
