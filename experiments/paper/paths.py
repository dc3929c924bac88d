"""What several experiments run: their matrices, the paper's grid under its readings, and traced paths."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf import RankEstimate, RankPath, rank_path, select_rank
from autonmf.datasets import (
    Dataset,
    fetch_jasper_ridge,
    fetch_olivetti,
    fetch_pbmc3k,
    fetch_samson,
    fetch_swimmer,
    fetch_urban,
    fetch_wos,
    load_swimmer,
    make_low_rank,
)
from autonmf.metrics import recovery_error
from experiments.core import ActiveSet, Array, Solver, bisect_grid, default_max_rank, trace_grid
from experiments.paper.document import middle


@dataclass(frozen=True)
class Input:
    """A matrix, what is known of it and what was done to it."""

    X: Any
    order: int  # the reference order
    preprocessing: str
    U: Array | None = None  # the true factor, where there is one


@dataclass(frozen=True)
class Signal:
    """A row of Table 2."""

    title: str
    order: int  # the reference order of the paper, or of the sample where it is another
    fetch: Callable[..., Dataset]
    options: dict[str, Any]
    bands_first: bool = False  # the paper has samples in columns
    variant: bool = False  # not what the paper used
    files: tuple[str, ...] = ()  # used where one of these is in the data home, never downloaded


SIGNALS = {
    "pbmc3k": Signal("PBMC3K, raw counts", 9, fetch_pbmc3k, {}),
    "swimmer-noisy": Signal("Swimmer, noisy", 16, fetch_swimmer, {}),
    "olivetti": Signal("AT&T Faces", 10, fetch_olivetti, {}),
    "wos": Signal("Web of Science, 1000 abstracts", 7, fetch_wos, {}),
    "samson": Signal("Samson", 3, fetch_samson, {}, bands_first=True),
    "jasper-ridge": Signal("Jasper Ridge, 198 bands", 4, fetch_jasper_ridge, {}, bands_first=True),
    "urban": Signal("Urban", 4, fetch_urban, {}, bands_first=True, files=("urban.npz", "Urban_R162.mat")),
    "swimmer": Signal("Swimmer, noise-free", 16, fetch_swimmer, {}, variant=True),
    "pbmc3k-log": Signal("PBMC3K, log-normalised", 9, fetch_pbmc3k, {"normalize": True}, variant=True),
}
"""The data sets by the names that cells use."""


def signal(name: str, data_home: str | None = None) -> Input:
    """A data set of Table 2."""
    if name == "swimmer":
        return Input(load_swimmer(), 16, "Zeros and ones, built in code.")
    kind = SIGNALS[name]
    found = kind.fetch(**kind.options, data_home=data_home, download=not kind.files)
    X = found.X.T if kind.bands_first else found.X
    return Input(X, kind.order, found.preprocessing)


def diagnostic(
    data: str, noise: float, seed: int, size: tuple[int, int], rank: int, data_home: str | None = None
) -> Input:
    """The synthetic matrix of Sections VI-C and VI-D, or a Swimmer."""
    if data == "synthetic":
        X, U, _ = make_low_rank(*size, rank, noise, random_state=seed)
        return Input(X, rank, "As generated.", U)
    return signal("swimmer" if noise == 0 else "swimmer-noisy", data_home)


def relative(loss: float, X: Any) -> float:
    """‖X - UVᵀ‖/‖X‖ from ½‖X - UVᵀ‖²."""
    squares = float(X.multiply(X).sum()) if hasattr(X, "multiply") else float(np.sum(np.square(X)))
    return float(np.sqrt(2.0 * max(loss, 0.0) / squares))


STARTS = ("least squares", "uniform", "uniform / 100", "normal", "nndsvd", "nndsvda")
"""Uniform of the scale of X; uniform(0, 1); a hundredth of it; max(0, N(0, 1)); two from the SVD."""

ROLE = 7
"""Added to a seed for the start: the data are drawn from the seed itself."""


def init_of(start: str, shape: tuple[int, int], rank: int, seed: int) -> Any:
    """What `rank_path` takes as ``init``."""
    if start == "least squares":
        return "random"
    if start in ("nndsvd", "nndsvda"):
        return start
    return random_start(start, shape, rank, seed)


def random_start(start: str, shape: tuple[int, int], rank: int, seed: int) -> tuple[Array, Array]:
    """(U⁰, V⁰) of one of the laws."""
    rng = np.random.default_rng([seed, ROLE])
    if start == "normal":
        U, V = (np.maximum(rng.standard_normal((length, rank)), 0.0) for length in shape)
    elif start in ("uniform", "uniform / 100"):
        U, V = (rng.random((length, rank)) for length in shape)
        if start != "uniform":
            U, V = 0.01 * U, 0.01 * V
    else:
        raise ValueError(f"unknown start {start!r}; choose one of {', '.join(STARTS)}")
    return np.asfortranarray(U), np.asfortranarray(V)


@dataclass(frozen=True)
class GridRun:
    """A path on the paper's grid, the choice of the paper's rule, and the time of both."""

    path: RankPath
    estimate: RankEstimate
    seconds: float

    @property
    def U(self) -> Array | None:
        """The factor at the chosen rank; None for rank one where the path did not visit it."""
        rank = self.estimate.rank
        return self.path.at_rank(rank).U if rank in self.path.ranks else None

    @property
    def iterations(self) -> int:
        return sum(visit.n_iter for visit in self.path.visits)

    @property
    def row(self) -> dict[str, Any]:
        """What a table shows."""
        return {
            "found": self.estimate.rank,
            "seconds": self.seconds,
            "iterations": self.iterations,
            "points": len(self.path.visits),
        }

    @property
    def curve(self) -> dict[str, Any]:
        """Every λ in order, and what the rule read."""
        visits, evidence = self.path.visits, self.estimate.evidence
        return {
            "lam": [visit.lam for visit in visits],
            "rank": [visit.rank for visit in visits],
            "loss": [visit.loss for visit in visits],
            "n_iter": [visit.n_iter for visit in visits],
            "rank_one_loss": self.path.rank_one_loss,
            "squared_norm": self.path.squared_norm,
            "rule_rank": evidence["rank"],
            "rule_drop": evidence["drop"],
            "rule_ratio": evidence["drop_ratio"],
        }


def paper_grid(
    X: Any,
    solver: str,
    *,
    tau: float,
    seed: int,
    n_points: int = 30,
    start: str = "least squares",
    engine: str = "direct",
    sweeps: int = 1,
) -> GridRun:
    """Follow the grid and apply the rule, X as it lies (``scale=False``)."""
    chosen: str | Solver = ActiveSet(sweeps=sweeps) if solver == "pasm" and sweeps > 1 else solver
    init = init_of(start, X.shape, default_max_rank(X.shape), seed)
    began = time.perf_counter()
    path = rank_path(
        X, solver=chosen, grid="adaptive", n_points=n_points, init=init, engine=engine, scale=False,
        random_state=seed,
    )  # fmt: skip
    estimate = select_rank(path, "marginal", tau=tau)
    return GridRun(path, estimate, time.perf_counter() - began)


def bisected(
    X: Any, solver: str, curve: dict[str, Any], *, tau: float, seed: int, wanted: int
) -> dict[str, Any]:
    """The ranks between two points that jump over the wanted one, and what the rule says with them."""
    if wanted in curve["rank"]:
        return {}
    between = bisect_grid(X, solver, 30, default_max_rank(X.shape), seed, wanted)
    if not between:
        return {}
    ranks, losses = zip(*between, strict=True)
    more = curve | {"rank": [*curve["rank"], *ranks], "loss": [*curve["loss"], *losses]}
    return {"between": list(ranks), "found_between": rule_readings(more, tau)["as read"]}


READINGS: dict[str, dict[str, Any]] = {
    "as read": {},
    "N_λ = 20": {"n_points": 20},
    "N_λ = 50": {"n_points": 50},
    "N_λ = 100": {"n_points": 100},
    "start uniform(0, 1)": {"start": "uniform"},
    "start uniform / 100": {"start": "uniform / 100"},
    "start max(0, N(0, 1))": {"start": "normal"},
    "start NNDSVD": {"start": "nndsvd"},
    "start NNDSVDa": {"start": "nndsvda"},
    "ten HALS sweeps": {"sweeps": 10},
    "X transposed": {"transposed": True},
    "X / max": {"scaling": "maximum"},
    "X / rms": {"scaling": "rms"},
}
"""As read: 30 points, a uniform start of the scale of X, one sweep, X as it lies."""

PASM_ONLY = ("ten HALS sweeps",)


def reading_of(parameters: dict[str, Any]) -> str:
    """The name of the reading among a cell's parameters."""
    settings = {key for reading in READINGS.values() for key in reading}
    given = {key: value for key, value in parameters.items() if key in settings}
    return next(name for name, reading in READINGS.items() if reading == given)


