"""What the default rule costs: against a path with the paper's rule, and against cross-validation over 2..50.

python benchmarks/rule_cost.py

The matrices of the issue's sizes, and one of each family of `autonmf bench order` whose data are there: set
AUTONMF_DATA for the real ones.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from autonmf import AutoNMF
from autonmf.baselines import cross_validate
from autonmf.bench.order import FINAL_SEEDS, choose_families
from autonmf.datasets import make_low_rank

REPEATS = 7
MATRICES: dict[str, Callable[[], Any]] = {
    "1000x400": lambda: make_low_rank(1000, 400, 10, 0.3, random_state=0)[0],
    "3000x1000": lambda: make_low_rank(3000, 1000, 20, 0.3, random_state=0)[0],
    "5000x4000": lambda: make_low_rank(5000, 4000, 20, 0.3, random_state=0)[0],
}
FAMILIES: dict[str, Callable[[], Any]] = {
    family.name: lambda family=family: family.generate(family.seeds_of(FINAL_SEEDS)[0]).X
    for family in choose_families("all")
    if family.group != "paper" and family.available()
}
VALIDATED = 5e6  # entries, at most, of a matrix that is cross-validated


def seconds(job: Callable[[int], object], seed: int) -> float:
    began = time.perf_counter()
    job(seed)
    return time.perf_counter() - began


def fit_seconds(X: Any, rule: str, seed: int) -> tuple[float, float]:
    """Of a fit, and of one whose path is read, too: the default has ranks that wait until then."""
    began = time.perf_counter()
    model = AutoNMF(rule=rule, random_state=seed).fit(X)
    fitted = time.perf_counter()
    _ = model.path_
    return fitted - began, time.perf_counter() - began


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)  # some matrices hold nothing
    table = Table(
        "matrix",
        "auto, s",
        "marginal, s",
        "auto / marginal",
        "with path_",
        "five-fold, s",
        "auto / five-fold",
    )
    ratios = []
    for name, make in track((MATRICES | FAMILIES).items(), console=Console(stderr=True), transient=True):
        X = make()
        fit_seconds(X, "auto", 0)  # what is loaded or compiled once is loaded now
        rounds = [[*fit_seconds(X, "auto", s), *fit_seconds(X, "marginal", s)] for s in range(REPEATS)]
        ours, ours_read, paper, paper_read = map(statistics.median, zip(*rounds, strict=True))
        folds = "-"
        share = "-"
        if name in MATRICES and X.size <= VALIDATED:
            validation = seconds(lambda s, X=X: cross_validate(X, ranks=range(2, 51), random_state=s), 0)
            folds, share = f"{validation:.1f}", f"{ours / validation:.3f}"
        ratios.append((ours / paper, ours_read / paper_read))
        costs = (f"{ratio:.2f}" for ratio in ratios[-1])
        table.add_row(name, f"{ours:.3f}", f"{paper:.3f}", *costs, folds, share)
    console = Console(width=110)
    console.print(table)
    for what, values in zip(("auto / marginal", "with path_"), zip(*ratios, strict=True), strict=True):
        console.print(f"{what}: {min(values):.2f} to {max(values):.2f}")
    console.print(f"Medians of {REPEATS}, in turns, one process; the cross-validation of ranks 2 to 50 once.")


if __name__ == "__main__":
    main()
