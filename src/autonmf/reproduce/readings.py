"""What the paper's text leaves open, as settings of `paper_grid`, and its rule read in other ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array

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