def rule_readings(curve: dict[str, Any], tau: float) -> dict[str, int]:
    """The rank that each reading of the rule gives on one path.

    "as read": distinct ranks in increasing order, the least loss of each, ½(‖X‖² - σ₁²) as rank one.
    """
    visits = list(zip(curve["rank"], curve["loss"], strict=True))
    best: dict[int, float] = {}
    last: dict[int, float] = {}
    for rank, loss in visits:
        best[rank] = min(loss, best.get(rank, np.inf))
        last[rank] = loss
    floor = 1e-12 * curve["squared_norm"]
    return {
        "as read": _first(_upwards(best, curve["rank_one_loss"]), tau, floor),
        "the last loss at each rank": _first(_upwards(last, curve["rank_one_loss"]), tau, floor),
        "rank one from the path": _first(sorted(best.items()), tau, floor),
        "the rank after it (λ of i*)": _first(_upwards(best, curve["rank_one_loss"]), tau, floor, after=1),
        "the largest ratio": _largest(_upwards(best, curve["rank_one_loss"]), floor),
        "along the path, ranks decreasing": _first(
            [(1, curve["rank_one_loss"]), *sorted(best.items(), reverse=True)], tau, floor
        ),
    }


def _upwards(losses: dict[int, float], rank_one: float) -> list[tuple[int, float]]:
    return [(1, rank_one), *sorted((rank, loss) for rank, loss in losses.items() if rank > 1)]


