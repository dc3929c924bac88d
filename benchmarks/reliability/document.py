"""The page, from what was counted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby

from faults import Row

from autonmf.reproduce.machine import facts

LIBRARIES = ("pandas", "pyarrow", "h5py", "joblib")

INTRODUCTION = """\
# Reliability

What happens when something is wrong: with the data, with a file, with the machine. Each line is a fault that
was brought about on purpose, with the seeds 0, 1, ... up to the number of trials, each fault in a process of
its own. Everything on this page was counted by

```console
python benchmarks/reliability            # about ten minutes; writes this page
python benchmarks/reliability --quick    # about a minute, and part of the test suite
```

An outcome that the line does not promise, an undocumented error, a warning of NumPy, NaN, a crash or a hang
turns the line red. "Refused" is an error that says what to do (`ValueError` or `TypeError`; `ReadError` for
files). "No worse than rank one": at every rank of a path or a model the loss is at most ½(‖X‖² - σ₁²), the
least of any matrix of rank one; single precision may be off by 1e-6 of ½‖X‖².
"""


def page(rows: list[Row], seconds: float, *, quick: bool) -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_total(rows, seconds, quick), *_tables(rows), *_failures(rows)]) + "\n"


def _total(rows: list[Row], seconds: float, quick: bool) -> Iterator[str]:
    trials, green = sum(row.trials for row in rows), sum(row.green for row in rows)
    known = facts() | {library: _installed(library) for library in LIBRARIES}
    mode = "quick" if quick else "full"
    yield f"**{green} of {len(rows)} lines are green, after {trials:,} trials.**"
    yield ""
    when = datetime.now(UTC).strftime("%d %B %Y").lstrip("0")
    versions = ", ".join(f"{name} {value}" for name, value in known.items())
    yield f"{when}, {mode} run, {seconds / 60:.0f} minutes; {versions}."


def _tables(rows: list[Row]) -> Iterator[str]:
    for group, members in groupby(rows, key=lambda row: row.group):
        yield f"\n## {group}\n"
        yield "| | what is done | promise | tried | what happened |"
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
    yield "\n## Broken promises\n"
    for row in rows:
        for seed, what in row.failures[:5]:
            yield f"- {row.fault.name}, seed {seed}: `{what}`"


def _installed(library: str) -> str:
    try:
        return version(library)
    except ImportError:
        return "not installed"
