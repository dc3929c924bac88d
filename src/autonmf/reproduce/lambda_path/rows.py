"""The paths and the times of Section VI-C."""

from __future__ import annotations

from statistics import median
from typing import Any

from autonmf.reproduce import form
from autonmf.reproduce.experiment import Results

Timings = dict[tuple[str, float, str], dict[str, list[dict[str, Any]]]]
"""Rows by (data, noise, solver) and by way, in the order of the seeds."""


def curves_of(results: Results) -> list[dict[str, Any]]:
    """Every path."""
    return [curve for done in results for curve in done.curves]


def timings_of(results: Results) -> Timings:
    """Rows of the timings by (data, noise, solver) and by way."""
    found: Timings = {}
    for done in results:
        for row in done.rows:
            if "way" in row:
                key = (row["data"], row["noise"], row["solver"])
                found.setdefault(key, {}).setdefault(row["way"], []).append(row)
    return found


def ratio_of(ways: dict[str, list[dict[str, Any]]], way: str, key: str = "seconds") -> float:
    """Of a way to the λ-path, the median over the seeds."""
    return float(median(a[key] / b[key] for a, b in zip(ways[way], ways["λ-path"], strict=True)))


def error_below(curve: dict[str, Any]) -> float | None:
    """The error at the first point with fewer components than the true rank."""
    pairs = zip(curve["rank"], curve["error"], strict=True)
    return next((error for rank, error in pairs if rank < curve["order"]), None)


def iterations_of(curve: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Medians at the first point, where the rank changes, and elsewhere."""
    ranks, counts = curve["rank"], curve["n_iter"]
    changes = [counts[i] for i in range(1, len(ranks)) if ranks[i] != ranks[i - 1]]
    rests = [counts[i] for i in range(1, len(ranks)) if ranks[i] == ranks[i - 1]]
    return counts[0], form.middle(changes), form.middle(rests)
