"""The runs of Section VI-B by size, λ and algorithm."""

from __future__ import annotations

from typing import Any

from autonmf.reproduce import form
from autonmf.reproduce.experiment import Results

Groups = dict[tuple[str, str, str], list[dict[str, Any]]]
"""By (size, setting of λ, solver), in the order of the seeds."""


def groups_of(results: Results) -> Groups:
    """Rows by (size, setting, solver), over the seeds."""
    found: Groups = {}
    for done in results:
        for row in done.rows:
            found.setdefault((f"{row['n']}x{row['m']}", row["setting"], row["solver"]), []).append(row)
    return found


def _median(rows: list[dict[str, Any]], key: str) -> float | None:
    return form.middle(row[key] for row in rows)


def faster(groups: Groups, key: tuple[str, str, str], unit: str) -> Any:
    """How many times sooner than PALM the objective is where PALM stopped."""
    size, setting, _ = key
    palm = _median(groups[size, setting, "palm"], f"{unit}_to_palm")
    own = _median(groups[key], f"{unit}_to_palm")
    return palm / own if palm and own else None
