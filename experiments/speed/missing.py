"""Missing entries: what an iteration costs, which rank is found, how well, and how long a fit takes.

python -m experiments missing          # writes experiments/results/missing.json
python -m experiments missing --quick  # small sizes, one seed; writes nothing
OPENBLAS_NUM_THREADS=1 python -m experiments missing --cpu  # CPU seconds of one thread: for a busy machine
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any, TypeVar

import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error
from experiments.core import Array, one_pool, start_iterations, step_once
from experiments.shared import RESULTS, print_table

FIGURES = RESULTS / "missing.json"
SHARES = (0.0, 0.1, 0.3, 0.5)
SIZES = ((1000, 400), (3000, 1000), (5000, 4000))
RANKS = (5, 10, 20, 50)
CONFIGURATIONS = ((200, 100, 5, 0.1), (400, 200, 8, 0.3), (1000, 400, 10, 0.1), (1000, 400, 10, 0.3))
"""(n, m, rank, noise) whose rank and components are looked for."""

Row = dict[str, Any]
Prepare = Callable[[Array], Array]
Clock = Callable[[], float]
Result = TypeVar("Result")


def with_holes(X: Array, share: float, seed: int) -> Array:
    """A copy of X with NaN in place of a share of its entries, chosen at random."""
    Y = X.copy()
    Y[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return Y


def zeros(Y: Array) -> Array:
    """Zeros in place of missing entries."""
    return np.nan_to_num(Y)


def means(Y: Array) -> Array:
    """The mean of the column in place of missing entries."""
    return np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)


METHODS: dict[str, Prepare] = {"mask": np.asarray, "zeros": zeros, "means": means}


def iteration_costs(sizes: tuple[tuple[int, int], ...], rounds: int, clock: Clock) -> Iterator[Row]:
    """Seconds of an iteration of the path, stopping criterion included: X complete, or 30 % missing."""
    for n, m in sizes:
        X = make_low_rank(n, m, 10, 0.1, random_state=0)[0]
        matrices = [X, with_holes(X, 0.3, 0)]
        for rank in RANKS:
            states = start_iterations(matrices, rank)
            times: list[list[float]] = [[], []]
            for _ in range(rounds):
                for k, state in enumerate(states):
                    seconds, states[k] = time_job(clock, partial(step_once, state))
                    times[k].append(seconds)
            direct, masked = (median(some) for some in times)
            ratio = median(b / a for a, b in zip(*times, strict=True))
            yield {"n": n, "m": m, "rank": rank, "direct": direct, "masked": masked, "ratio": ratio}


def time_job(clock: Clock, job: Callable[[], Result]) -> tuple[float, Result]:
    began = clock()
    result = job()
    return clock() - began, result


def recoveries(configurations: tuple[tuple[int, int, int, float], ...], seeds: int) -> Iterator[Row]:
    """The rank that is found, the recovery error of U there, and the error at the missing entries."""
    for n, m, rank, noise in configurations:
        for share in SHARES:
            for method, prepare in METHODS.items():
                if share == 0 and method != "mask":
                    continue
                found = [one_recovery(n, m, rank, noise, share, prepare, seed) for seed in range(seeds)]
                ranks, errors, predictions = (list(some) for some in zip(*found, strict=True))
                yield {
                    "n": n, "m": m, "rank": rank, "noise": noise, "missing": share, "method": method,
                    "found": ranks, "recovery": middle(errors), "prediction": middle(predictions),
                }  # fmt: skip


def one_recovery(
    n: int, m: int, rank: int, noise: float, share: float, prepare: Prepare, seed: int
) -> tuple[int, float | None, float | None]:
    X, U, V = make_low_rank(n, m, rank, noise, random_state=seed)
    Y = with_holes(X, share, 100 + seed)
    model = AutoNMF(missing="mask", random_state=seed)
    W = model.fit_transform(prepare(Y))
    truth, unknown = U @ V.T, np.isnan(Y)
    missed = (W @ model.components_ - truth)[unknown]
    error = recovery_error(U, W) if model.n_components_ == rank else None
    prediction = np.linalg.norm(missed) / np.linalg.norm(truth[unknown]) if unknown.any() else None
    return model.n_components_, error, None if prediction is None else float(prediction)


def middle(values: list[float | None]) -> float | None:
    """The median of what there is."""
    some = [value for value in values if value is not None]
    return median(some) if some else None


def totals(sizes: tuple[tuple[int, int], ...], rounds: int, clock: Clock) -> Iterator[Row]:
    """Seconds of a whole fit: the default on complete X, the same without compression, and 30 % missing."""
    for n, m in sizes:
        X = make_low_rank(n, m, 10, 0.1, random_state=0)[0]
        Y = with_holes(X, 0.3, 0)
        fits = {
            "default": (AutoNMF(random_state=0), X),
            "direct": (AutoNMF(engine="direct", random_state=0), X),
            "masked": (AutoNMF(missing="mask", random_state=0), Y),
        }
        times: dict[str, list[float]] = {name: [] for name in fits}
        for _ in range(rounds):
            for name, (model, data) in fits.items():
                times[name].append(time_job(clock, partial(model.fit, data))[0])
        seconds = {name: median(some) for name, some in times.items()}
        found = fits["masked"][0].n_components_
        yield {"n": n, "m": m, "found": found, **seconds, "ratio": seconds["masked"] / seconds["default"]}


def show(title: str, rows: Iterator[Row]) -> list[Row]:
    """Print the rows as a table, and return them."""
    kept = list(rows)
    lines = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in kept]
    print_table(list(kept[0]), lines, title)
    return kept


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m experiments missing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, one seed, nothing written")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds")
    parser.add_argument("--seeds", type=int, default=5, help="matrices of each configuration")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many sizes, from the smallest")
    options = parser.parse_args(arguments)
    clock = time.process_time if options.cpu else time.perf_counter
    quick: bool = options.quick
    sizes = SIZES[: 1 if quick else options.sizes]
    configurations = CONFIGURATIONS[: 2 if quick else None]
    rounds, seeds = (1, 1) if quick else (3, options.seeds)
    with one_pool():
        costs = show("an iteration, s", iteration_costs(sizes, 5 * rounds, clock))
    found = show("ranks found", recoveries(configurations, seeds))
    whole = show("a fit, s", totals(sizes, rounds, clock))
    if not quick:
        FIGURES.write_text(
            json.dumps({"iterations": costs, "recovery": found, "fits": whole}, indent=1) + "\n"
        )
