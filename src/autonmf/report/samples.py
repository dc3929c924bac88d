"""The share of each component in each sample and in groups of them; W and H as tables."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.plotting.presentation import Presentation
from autonmf.report.components import signal_shares
from autonmf.report.result import Factors

MAX_SHOWN = 300
"""Number of samples in the heat map; of more samples as many are taken, evenly spaced."""

MAX_GROUPS = 40
"""A column with more different values does not group the samples."""

LEVELS = 255
"""Number of steps of a share above zero."""


def choose_samples(n: int, groups: Array | None) -> Array:
    """The samples that are shown: all, or evenly spaced ones within each group."""
    order = np.arange(n) if groups is None else np.argsort(groups, kind="stable")
    if n <= MAX_SHOWN:
        return np.arange(n)
    return np.sort(order[np.linspace(0, n - 1, MAX_SHOWN).round().astype(int)])


class Samples:
    """Which samples are shown, and their groups."""

    def __init__(self, presentation: Presentation, n: int) -> None:
        self.presentation, self.n = presentation, n
        self.group_names: list[str] = []
        self.groups: Array | None = None
        if presentation.groups is not None:
            names = sorted(set(presentation.groups), key=_sort_key)
            if len(names) > MAX_GROUPS:
                raise ValueError(
                    f"groups has {len(names)} different values; at most {MAX_GROUPS} groups can be shown"
                )
            numbers = {name: number for number, name in enumerate(names)}
            self.groups = np.array([numbers[name] for name in presentation.groups])
            self.group_names = [name or "(none)" for name in names]
        self.shown = choose_samples(n, self.groups)

    def describe(self) -> dict[str, Any]:
        """What is the same at every rank."""
        groups = self.groups
        return {
            "total": self.n,
            "names": [self.presentation.sample(int(i)) for i in self.shown],
            "group_names": self.group_names,
            "group_sizes": [] if groups is None else np.bincount(groups).tolist(),
            "groups": None if groups is None else groups[self.shown].tolist(),
        }

    def view(self, factors: Factors) -> dict[str, Any]:
        """The shares at one rank, component by component, and their means over each group."""
        if factors.U is None:
            return {}
        H = np.asarray(factors.V.T, dtype=float)
        shares = signal_shares(np.asarray(factors.U[self.shown]), H)
        steps = np.rint(np.clip(shares, 0.0, 1.0) * LEVELS).astype(np.uint8)
        view: dict[str, Any] = {"shares": b64encode(steps.T.tobytes()).decode("ascii")}
        if self.groups is not None:
            whole = signal_shares(np.asarray(factors.U), H)
            sums = [np.bincount(self.groups, column) for column in whole.T]
            view["by_group"] = (np.array(sums) / np.bincount(self.groups)).round(4).tolist()
        return view


def _sort_key(name: str) -> tuple[float, str]:
    """Numbers by their value, before other names."""
    try:
        return float(name), ""
    except ValueError:
        return np.inf, name


def pack_tables(factors: Factors, presentation: Presentation, max_bytes: int) -> dict[str, Any]:
    """H and W as far as they fit in ``max_bytes``, with the names of their rows.

    Each column is divided by its maximum and stored as 16-bit floats: three digits.
    """
    found: dict[str, Any] = {}
    for name, factor, names in (
        ("H", factors.V, presentation.feature_names),
        ("W", factors.U, presentation.sample_names),
    ):
        if factor is None:
            continue
        used = 8 * factor.size // 3 + sum(len(each.encode("utf-8", "replace")) + 3 for each in names or ())
        if used > max_bytes:
            continue
        max_bytes -= used
        tops = np.asarray(factor).max(axis=0, initial=0.0)
        halves = (np.asarray(factor) / np.where(tops > 0, tops, 1.0)).astype("<f2")
        found[name] = {
            "numbers": b64encode(halves.tobytes()).decode("ascii"),
            "tops": [float(f"{top:.6g}") for top in tops],
            "names": None if names is None else list(names),
            "count": len(factor),
        }
    return found
