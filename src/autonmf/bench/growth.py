"""How the time of a whole fit grows with n, with m and with the bound on the rank."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from autonmf import AutoNMF
from autonmf._types import Array
from autonmf.datasets import make_low_rank


@dataclass(frozen=True)
class Point:
    """One size and the median time there."""

    size: int
    seconds: float


@dataclass(frozen=True)
class Line:
    """Times along one quantity, the others fixed."""

    name: str
    points: list[Point]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(repeats: int = 3, quick: bool = False) -> list[Line]:
    """Time a fit of rank-20 data at doubling sizes."""
    rows = [2000, 4000] if quick else [2500, 5000, 10000, 20000, 40000]
    columns = [1000, 2000] if quick else [500, 1000, 2000, 4000]
    bounds = [25, 50] if quick else [25, 50, 100, 200]
    return [
        Line("n (m = 1000)", [Point(n, _seconds(_data(n, 1000), repeats)) for n in rows]),
        Line("m (n = 4000)", [Point(m, _seconds(_data(4000, m), repeats)) for m in columns]),
        Line("max_rank (4000x1000)", [Point(b, _seconds(_data(4000, 1000), repeats, b)) for b in bounds]),
    ]


def plot(series: list[Line], file: Path) -> None:
    """One panel a line, both axes logarithmic, with the slope of linear growth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for ax, line in zip(figure.subplots(1, len(series), sharey=True), series, strict=True):
        sizes, seconds = [p.size for p in line.points], [p.seconds for p in line.points]
        ax.loglog(sizes, seconds, "o-", color="#0072B2", label="AutoNMF().fit")
        ax.loglog(
            sizes, [seconds[0] * s / sizes[0] for s in sizes], "--", color="#999999", label="linear growth"
        )
        ax.set_xlabel(line.name)
        ax.set_xticks(sizes, [str(s) for s in sizes])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    shown = [t for t in ticks if figure.axes[0].get_ylim()[0] <= t <= figure.axes[0].get_ylim()[1]]
    figure.axes[0].set_yticks(shown, [f"{t:g}" for t in shown])
    figure.axes[0].set_ylabel("seconds")
    figure.axes[0].legend(frameon=False)
    figure.savefig(file, dpi=110)


def _data(n: int, m: int) -> Array:
    return make_low_rank(n, m, 20, 0.3, random_state=0)[0]


def _seconds(X: Array, repeats: int, max_rank: int | None = None) -> float:
    times = []
    for seed in range(repeats):
        began = time.perf_counter()
        AutoNMF(max_rank=max_rank, random_state=seed).fit(X)
        times.append(time.perf_counter() - began)
    return median(times)
