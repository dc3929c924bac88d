"""What happens with bad inputs, hostile files, killed processes, full disks and many fits at once.

    python -m experiments.reliability                    # about ten minutes; writes docs/reliability.md
    python -m experiments.reliability --inputs 100000 --kills 500 --deaths 20 --processes 2 --minutes 45
    python -m experiments.reliability --quick            # about a minute

Every line of the page is a fault, tried with the seeds 0, 1, ... in a process of its own; what happened is
counted. Results are kept for each line and range of seeds, so that a run that was stopped goes on with the
same command. The exit code is 1 if any promise was broken.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from experiments.reliability.damage import DAMAGE
from experiments.reliability.edges import EDGES
from experiments.reliability.ended import ENDS
from experiments.reliability.entries import ENTRIES, INPUTS
from experiments.reliability.faults import Fault, Row, try_fault
from experiments.reliability.hostile import HOSTILE
from experiments.reliability.kept import Kept, count_trials, merge, shards
from experiments.reliability.larger import LARGER
from experiments.reliability.many_fits import SHARING, SOAK
from experiments.reliability.stored import STORED
from experiments.shared import RESULTS, ROOT, installed_version, machine_facts, markdown_table

ABOUT = "What happens with bad inputs, hostile files, killed processes, full disks and many fits at once."
PAGE = ROOT / "docs" / "reliability.md"
GROUPS: dict[str, list[Fault]] = {
    "Bad inputs": INPUTS,
    "Every entry point, on many kinds of matrices": ENTRIES,
    "Numerical edges": EDGES,
    "Hostile files": HOSTILE,
    "Damaged files": DAMAGE,
    "Checkpoints and saved files": STORED,
    "Killed processes, interrupts and full disks": ENDS,
    "Larger than memory": LARGER,
    "Threads and processes": SHARING,
    "Memory, files and threads over many fits": SOAK,
}
"""Everything that is tried."""

COUNTED = {
    "inputs": "generated inputs",
    "kills": "processes killed at random moments",
    "deaths": "workers of a cluster killed",
}
"""What the options say the number of; the trials are divided among the lines."""


LIBRARIES = ("pandas", "pyarrow", "h5py", "zarr", "joblib")

INTRODUCTION = """\
# Reliability

This page lists what happens with invalid data, hostile and damaged files, killed processes, full disks and
many concurrent fits. Each line is a fault that was caused on purpose, with the seeds 0, 1, ... up to the
number of trials, in a process of its own. The page is written by

```console
python -m experiments.reliability            # about ten minutes; writes this page
python -m experiments.reliability --inputs 100000 --kills 500 --deaths 20 --processes 2
python -m experiments.reliability --quick    # about a minute; part of the test suite
```

Results are kept for each line and range of seeds, so that a run that was stopped goes on with the same
command; code that has changed is tried again.

