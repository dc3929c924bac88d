"""What happens with bad inputs, damaged files, killed processes, full disks and many fits at once.

    python -m experiments.reliability            # about ten minutes; writes docs/reliability.md
    python -m experiments.reliability --quick    # about a minute

Every line of the page is a fault, tried with the seeds 0, 1, ... in a process of its own; what happened is
counted. The exit code is 1 if any promise was broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from experiments.reliability.damage import DAMAGE
from experiments.reliability.edges import EDGES
from experiments.reliability.ended import ENDS
from experiments.reliability.entries import ENTRIES, INPUTS
from experiments.reliability.faults import Fault, Row, try_fault
from experiments.reliability.larger import LARGER
from experiments.reliability.many_fits import SHARING, SOAK
from experiments.shared import ROOT, installed_version, machine_facts

ABOUT = "What happens with bad inputs, damaged files, killed processes, full disks and many fits at once."
PAGE = ROOT / "docs" / "reliability.md"
GROUPS: dict[str, list[Fault]] = {
    "Bad inputs": INPUTS,
    "Every entry point, on many kinds of matrices": ENTRIES,
    "Numerical edges": EDGES,
    "Damaged files": DAMAGE,
    "Killed processes, interrupts and full disks": ENDS,
    "Larger than memory": LARGER,
    "Threads and processes": SHARING,
    "Memory, files and threads over many fits": SOAK,
}
"""Everything that is tried."""


LIBRARIES = ("pandas", "pyarrow", "h5py", "joblib")

INTRODUCTION = """\
# Reliability

This page lists what happens with invalid data, damaged files, killed processes, full disks and many
concurrent fits. Each line is a fault that was caused on purpose, with the seeds 0, 1, ... up to the number
of trials, in a process of its own. The page is written by

```console
python -m experiments.reliability            # about ten minutes; writes this page
python -m experiments.reliability --quick    # about a minute; part of the test suite
```

A line is green if every trial had the expected outcome. An undocumented error, a NumPy warning, NaN, a crash
or a hang makes it red. "Refused" means an error that says what to do: `ValueError` or `TypeError`, or
`ReadError` for files. "No worse than rank one" means that at every rank of a path or a model the loss is at
most ½(‖X‖² - σ₁²), the smallest loss of any rank-one matrix, up to 1e-6 of ½‖X‖² in single precision.
"""


def page(rows: list[Row], seconds: float, *, quick: bool) -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_total(rows, seconds, quick), *_tables(rows), *_failures(rows)]) + "\n"


def _total(rows: list[Row], seconds: float, quick: bool) -> Iterator[str]:
    trials, green = sum(row.trials for row in rows), sum(row.green for row in rows)
    known = machine_facts() | {library: installed_version(library) for library in LIBRARIES}
    mode = "quick" if quick else "full"
    yield f"**{green} of {len(rows)} lines are green, after {trials:,} trials.**"
    yield ""
    when = datetime.now(UTC).strftime("%d %B %Y").lstrip("0")
    versions = ", ".join(f"{name} {value}" for name, value in known.items())
    yield f"{when}, {mode} run, {seconds / 60:.0f} minutes; {versions}."


def _tables(rows: list[Row]) -> Iterator[str]:
    for group, members in groupby(rows, key=lambda row: row.group):
        yield f"\n## {group}\n"
        yield "| | test | expected | trials | outcomes |"
        yield "|---|---|---|---:|---|"
        yield from map(_line, members)


def _line(row: Row) -> str:
    happened = [f"{what}: {count}" for what, count in row.outcomes.most_common()]
    happened += [f"**broken: {len(row.failures)}**"] if row.failures else []
    cells = (
        "🟢" if row.green else "🔴",
        row.fault.name,
        row.fault.promise,
        str(row.trials),
        "; ".join(happened),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _failures(rows: list[Row]) -> Iterator[str]:
    if all(row.green for row in rows):
        return
    yield "\n## Failures\n"
    for row in rows:
        for seed, what in row.failures[:5]:
            yield f"- {row.fault.name}, seed {seed}: `{what}`"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m experiments.reliability", description=ABOUT)
    parser.add_argument("--quick", action="store_true", help="few trials of each fault")
    parser.add_argument("--only", default="", help="faults whose group or name has this text")
    parser.add_argument("--out", type=Path, help="where the page goes; a full run of all: docs")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    rows: list[Row] = []
    for group, faults in GROUPS.items():
        for fault in faults:
            if options.only.lower() in f"{group}: {fault.name}".lower():
                start = time.monotonic()
                rows.append(try_fault(group, fault, fault.quick if options.quick else fault.full))
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
