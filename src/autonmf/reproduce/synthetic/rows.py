"""The results of Table 1 by configuration and method."""

from __future__ import annotations

from typing import Any

from autonmf.reproduce.experiment import Results
from autonmf.reproduce.paper_numbers import Config
from autonmf.reproduce.readings import reading_of

Lines = dict[Config, dict[str, list[dict[str, Any]]]]


def lines_of(results: Results, reading: str = "as read") -> Lines:
    """Rows by configuration and method, in the order of the seeds."""
    found: Lines = {}
    for done in results:
        if reading_of(done.parameters) == reading:
            for row in done.rows:
                config = Config(row["n"], row["m"], row["noise"], row["rank"])
                found.setdefault(config, {}).setdefault(row["method"], []).append(row)
    return found


def hits(lines: Lines, method: str) -> tuple[int, int]:
    """Right ranks, and how many there are."""
    answers = [row["found"] == config.rank for config, by in lines.items() for row in by.get(method, [])]
    return sum(answers), len(answers)
