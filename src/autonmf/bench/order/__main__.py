"""``python -m autonmf.bench.order``: run the benchmark from the command line."""

from __future__ import annotations

import argparse

from autonmf.bench.order.family import DESIGN_SEEDS, FINAL_SEEDS
from autonmf.bench.order.run import run_order


def main() -> None:
    """Parse the command and run."""
    parser = argparse.ArgumentParser("autonmf.bench.order", description="A benchmark of rank selection.")
    parser.add_argument(
        "--families", nargs="+", default=["design"], help="families, groups, design, held-out, all"
    )
    parser.add_argument("--methods", nargs="+", help="by default every method there is")
    parser.add_argument("--seeds", nargs="+", default=["design"], help="design, final, or numbers")
    parser.add_argument("--out", help="folder to keep rows in, and to go on from")
    parser.add_argument("--quick", action="store_true", help="first seed, no large families")
    parser.add_argument("--fresh", action="store_true", help="compute rows again that are there")
    options = parser.parse_args()
    named = {"design": DESIGN_SEEDS, "final": FINAL_SEEDS}
    seeds = [seed for word in options.seeds for seed in named.get(word) or [int(word)]]
    run_order(options.families, options.methods, seeds, options.out, options.quick, fresh=options.fresh)


if __name__ == "__main__":
    main()
