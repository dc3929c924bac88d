"""What the default rule costs: against a path with the paper's rule, and against cross-validation over 2..50.

python benchmarks/rule_cost.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from autonmf import AutoNMF
from autonmf._types import Array
from autonmf.baselines import cross_validate
from autonmf.datasets import load_swimmer, make_low_rank

REPEATS = 7
MATRICES: dict[str, Callable[[], Array]] = {
    "Swimmer, 256x1024": load_swimmer,
    "1000x400": lambda: make_low_rank(1000, 400, 10, 0.3, random_state=0)[0],
    "3000x1000": lambda: make_low_rank(3000, 1000, 20, 0.3, random_state=0)[0],
    "5000x4000": lambda: make_low_rank(5000, 4000, 20, 0.3, random_state=0)[0],
}
VALIDATED = 5e6  # entries, at most, of a matrix that is cross-validated


def seconds(job: Callable[[int], object], seed: int) -> float:
    began = time.perf_counter()
    job(seed)
    return time.perf_counter() - began


def main() -> None:
    table = Table(
        "matrix", "auto, s", "marginal, s", "auto / marginal", "five-fold 2..50, s", "auto / five-fold"
    )
    for name, make in MATRICES.items():
        X = make()
        jobs = [
            lambda seed, X=X, rule=rule: AutoNMF(rule=rule, random_state=seed).fit(X)
            for rule in ("auto", "marginal")
        ]
        jobs[0](0)  # what is loaded or compiled once is loaded now
        rounds = [[seconds(job, seed) for job in jobs] for seed in range(REPEATS)]
        ours, paper = (statistics.median(column) for column in zip(*rounds, strict=True))
        folds = "-"
        share = "-"
        if X.size <= VALIDATED:
            validation = seconds(lambda s, X=X: cross_validate(X, ranks=range(2, 51), random_state=s), 0)
            folds, share = f"{validation:.1f}", f"{ours / validation:.3f}"
        table.add_row(name, f"{ours:.3f}", f"{paper:.3f}", f"{ours / paper:.2f}", folds, share)
    console = Console(width=110)
    console.print(table)
    console.print(f"Medians of {REPEATS}, in turns, one process; the cross-validation once.")


if __name__ == "__main__":
    main()
