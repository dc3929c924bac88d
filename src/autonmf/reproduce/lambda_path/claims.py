"""The sentences of Section VI-C."""

from __future__ import annotations

from statistics import median
from typing import Any

from autonmf.reproduce import form
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.lambda_path.rows import (
    Timings,
    curves_of,
    error_below,
    iterations_of,
    ratio_of,
    timings_of,
)
from autonmf.reproduce.paper_numbers import path_ratios
from autonmf.reproduce.plateau import plateau_of
from autonmf.reproduce.verdict import Claim, Holds, Verdict, graded, judge

NEAR_PAPER = 0.8
"""The share of the paper's ratio of times from which on it counts as reached."""

FEW = 1.5
"""Iterations on a plateau against the fewest that the stop rule allows, 21, to count as few."""


def verdict(results: Results) -> Verdict:
    """Plateau, iterations and times."""
    claims = []
    curves = curves_of(results)
    for data in ("synthetic", "swimmer"):
        of_data = [curve for curve in curves if curve["data"] == data]
        if of_data:
            claims.append(_plateau_claim(data, of_data))
    if curves:
        claims.append(_iterations_claim(curves))
    timings = timings_of(results)
    for data in ("synthetic", "swimmer"):
        of_times = {key: ways for key, ways in timings.items() if key[0] == data}
        if of_times:
            claims.append(_time_claim(data, of_times))
    return judge(claims)


def _plateau_claim(data: str, curves: list[dict[str, Any]]) -> Claim:
    """Clear: several points, no other rank has more, and the error jumps below it."""
    clear = visited = 0
    for curve in curves:
        plateau, below = plateau_of(curve), error_below(curve)
        if plateau is None:
            continue
        visited += 1
        counts = {rank: curve["rank"].count(rank) for rank in set(curve["rank"]) - {1, max(curve["rank"])}}
        low = below is None or plateau.error is None or below > 1.2 * plateau.error
        clear += plateau.points >= 2 and plateau.points >= max(counts.values()) and low
    return Claim(
        f"{data}: the rank is piecewise constant with a clear plateau at r*, and the error is low there",
        f"{clear} of {len(curves)} paths have their longest plateau at r*, with an error that jumps below "
        f"it; {visited} visit r* at all",
        graded(clear / len(curves), 0.9, 0.5),
    )


def _iterations_claim(curves: list[dict[str, Any]]) -> Claim:
    first, changing, resting = (
        form.middle(counts) for counts in zip(*map(iterations_of, curves), strict=True)
    )
    holds = Holds.yes if resting is not None and resting <= 21 * FEW else Holds.no
    return Claim(
        "apart from the first solve and rank transitions, warm-started points need few iterations",
        f"median iterations: {form.digits(first)} at the first point, {form.digits(changing)} where the rank "
        f"changes, {form.digits(resting)} elsewhere; the stop rule allows no fewer than 21",
        holds,
    )


def _time_claim(data: str, timings: Timings) -> Claim:
    down, up = path_ratios(data)
    ours = [(ratio_of(ways, "decreasing"), ratio_of(ways, "increasing")) for ways in timings.values()]
    lowest, highest = min(map(min, ours)), max(map(max, ours))
    reached = median(min(a / down, b / up) for a, b in ours)
    return Claim(
        f"{data}: the λ-path is {down:.1f} and {up:.1f} times faster than the decreasing and increasing "
        "paths",
        f"{lowest:.1f} to {highest:.1f} times over inputs, solvers and directions",
        graded(reached, NEAR_PAPER, min(1 / down, 1 / up)),
    )