A line is green if every trial had the expected outcome. An undocumented error, a NumPy warning, NaN, a crash
or a hang makes it red. "Refused" means an error that says what to do: `ValueError` or `TypeError`, or
`ReadError` for files. "No worse than rank one" means that at every rank of a path or a model the loss is at
most ½(‖X‖² - σ₁²), the smallest loss of any rank-one matrix, up to 1e-6 of ½‖X‖² in single precision.
"""


def page(rows: list[Row]) -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_total(rows), *_tables(rows), *_consistency(), *_failures(rows)]) + "\n"


def _total(rows: list[Row]) -> Iterator[str]:
    trials, green = sum(row.trials for row in rows), sum(row.green for row in rows)
    commits = ", ".join(sorted(set[str]().union(*(row.commits for row in rows))))
    known = machine_facts() | {library: installed_version(library) for library in LIBRARIES}
    known |= {"commit": commits} if commits else {}
    yield f"**{green} of {len(rows)} lines are green, after {trials:,} trials.**"
    yield ""
    counts = {
        what: sum(r.trials * r.fault.times for r in rows if r.fault.counted == what) for what in COUNTED
    }
    yield "Among them: " + ", ".join(f"{count:,} {COUNTED[what]}" for what, count in counts.items()) + "."
    yield ""
    when = datetime.now(UTC).strftime("%d %B %Y").lstrip("0")
    versions = ", ".join(f"{name} {value}" for name, value in known.items())
    minutes = sum(row.seconds for row in rows) / 60
    yield f"{when}, {minutes:.0f} minutes in all processes together; {versions}."


def _tables(rows: list[Row]) -> Iterator[str]:
    for group, members in groupby(rows, key=lambda row: row.group):
        yield f"\n## {group}\n"
        yield "| | test | expected | trials | outcomes |"
        yield "|---|---|---|---:|---|"
        yield from map(_line, members)


def _line(row: Row) -> str:
    happened = [f"{what}: {count}" for what, count in row.outcomes.most_common()]
    happened += [f"**broken: {len(row.failures)}**"] if row.failures else []
    happened += [] if row.trials else ["not tried"]
    cells = (
        "🟢" if row.green else "🔴",
        row.fault.name,
        row.fault.promise,
        str(row.trials),
        "; ".join(happened),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _consistency(file: Path = RESULTS / "consistency.json") -> Iterator[str]:
    """The rank of easy and hard matrices with other seeds, and with rows and columns in other orders."""
    if not file.exists():
        return
    found = json.loads(file.read_text(encoding="utf-8"))
    yield "\n## Other seeds, other orders of rows and columns\n"
    yield (
        "Matrices of every family of the benchmark, hard ones too, with five seeds or in five orders. An\n"
        "answer with a confidence of 0.9 or more is contradicted if another one of the same matrix has\n"
        "another rank."
    )
    yield f"`python -m experiments consistency`, commit {found['machine'].get('commit', 'unknown')}.\n"
    yield markdown_table(found["head"], found["rows"])


def _failures(rows: list[Row]) -> Iterator[str]:
    if all(row.green for row in rows):
        return
    yield "\n## Failures\n"
    for row in rows:
        for seed, what in row.failures[:5]:
            yield f"- {row.fault.name}, seed {seed}: `{what}`"


class Shard(NamedTuple):
    """Trials that are made together."""

    group: str
    line: int  # of the group
    start: int
    stop: int

    @property
    def fault(self) -> Fault:
        return GROUPS[self.group][self.line]

    @property
    def seeds(self) -> range:
        return range(self.start, self.stop)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m experiments.reliability", description=ABOUT)
    parser.add_argument("--quick", action="store_true", help="few trials of each fault; nothing is kept")
    parser.add_argument("--only", default="", help="faults whose group or name has this text")
    for what, about in COUNTED.items():
        parser.add_argument(f"--{what}", type=int, metavar="N", help=f"at least so many {about}")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="trials at a time; default: 1")
    parser.add_argument("--minutes", type=float, metavar="T", help="begin nothing after so many minutes")
    parser.add_argument("--keep", type=Path, default=ROOT / "results" / "reliability", metavar="FOLDER",
                        help="where results are kept, and a run that was stopped goes on; "
                        "default: results/reliability")  # fmt: skip
    parser.add_argument("--redraw", action="store_true", help="try nothing: write the page from what is kept")
    parser.add_argument("--out", type=Path, metavar="PAGE", help="where the page goes; of all lines: docs")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(arguments)
    everything = [(group, i, fault) for group, faults in GROUPS.items() for i, fault in enumerate(faults)]
    chosen = [one for one in everything if options.only.lower() in f"{one[0]}: {one[2].name}".lower()]
    wanted = {what: number for what in COUNTED if (number := getattr(options, what)) is not None}
    full = count_trials([fault for _, _, fault in everything], wanted)
    plan: dict[tuple[str, int], list[Shard]] = {}
    for group, line, fault in chosen:
        ranges = [range(fault.quick)] if options.quick else shards(fault, full[fault.name])
        plan[group, line] = [Shard(group, line, seeds.start, seeds.stop) for seeds in ranges]
    kept = None if options.quick else Kept(options.keep)
    found = {
        s: row
        for each in plan.values()
        for s in each
        if kept and (row := kept.get(s.group, s.fault, s.seeds))
    }
    pending = [] if options.redraw else [s for s in _in_turns(list(plan.values())) if s not in found]
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
    for shard, row in _try_all(pending, options.processes, deadline):
        found[shard] = row
        if kept:
            kept.put(row, shard.seeds)
        _say(row, shard)
    rows = [
        merge(group, fault, [found[shard] for shard in plan[group, line] if shard in found])
        for group, line, fault in chosen
    ]
    out = options.out or (None if options.quick or options.only else PAGE)
    if out is not None:
        out.write_text(page(rows), encoding="utf-8")
    left = sum(shard not in found for each in plan.values() for shard in each)
    broken = sum(bool(row.failures) for row in rows)
    print(f"{len(rows)} faults, {sum(row.trials for row in rows)} trials, {broken} broken promises", end="")
    print(f"; {left} ranges of seeds are left" if left else "")
    return int(not all(row.green for row in rows) or not rows)


def _in_turns(lines: list[list[Shard]]) -> list[Shard]:
    """The first shard of every line, then the second ones: each line has something early."""
    longest = max(map(len, lines), default=0)
    return [shards[turn] for turn in range(longest) for shards in lines if turn < len(shards)]


def _try_all(pending: list[Shard], processes: int, deadline: float | None) -> Iterator[tuple[Shard, Row]]:
    if processes == 1 or not pending:
        for shard in pending:
            if deadline is None or time.monotonic() < deadline:
                yield shard, _try(shard)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        left = iter(pending)
        running = {pool.submit(_try_in_process, shard): shard for shard in islice(left, processes)}
        while running:
            done = next(as_completed(running))
            shard, told = running.pop(done), done.result()
            if deadline is None or time.monotonic() < deadline:
                running |= {pool.submit(_try_in_process, after): after for after in islice(left, 1)}
            yield shard, Row(shard.group, shard.fault, *told)


def _try(shard: Shard) -> Row:
    row = try_fault(shard.group, shard.fault, shard.seeds)
    row.commits = {machine_facts().get("commit", "unknown")}
    return row


def _try_in_process(shard: Shard) -> tuple[Any, ...]:
    """What a row has beside its fault, which cannot be sent."""
    row = _try(shard)
    return row.seconds, row.commits, row.outcomes, row.failures


def _say(row: Row, shard: Shard) -> None:
    outcomes = ", ".join(f"{what} {count}" for what, count in row.outcomes.most_common())
    mark = "BROKEN" if row.failures else "ok"
    print(
        f"{mark:6} {row.seconds:6.1f} s  {row.fault.name}, {shard.start} to {shard.stop - 1}: {outcomes}",
        flush=True,
    )
    for seed, what in row.failures[:5]:
        print(f"       seed {seed}: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
