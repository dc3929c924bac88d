"""Scores on the terminal: one line a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autonmf.bench.order.cells import SUMMARY, cells, percent
from autonmf.bench.order.objective import Row
from autonmf.bench.order.ranking import OURS, groups_of, ranked_by_group, ranked_overall

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 120  # columns of the table where there is no terminal


def score_table(rows: Sequence[Row]) -> Table:
    """Every method with its scores overall, and the share of exact answers in each group."""
    from rich import box
    from rich.table import Table

    groups = groups_of(rows)
    exact = {(one.where, one.method): one.score.exact for one in ranked_by_group(rows)}
    table = Table("method", title="Rank selection", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (*SUMMARY, *(f"exact,\n{group}" for group in groups)):
        table.add_column(name.replace(" ", "\n", 1), justify="right")
    for one in ranked_overall(rows):
        name = f"{one.method} (ours)" if one.method == OURS else one.method
        by_group = [percent(exact.get((group, one.method))) for group in groups]
        table.add_row(name, *cells(one, SUMMARY), *by_group, style="bold" if one.method == OURS else None)
    return table


def print_scores(rows: Sequence[Row]) -> None:
    """Print the table."""
    from rich.console import Console

    console = Console()
    (console if console.is_terminal else Console(width=WIDTH)).print(score_table(rows))
