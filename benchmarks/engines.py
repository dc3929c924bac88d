"""The compressed engine against the direct one on the 24 configurations of Table 1: rank and recovery error.

python benchmarks/engines.py
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from autonmf import AutoNMF
from autonmf.bench.order.datasets.paper import SIZES
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error


def main() -> None:
    table = Table(
        "n", "m", "noise", "r*", "rank, direct", "rank, compressed", "RE direct", "RE compressed / direct"
    )
    worst, misses = 1.0, 0
    for n, m in SIZES:
        for noise in (0.1, 0.3):
            for rank in (10, 20):
                X, U, _ = make_low_rank(n, m, rank, noise, random_state=0)
                models = [AutoNMF(engine=engine, random_state=0) for engine in ("direct", "compressed")]
                errors = [recovery_error(U, model.fit_transform(X)) for model in models]
                found = [model.n_components_ for model in models]
                ratio = errors[1] / errors[0]
                worst, misses = max(worst, ratio, 1 / ratio), misses + sum(k != rank for k in found)
                table.add_row(*map(str, (n, m, noise, rank, *found)), f"{errors[0]:.5f}", f"{ratio:.4f}")
    console = Console(width=120)
    console.print(table)
    console.print(f"wrong ranks: {misses}; largest difference of recovery errors: {worst - 1:.2%}")


if __name__ == "__main__":
    main()