def _ratios(steps: list[tuple[int, float]], floor: float) -> tuple[Array, Array]:
    """ϑ(i)/ϑ(i+1) and the ranks they belong to; a drop that is only rounding counts as zero."""
    ranks, losses = (np.array(column, dtype=float) for column in zip(*steps, strict=True))
    drops = np.abs(np.diff(losses)) / np.maximum(np.abs(np.diff(ranks)), 1.0)
    drops[drops <= floor] = 0.0
    here, following = drops[:-1], drops[1:]
    ratios = np.divide(here, following, out=np.full(len(here), np.inf), where=following > 0)
    ratios[here == 0] = 0.0
    return ranks[1:-1].astype(int), ratios


def _first(steps: list[tuple[int, float]], tau: float, floor: float, after: int = 0) -> int:
    """The first rank whose ratio is above τ, or the one ``after`` places later; the last rank if none is."""
    if len(steps) < 3:
        return steps[-1][0]
    _, ratios = _ratios(steps, floor)
    above = np.flatnonzero(ratios > tau)
    if above.size == 0:
        return steps[-1][0]
    return steps[min(int(above[0]) + 1 + after, len(steps) - 1)][0]


def _largest(steps: list[tuple[int, float]], floor: float) -> int:
    if len(steps) < 3:
        return steps[-1][0]
    ranks, ratios = _ratios(steps, floor)
    return int(ranks[int(np.argmax(ratios))])


def trace(
    X: Any, solver: str, n_points: int, max_rank: int, seed: int, U_true: Array | None
) -> dict[str, Any]:
    """λ, rank, errors and iterations at every point of the paper's grid; X is not scaled."""
    found: dict[str, list[Any]] = {
        name: [] for name in ("lam", "next_lam", "rank", "error", "recovery_error", "n_iter", "reason")
    }
    for point in trace_grid(X, solver, n_points, max_rank, seed):
        state = point.state
        found["lam"].append(point.lam)
        found["next_lam"].append(point.next_lam)
        found["rank"].append(state.rank)
        found["error"].append(relative(state.loss, X))
        found["recovery_error"].append(None if U_true is None else recovery_error(U_true, state.U))
        found["n_iter"].append(point.n_iter)
        found["reason"].append(point.reason)
    return found


def trace_path(
    *,
    data: str,
    noise: float,
    solver: str,
    seed: int,
    n_points: int,
    max_rank: int,
    size: tuple[int, int] = (100, 80),
    rank: int = 10,
    data_home: str | None = None,
) -> dict[str, Any]:
    """A cell: one path with all of its points."""
    given = diagnostic(data, noise, seed, size, rank, data_home)
    began = time.perf_counter()
    curve = trace(given.X, solver, n_points, max_rank, seed, given.U)
    return {
        "rows": [
            {
                "order": given.order,
                "points": len(curve["rank"]),
                "iterations": sum(curve["n_iter"]),
                "seconds": time.perf_counter() - began,
            }
        ],
        "curves": [curve | {"order": given.order}],
    }


@dataclass(frozen=True)
class Plateau:
    """Where a path on the paper's grid is at the true rank."""

    points: int  # of the grid
    low: float  # the first λ there
    high: float  # the first λ beyond, or the one that would drop a component
    error: float | None  # ‖X - UVᵀ‖/‖X‖, median over its points
    recovery_error: float | None

    @property
    def width(self) -> float:
        """high/low: λ is a scale."""
        return self.high / self.low if self.low > 0 else float("inf")


def plateau_of(curve: dict[str, Any]) -> Plateau | None:
    """The plateau at ``order``; None where the path jumped over it."""
    at = [i for i, rank in enumerate(curve["rank"]) if rank == curve["order"]]
    if not at:
        return None
    first, last = at[0], at[-1]
    beyond = curve["lam"][last + 1] if last + 1 < len(curve["lam"]) else curve["next_lam"][last]
    return Plateau(
        points=len(at),
        low=curve["lam"][first],
        high=max(beyond, curve["lam"][first]),
        error=middle(curve["error"][i] for i in at),
        recovery_error=middle(curve["recovery_error"][i] for i in at),
    )


def over_ranked(curve: dict[str, Any]) -> float:
    """The fraction of the points of a path with more components than the true rank."""
    ranks: list[int] = curve["rank"]
    order: int = curve["order"]
    return sum(rank > order for rank in ranks) / len(ranks)


def width_of(curve: dict[str, Any]) -> float:
    """high/low of the plateau; one where the path jumped over the true rank."""
    plateau = plateau_of(curve)
    return plateau.width if plateau else 1.0


def reached(curve: dict[str, Any]) -> tuple[float, float] | None:
    """λ and error at the first point with no more components than the true rank."""
    points = zip(curve["rank"], curve["lam"], curve["error"], strict=True)
    return next(((lam, error) for rank, lam, error in points if rank <= curve["order"]), None)
