"""What the default rule costs: against a path with the paper's rule, and against cross-validation over 2..50.

python -m experiments rule-cost

Three of the matrices that are timed, and one of each family of `python -m experiments order` whose data are
there: set AUTONMF_DATA for the real ones.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from autonmf import AutoNMF
from autonmf.baselines import cross_validate
from autonmf.datasets import make_low_rank
from experiments.rank_benchmark import FINAL_SEEDS, Family, choose_families
from experiments.shared import print_table, say

REPEATS = 7
MATRICES: dict[str, Callable[[], Any]] = {
    "1000x400": lambda: make_low_rank(1000, 400, 10, 0.3, random_state=0)[0],
    "3000x1000": lambda: make_low_rank(3000, 1000, 20, 0.3, random_state=0)[0],
    "5000x4000": lambda: make_low_rank(5000, 4000, 20, 0.3, random_state=0)[0],
}
VALIDATED = 5e6  # entries, at most, of a matrix that is cross-validated


def fit_seconds(X: Any, rule: str, seed: int) -> tuple[float, float]:
    """Of a fit, and of one whose path is read, too: the default has ranks that wait until then."""
    began = time.perf_counter()
    model = AutoNMF(rule=rule, random_state=seed).fit(X)
    fitted = time.perf_counter()
    _ = model.path_
    return fitted - began, time.perf_counter() - began


def first_matrix(family: Family) -> Any:
    return family.generate(family.seeds_of(FINAL_SEEDS)[0]).X


def matrices() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The matrices above, and the first of each family."""
    yield from MATRICES.items()
    for family in choose_families("all"):
        if family.group != "paper" and family.available():
            yield family.name, partial(first_matrix, family)


def main(arguments: Sequence[str] | None = None) -> None:
    warnings.simplefilter("ignore", UserWarning)  # some matrices hold nothing
    rows, ratios = [], []
    for name, make in matrices():
        X = make()
        fit_seconds(X, "auto", 0)  # what is loaded or compiled once is loaded now
        rounds = [[*fit_seconds(X, "auto", s), *fit_seconds(X, "marginal", s)] for s in range(REPEATS)]
        ours, ours_read, paper, paper_read = map(statistics.median, zip(*rounds, strict=True))
        folds = fraction = "-"
        if name in MATRICES and X.size <= VALIDATED:
            began = time.perf_counter()
            cross_validate(X, ranks=range(2, 51), random_state=0)
            validation = time.perf_counter() - began
            folds, fraction = f"{validation:.1f}", f"{ours / validation:.3f}"
        ratios.append((ours / paper, ours_read / paper_read))
        costs = (f"{ratio:.2f}" for ratio in ratios[-1])
        rows.append((name, f"{ours:.3f}", f"{paper:.3f}", *costs, folds, fraction))
        say(f"measured: {name}")
    header = ("matrix", "auto, s", "marginal, s", "auto / marginal", "with path_", "five-fold, s")
    print_table((*header, "auto / five-fold"), rows)
    for what, values in zip(("auto / marginal", "with path_"), zip(*ratios, strict=True), strict=True):
        print(f"{what}: {min(values):.2f} to {max(values):.2f}")
    print(f"Medians of {REPEATS}, in turns, one process; the cross-validation of ranks 2 to 50 once.")
