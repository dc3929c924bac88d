"""The command: run the paper's experiments, write the page and print the verdict on each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.paper import EXPERIMENTS, Report, Scale, reproduce
from experiments.shared import Failure, check_folder, print_json, print_table, run_command, say


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        "python -m experiments.paper",
        description="Run the paper's experiments again, and write a page with its numbers beside ours.",
        epilog="Example: python -m experiments.paper synthetic --quick --out reproduction",
    )
    parser.add_argument(
        "experiment",
        nargs="?",
        default="all",
        choices=("all", *EXPERIMENTS),
        metavar="EXPERIMENT",
        help=f"which one: all (default), {', '.join(EXPERIMENTS)}",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a look at everything: about three minutes")
    size.add_argument("--full", action="store_true", help="every line of the paper's tables: about an hour")
    parser.add_argument(
        "--data-home",
        metavar="FOLDER",
        help="where the data sets are, or are downloaded to; default: $AUTONMF_DATA, then a cache",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("reproduction"),
        metavar="FOLDER",
        help="where results go, and where a run that was stopped continues (default: reproduction)",
    )
    parser.add_argument(
        "--redraw", action="store_true", help="run nothing: write the page again from what is there"
    )
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return parser


def command(arguments: Sequence[str] | None) -> None:
    """Run what is missing, write the page and print the verdicts."""
    options = make_parser().parse_args(arguments)
    check_folder(options.out)
    scale = Scale.quick if options.quick else Scale.full if options.full else Scale.standard
    names = list(EXPERIMENTS) if options.experiment == "all" else [options.experiment]
    try:
        report = reproduce(
            names, scale, options.out, data_home=options.data_home, redraw=options.redraw, quiet=options.json
        )
    except ModuleNotFoundError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        say(f"note: finished cells are kept in {options.out}: the same command continues from there")
        raise
    if options.json:
        _print_json(report)
    else:
        _print(report)


def _print_json(report: Report) -> None:
    print_json(
        {
            "verdicts": {
                name: {"verdict": verdict.word, "claims": verdict.summary}
                for name, verdict in report.verdicts.items()
            },
            "missing": [
                {
                    "experiment": lost.experiment,
                    "cell": lost.name,
                    "failed": lost.failed,
                    "reason": lost.reason,
                }
                for lost in report.missing
            ],
            "computed": report.computed,
            "pages": [str(page) for page in report.pages],
        }
    )


def _print(report: Report) -> None:
    rows = [(name, verdict.word, verdict.summary) for name, verdict in report.verdicts.items()]
    print_table(("experiment", "verdict", "claims"), rows)
    failed = [lost for lost in report.missing if lost.failed]
    if absent := len(report.missing) - len(failed):
        say(f"note: {absent} cells have no result: their data are not available, or they were not run")
    for lost in failed:
        say(f"warning: {lost.experiment}: {lost.name} failed: {lost.reason}")
    print(f"Written to {' and '.join(str(page) for page in report.pages)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_command(command, arguments)


if __name__ == "__main__":
    sys.exit(main())
