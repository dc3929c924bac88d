"""All ranks, the choice and the polish, beside one fit at the known rank by each of several packages.

    python -m experiments peers
    python -m experiments peers --matrix 1000       # only matrices whose name contains this

The peers start from random factors and keep their default tolerance: scikit-learn's NMF (at most 500
iterations) and MiniBatchNMF, and nmf-torch, which is skipped where it is not installed (``pip install
nmf-torch``). All take turns in one process; medians. Errors are ‖X - WH‖ computed in the same way.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from statistics import median

import numpy as np
from sklearn.decomposition import NMF, MiniBatchNMF
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF
from experiments.core import Array
from experiments.shared import print_table, run_command, say
from experiments.speed.timings import PAPER, SHAPES

Fit = Callable[[Array, int, int], tuple[Array, Array]]


def find_peers() -> dict[str, Fit]:
    """Functions from X, a rank and a seed to (W, H), by name; those that are installed."""
    peers: dict[str, Fit] = {"autonmf": _fit_ours, "scikit-learn": _fit_sklearn, "MiniBatchNMF": _fit_batches}
    try:
        run_nmf = import_module("nmf").run_nmf
    except (ImportError, AttributeError):
        say("skipped: nmf-torch is not installed")
        return peers

    def fit_torch(X: Array, rank: int, seed: int) -> tuple[Array, Array]:
        W, H, _ = run_nmf(X, rank, init="random", random_state=seed, fp_precision="double")
        return np.asarray(W), np.asarray(H)

    return peers | {"nmf-torch": fit_torch}


def _fit_ours(X: Array, _: int, seed: int) -> tuple[Array, Array]:
    model = AutoNMF(random_state=seed)
    return model.fit_transform(X), model.components_


def _fit_sklearn(X: Array, rank: int, seed: int) -> tuple[Array, Array]:
    model = NMF(rank, init="random", tol=1e-4, max_iter=500, random_state=seed)
    return model.fit_transform(X), model.components_


def _fit_batches(X: Array, rank: int, seed: int) -> tuple[Array, Array]:
    model = MiniBatchNMF(rank, init="random", random_state=seed)
    return model.fit_transform(X), model.components_


def compare(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments peers", description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each (default: 3)")
    parser.add_argument("--matrix", default="", help="only matrices whose name contains this")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    peers, rows = find_peers(), []
    for case in [*PAPER, *SHAPES]:
        if options.matrix not in case.name:
            continue
        X = case.load()
        AutoNMF(max_rank=2, random_state=0).fit(X)  # warm up: imports, pages
        seconds: dict[str, list[float]] = {name: [] for name in peers}
        errors: dict[str, list[float]] = {name: [] for name in peers}
        for seed in range(options.repeats):  # in turns
            for name, fit in peers.items():
                began = time.perf_counter()
                W, H = fit(X, case.rank, seed)
                seconds[name].append(time.perf_counter() - began)
                errors[name].append(float(np.linalg.norm(X - W @ H)))
        lowest = min(map(median, errors.values()))
        cells = [f"{median(seconds[p]):.3f} ({100 * (median(errors[p]) / lowest - 1):.2f} %)" for p in peers]
        rows.append((case.name, str(case.rank), *cells))
        say(f"measured: {'  '.join(rows[-1])}")
    print_table(("matrix", "rank", *peers), rows)
    print("Seconds, and in parentheses how far ‖X - WH‖ is above the lowest of the row.")


main = partial(run_command, compare)
