"""Two choices of the exact path, on data with known truth: how a component goes, how long a rank lasts.

    python -m experiments path-choices

The data are the semi-synthetic families of the rank-selection benchmark (design seeds, held-out families
left out) and the paper's generator. For each variant: the share of paths whose loss at the true rank is
within 2 % of the best that any variant found, the share whose largest ratio of drops (up to rank 25)
is at the true rank, iterations, and the time relative to the default, median over the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

import numpy as np

from autonmf import RankPath, select_rank
from experiments.core import Budget, follow_variant
from experiments.rank_benchmark import choose_families
from experiments.shared import print_table

SEEDS = range(3)


def fixed(high: int, middle: int, low: int) -> Callable[[int], Budget]:
    def budget(rank: int) -> Budget:
        wanted = high if rank > 25 else middle if rank > 12 else low
        return Budget(wanted, wanted)

    return budget


VARIANTS: dict[str, dict[str, Any]] = {
    "default: merge, while there is progress": {},
    "drop the weakest": {"drop": True},
    "merge, 1 / 4 / 12 iterations": {"length": fixed(1, 4, 12)},
    "merge, 4 / 8 / 25 iterations": {"length": fixed(4, 8, 25)},
    "merge, 10 / 25 / 50 iterations": {"length": fixed(10, 25, 50)},
    "drop, 4 / 8 / 25 iterations": {"drop": True, "length": fixed(4, 8, 25)},
}


def stands_out(path: RankPath) -> int:
    evidence = select_rank(path).evidence
    low = evidence["rank"] <= 25
    return int(evidence["rank"][low][np.nanargmax(evidence["drop_ratio"][low])])


def main(arguments: Sequence[str] | None = None) -> None:
    names = [f.name for f in choose_families("semi")]
    names += [f"paper-1000x400-{noise}-r{rank}" for noise in (0.1, 0.3) for rank in (10, 20)]
    rows: dict[str, dict[str, list[float]]] = {v: {"loss": [], "hit": [], "n": [], "t": []} for v in VARIANTS}
    best: list[float] = []
    for family in choose_families(names):
        for seed in family.seeds_of(SEEDS):
            instance = family.generate(seed)
            losses = []
            for name, options in VARIANTS.items():
                began = time.perf_counter()
                path = follow_variant(instance.X, seed, **options)
                rows[name]["t"].append(time.perf_counter() - began)
                rows[name]["n"].append(sum(visit.n_iter for visit in path.visits))
                rows[name]["hit"].append(stands_out(path) == instance.rank)
                losses.append(path.at_rank(instance.rank).loss if instance.rank in path.ranks else np.inf)
                rows[name]["loss"].append(losses[-1])
            best.append(min(losses))
    reference = next(iter(rows.values()))["t"]
    lines = []
    for name, row in rows.items():
        good = mean(loss <= 1.02 * b for loss, b in zip(row["loss"], best, strict=True))
        ratio = median(t / r for t, r in zip(row["t"], reference, strict=True))
        hit = mean(row["hit"])
        lines.append((name, f"{good:.0%}", f"{hit:.0%}", f"{median(row['n']):.0f}", f"{ratio:.2f}"))
    print(f"{len(best)} matrices: {', '.join(names)}, seeds {min(SEEDS)} to {max(SEEDS)}\n")
    header = ("variant", "within 2 % at r*", "largest ratio at r*", "iterations", "time / default")
    print_table(header, lines)
