"""How long it takes to start: ``python -m experiments startup`` on an idle machine.

`import autonmf` is compared with importing ``sklearn.base``, which every estimator needs anyway; bytecode is
compiled first. Runs take turns, so that a slow moment of the machine hits all of them; on a busy machine look
at the processor time.
"""

from __future__ import annotations

import argparse
import compileall
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import autonmf

COMMANDS: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "import sklearn.base": ("-c", "import sklearn.base"),
    "import autonmf": ("-c", "import autonmf"),
    "sklearn.base and autonmf": ("-c", "import sklearn.base, autonmf"),
    "from autonmf import AutoNMF": ("-c", "from autonmf import AutoNMF"),
}


class Cost(NamedTuple):
    """Seconds of one run, or their medians."""

    wall: float
    processor: float


def cost(command: Sequence[str]) -> Cost:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(runs: int) -> dict[str, Cost]:
    """Medians, after one run of each that does not count."""
    script = shutil.which("autonmf", path=str(Path(sys.executable).parent))
    commands = {name: [sys.executable, *rest] for name, rest in COMMANDS.items()}
    if script:
        commands["autonmf --help"] = [script, "--help"]
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            taken = cost(command)
            if run:
                costs[name].append(taken)
    return {name: Cost(*map(statistics.median, zip(*taken, strict=True))) for name, taken in costs.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m experiments startup", description="Print medians of start-up times."
    )
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args(arguments)
    compileall.compile_dir(Path(autonmf.__file__).parent, quiet=2)
    medians = measure(options.runs)
    print(f"{'seconds':<50}{'wall':>8}{'processor':>11}")
    for name, (wall, processor) in medians.items():
        print(f"{name:<50}{wall:8.3f}{processor:11.3f}")
    for name in ("sklearn.base and autonmf", "from autonmf import AutoNMF"):
        wall, processor = (
            ours - base for ours, base in zip(medians[name], medians["import sklearn.base"], strict=True)
        )
        print(f"{'above sklearn.base: ' + name:<50}{wall:8.3f}{processor:11.3f}")
