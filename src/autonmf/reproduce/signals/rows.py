"""The results of Table 2 by data set and method."""

from __future__ import annotations

from typing import Any

from autonmf.reproduce.cell import Done
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.paper_numbers import TABLE_2, Answer
from autonmf.reproduce.readings import reading_of
from autonmf.reproduce.work.inputs import SIGNALS

Lines = dict[str, dict[str, list[dict[str, Any]]]]

PAPER_METHOD = {"s-ipalm": "ipalm", "pasm": "pasm", "svht": "svht"}
"""The names in Table 2, whose iPALM is the balanced one."""

OTHER_INPUT = ("wos", "jasper-ridge")
"""Not the matrix of the paper: a sample of the abstracts, 198 of the 224 bands."""


def paper_answer(data: str, method: str) -> Answer | None:
    """What the paper has for a method on a data set; None for variants."""
    if SIGNALS[data].variant:
        return None
    return TABLE_2[paper_name(data)].get(PAPER_METHOD.get(method, ""))


def paper_name(data: str) -> str:
    """Ours and the paper's data sets differ in names where we have two of one."""
    return {"swimmer-noisy": "swimmer", "pbmc3k-log": "pbmc3k"}.get(data, data)


def paths_of(results: Results, reading: str = "as read") -> list[Done]:
    """The finished paths of one reading."""
    return [done for done in results if done.curves and reading_of(done.parameters) == reading]


def lines_of(results: Results, reading: str = "as read") -> Lines:
    """Rows by data set and method, in the order of the seeds."""
    found: Lines = {}
    for done in results:
        if reading_of(done.parameters) == reading:
            for row in done.rows:
                found.setdefault(row["data"], {}).setdefault(row["method"], []).append(row)
    return found


def as_in_paper(lines: Lines) -> Lines:
    """Without the variants."""
    return {data: by for data, by in lines.items() if not SIGNALS[data].variant}
