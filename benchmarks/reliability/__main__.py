"""What happens to bad inputs, damaged files, killed processes, full disks and crowded machines.

    python benchmarks/reliability            # about ten minutes; writes docs/reliability.md
    python benchmarks/reliability --quick    # about a minute

Every line of the page is a fault, tried with the seeds 0, 1, ... in a process of its own; what happened is
counted. The exit code is 1 if any promise was broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from document import page
from faults import Fault, Row, tried

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def groups() -> dict[str, list[Fault]]:
    """Everything that is tried."""
    from damage import DAMAGE
    from edges import EDGES
    from ended import ENDS
    from entries import ENTRIES
    from inputs import INPUTS
    from larger import LARGER
    from sharing import SHARING
    from soak import SOAK

    return {
        "Bad inputs": INPUTS,
        "Every entry point, on matrices of every kind": ENTRIES,
        "Numerical edges": EDGES,
        "Damaged files": DAMAGE,
        "Killed, interrupted, out of room": ENDS,
        "Larger than memory": LARGER,
        "Threads and processes": SHARING,
        "A long soak": SOAK,
    }


def main() -> int:
    parser = argparse.ArgumentParser("reliability", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few trials of each fault")
    parser.add_argument("--only", default="", help="faults whose group or name has this text")
    parser.add_argument("--out", type=Path, help="where the page goes; a full run of all: docs")
    options = parser.parse_args()
    began = time.monotonic()
    rows: list[Row] = []
    for group, faults in groups().items():
        for fault in faults:
            if options.only.lower() in f"{group}: {fault.name}".lower():
                start = time.monotonic()
                rows.append(tried(group, fault, fault.quick if options.quick else fault.full))
                _say(rows[-1], time.monotonic() - start)
    out = options.out or (None if options.quick or options.only else PAGE)
    if out is not None:
        out.write_text(page(rows, time.monotonic() - began, quick=options.quick), encoding="utf-8")
    broken = sum(not row.green for row in rows)
    print(f"{len(rows)} faults, {sum(row.trials for row in rows)} trials, {broken} broken promises")
    return int(broken > 0 or not rows)


def _say(row: Row, seconds: float) -> None:
    outcomes = ", ".join(f"{what} {count}" for what, count in row.outcomes.most_common())
    print(f"{'ok' if row.green else 'BROKEN':6} {seconds:6.1f} s  {row.fault.name}: {outcomes}", flush=True)
    for seed, what in row.failures[:5]:
        print(f"       seed {seed}: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
