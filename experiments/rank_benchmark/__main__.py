"""The command: methods of rank selection on matrices of known rank."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.rank_benchmark.families import DESIGN_SEEDS, FINAL_SEEDS, choose_families
from experiments.rank_benchmark.page import PAGE, print_scores
from experiments.rank_benchmark.run import Watcher, describe, find_methods, run_order, skipped
from experiments.rank_benchmark.scores import Row
from experiments.shared import BAD_USAGE, Failure, check_folder, print_json, run_command, say

LOG_EVERY = 5.0
"""Seconds between two lines of progress."""


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        "python -m experiments order",
        description="How often each method finds the number of components, on matrices where it is known. "
        "NAMES and SEEDS are separated by commas; options can be repeated, too.",
        epilog="Example: python -m experiments order --families semi,real --methods auto,elbow --out results",
    )
    parser.add_argument(
        "--families",
        action="append",
        metavar="NAMES",
        help="families or groups (paper, synthetic, semi, real), design (default), held-out or all",
    )
    parser.add_argument("--methods", action="append", metavar="NAMES", help="default: every method there is")
    parser.add_argument(
        "--seeds", action="append", metavar="SEEDS", help="numbers, design (default) or final"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one seed, no large families, no slow methods: a minute or two"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write a page there; a run that was stopped continues from there",
    )
    parser.add_argument("--fresh", action="store_true", help="compute again what is in FOLDER")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return parser


def command(arguments: Sequence[str] | None) -> None:
    """Ask what is missing, print the scores, and write a page where a folder is given."""
    options = make_parser().parse_args(arguments)
    out: Path | None = options.out
    check_folder(out)
    families = _split(options.families or ["design"])
    methods = None if options.methods is None else _split(options.methods)
    seeds = [seed for word in _split(options.seeds or ["design"]) for seed in _seeds(word)]
    try:
        if not (choose_families(families) and find_methods(methods) and seeds):
            raise ValueError("no families, no methods or no seeds to run")
    except ValueError as error:
        raise Failure(str(error), BAD_USAGE) from error
    try:
        rows = run_order(
            families, methods, seeds, out, options.quick, fresh=options.fresh, watcher=Progress()
        )
    except ValueError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        if out is not None:
            say(f"note: answers so far are kept in {out}: the same command continues from there")
        raise
    if not rows:
        raise Failure("nothing was run: no family is left, or none whose data are available")
    if options.json:
        answers = [asdict(row) for row in rows]
        print_json({"answers": answers, "page": None if out is None else str(out / PAGE)})
        return
    print_scores(rows)
    if out is not None:
        print(f"Written to {out / PAGE}")


def _split(values: Sequence[str]) -> list[str]:
    """Names given one at a time, or separated by commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _seeds(word: str) -> Sequence[int]:
    if word.isdecimal():
        return [int(word)]
    named = {"design": DESIGN_SEEDS, "final": FINAL_SEEDS}
    if word not in named:
        raise Failure(f"unknown seed {word!r}: give numbers, design or final", BAD_USAGE)
    return named[word]


class Progress(Watcher):
    """The last answer every `LOG_EVERY` seconds, on the standard error stream."""

    def __init__(self) -> None:
        super().__init__()
        self.done = self.total = 0
        self.last = time.monotonic()

    def begins(self, answers: int) -> None:
        self.total = answers

    def skips(self, family: str) -> None:
        say(f"note: {skipped(family)}")

    def answered(self, row: Row) -> None:
        self.done += 1
        if time.monotonic() - self.last >= LOG_EVERY:
            self.last = time.monotonic()
            say(f"{self.done} of {self.total}: {describe(row)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_command(command, arguments)


if __name__ == "__main__":
    sys.exit(main())
