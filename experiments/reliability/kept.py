"""Results of trials in files: one for each line of the page and range of seeds."""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import autonmf
from experiments.paper.store import without_docstrings
from experiments.reliability.faults import Fault, Row
from experiments.shared import ROOT, machine_facts, replace_file

PACKAGE = Path(autonmf.__file__).parent
SHARED = ("reliability/faults.py", "core.py")
"""What every trial uses of the experiments, beside the module of its own."""


def count_trials(faults: list[Fault], wanted: dict[str, int]) -> dict[str, int]:
    """Trials of each fault by name: as many as are wanted of what is counted, in the usual proportions."""
    usual = Counter[str]()
    for fault in faults:
        usual[fault.counted] += fault.full * fault.times
    return {
        fault.name: math.ceil(fault.full * wanted[fault.counted] / usual[fault.counted])
        if fault.counted in wanted
        else fault.full
        for fault in faults
    }


def shards(fault: Fault, trials: int) -> list[range]:
    """The seeds in ranges; most of them stay the same if there are more trials."""
    size = trials if fault.in_turn else math.ceil(fault.full / 2)
    return [range(start, min(start + size, trials)) for start in range(0, trials, max(size, 1))]


class Kept:
    """The results in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, group: str, fault: Fault, seeds: range) -> Row | None:
        """What these trials gave with the code as it is now."""
        try:
            found = json.loads(self._file(group, fault, seeds).read_text(encoding="utf-8"))
            if found["code"] != digest_of(fault):
                return None
            failures = [(seed, what) for seed, what in found["failures"]]
            outcomes = Counter[str](found["outcomes"])
            return Row(group, fault, found["seconds"], {found["commit"]}, outcomes, failures)
        except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or not one of ours
            return None

    def put(self, row: Row, seeds: range) -> None:
        file = self._file(row.group, row.fault, seeds)
        file.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "fault": row.fault.name,
            "code": digest_of(row.fault),
            "commit": machine_facts().get("commit", "unknown"),
            "seconds": row.seconds,
            "outcomes": row.outcomes,
            "failures": row.failures,
        }
        replace_file(file, json.dumps(content) + "\n")

    def _file(self, group: str, fault: Fault, seeds: range) -> Path:
        name = hashlib.sha256(f"{group}: {fault.name}".encode()).hexdigest()[:12]
        return self.folder / name / f"{seeds.start}-{seeds.stop}.json"


def merge(group: str, fault: Fault, rows: list[Row]) -> Row:
    """One line from the results of its shards."""
    return Row(
        group,
        fault,
        sum(row.seconds for row in rows),
        set[str]().union(*(row.commits for row in rows)),
        sum((row.outcomes for row in rows), Counter[str]()),
        [failure for row in rows for failure in row.failures],
    )


def digest_of(fault: Fault) -> str:
    """Changes with the code of the package and of the trial, not with comments or docstrings."""
    attempt = fault.attempt
    while isinstance(attempt, partial):
        attempt = attempt.func
    return _digest(attempt.__module__)


@cache
def _digest(module: str) -> str:
    total = hashlib.sha256(_digest_of_package())
    for file in (
        ROOT.joinpath(*module.split(".")).with_suffix(".py"),
        *(ROOT / "experiments" / s for s in SHARED),
    ):
        total.update(_code(file))
    return total.hexdigest()[:12]


@cache
def _digest_of_package() -> bytes:
    total = hashlib.sha256()
    for file in sorted(_sources()):
        total.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + _code(file))
    return total.digest()


def _sources() -> Iterator[Path]:
    for suffix in (".py", ".c", ".h"):
        yield from PACKAGE.rglob(f"*{suffix}")


def _code(file: Path) -> bytes:
    if file.suffix != ".py":
        return file.read_bytes()
    return ast.dump(without_docstrings(ast.parse(file.read_text(encoding="utf-8")))).encode()
