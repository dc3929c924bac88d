"""`autonmf reproduce`: the paper's experiments, and the verdict on each."""

from __future__ import annotations

from typing import Any

from autonmf.cli.choices import Experiment
from autonmf.cli.console import print_json, print_table
from autonmf.cli.failure import BAD_USAGE, Failure, explained, say
from autonmf.cli.settings import Reproduction
from autonmf.reproduce import EXPERIMENTS, Report, Scale, reproduce


def run(wanted: Reproduction) -> None:
    """Run what is missing, write the page and print the verdicts."""
    out = wanted.out
    if wanted.quick and wanted.full:
        raise Failure("--quick and --full exclude each other", BAD_USAGE)
    if out.exists() and not out.is_dir():
        raise Failure(f"--out {out} is a file; name a folder", BAD_USAGE)
    scale = Scale.quick if wanted.quick else Scale.full if wanted.full else Scale.standard
    names = list(EXPERIMENTS) if wanted.experiment is Experiment.all else [wanted.experiment.value]
    home = None if wanted.data_home is None else str(wanted.data_home)
    try:
        with explained(f"write to {out}"):
            report = reproduce(names, scale, out, data_home=home, redraw=wanted.redraw, quiet=wanted.json)
    except ModuleNotFoundError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        say("note", f"finished cells are kept in {out}: the same command goes on from there")
        raise
    if wanted.json:
        print_json(_figures(report))
    else:
        _show(report)


def _figures(report: Report) -> dict[str, Any]:
    return {
        "verdicts": {
            name: {"verdict": verdict.word, "claims": verdict.summary}
            for name, verdict in report.verdicts.items()
        },
        "missing": [
            {"experiment": lost.experiment, "cell": lost.name, "failed": lost.failed, "reason": lost.reason}
            for lost in report.missing
        ],
        "computed": report.computed,
        "pages": [str(page) for page in report.pages],
    }


def _show(report: Report) -> None:
    from rich import box
    from rich.table import Table

    table = Table("experiment", "verdict", "claims", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, verdict in report.verdicts.items():
        table.add_row(name, verdict.word, verdict.summary)
    print_table(table)
    failed = [lost for lost in report.missing if lost.failed]
    absent = len(report.missing) - len(failed)
    if absent:
        say("note", f"{absent} cells have no result: their data are not at hand, or they were not run")
    for lost in failed:
        say("warning", f"{lost.experiment}: {lost.name} failed: {lost.reason}")
    print(f"Written to {' and '.join(str(page) for page in report.pages)}")
