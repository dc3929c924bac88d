"""Table 1 of the paper at its smaller sizes: ranks found, and how good the factors are.

    python benchmarks/synthetic_ranks.py            # all: 3 sizes x 2 noises x 2 ranks x 3 seeds
    python benchmarks/synthetic_ranks.py --quick    # the smallest size, one seed

On the exact path, PASM and S-iPALM; on the paper's grid of 30 points, all four solvers, and for each miss the
ranks that the grid visited. "RE / scikit-learn" divides the recovery error of U, polished, by that of
scikit-learn's NMF fitted at r* to the same matrix: its best of three random starts.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

from rich.console import Console
from rich.table import Table
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF, rank_path, select_rank
from autonmf._types import Array
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error

SIZES = [(1000, 400), (1000, 800), (3000, 1000)]
NOISES = [0.1, 0.3]
RANKS = [10, 20]
EXACT = ["pasm", "s-ipalm"]
ADAPTIVE = ["palm", "ipalm", "s-ipalm", "pasm"]
TAU = 5.0


def reference_error(X: Array, U: Array, rank: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            NMF(rank, init="random", tol=1e-5, max_iter=1000, random_state=seed).fit_transform(X)
            for seed in range(3)
        ]
    return min(recovery_error(U, W) for W in fits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--exact", action="store_true", help="the exact path only")
    arguments = parser.parse_args()
    adaptive = [] if arguments.exact else ADAPTIVE
    sizes, seeds = (SIZES[:1], [0]) if arguments.quick else (SIZES, [0, 1, 2])
    console = Console(width=150)
    table = Table("n", "m", "noise", "r*", "seed", title=f"Ranks found (tau = {TAU:g})")
    for solver in EXACT:
        table.add_column(f"{solver} exact")
        table.add_column("RE / sklearn")
    for solver in adaptive:
        table.add_column(f"{solver} grid")
    hits = dict.fromkeys([*(f"{s} exact" for s in EXACT), *(f"{s} grid" for s in adaptive)], 0)
    worst, misses, total = 0.0, [], 0
    for (n, m), noise, rank, seed in itertools.product(sizes, NOISES, RANKS, seeds):
        X, U, _ = make_low_rank(n, m, rank, noise, random_state=seed)
        reference = reference_error(X, U, rank)
        row, total = [str(n), str(m), f"{noise:g}", str(rank), str(seed)], total + 1
        for solver in EXACT:
            model = AutoNMF(solver=solver, tau=TAU, random_state=seed)
            W = model.fit_transform(X)
            ratio = recovery_error(U, W) / reference
            worst = max(worst, ratio)
            hits[f"{solver} exact"] += model.n_components_ == rank
            row += [str(model.n_components_), f"{ratio:.4f}"]
        for solver in adaptive:
            path = rank_path(X, solver=solver, grid="adaptive", random_state=seed)
            found = select_rank(path, tau=TAU).rank
            hits[f"{solver} grid"] += found == rank
            row.append(str(found))
            if found != rank:
                visited = " ".join(str(visit.rank) for visit in path.visits)
                misses.append(
                    f"{n}x{m} noise {noise:g} r* {rank} seed {seed} {solver}: {found}; visited {visited}"
                )
        table.add_row(*row)
    console.print(table)
    console.print(f"hits of {total}: " + ", ".join(f"{name} {count}" for name, count in hits.items()))
    console.print(f"largest RE / scikit-learn on the exact path: {worst:.4f}")
    if arguments.exact:
        return
    console.print("misses of the paper's grid, with the ranks that it visited:" if misses else "no miss")
    for miss in misses:
        console.print("  " + miss, soft_wrap=True)


if __name__ == "__main__":
    main()
