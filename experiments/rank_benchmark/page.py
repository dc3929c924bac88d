"""Scores as a Markdown page with a picture, and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from experiments.rank_benchmark.scores import (
    COLUMNS,
    LEGEND,
    OURS,
    SUMMARY,
    Row,
    columns_of,
    groups_of,
    percent,
    ranked_by_family,
    ranked_by_group,
    ranked_held_out,
    ranked_overall,
    uneven,
)
from experiments.shared import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PAGE, PICTURE = "page.md", "order.png"


def write_page(rows: Sequence[Row], folder: Path) -> None:
    """Write everything known about these rows to a folder; the picture only where matplotlib is installed."""
    drawn = draw(rows, folder / PICTURE)
    (folder / PAGE).write_text(page(rows, PICTURE if drawn else None), encoding="utf-8")


def page(rows: Sequence[Row], picture: str | None = None) -> str:
    """Scores overall, by group and by family, and every answer."""
    sections = {
        "# Rank selection": _introduction(rows),
        "## Overall": _overall(rows, picture),
        "## By group": _table(
            ("group", "method", *COLUMNS),
            (
                (one.where, _name(one.method), *columns_of(one, COLUMNS))
                for one in (*ranked_by_group(rows), *ranked_held_out(rows))
            ),
        ),
        "## By family": _table(
            ("family", "method", *COLUMNS),
            ((one.where, _name(one.method), *columns_of(one, COLUMNS)) for one in ranked_by_family(rows)),
        ),
        "## Every answer": _answers(rows),
    }
    if failures := [row for row in rows if row.rank is None]:
        sections["## Failures"] = "\n".join(
            f"- {row.family} seed {row.seed}, {row.method}: {row.error}" for row in failures
        )
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()) + "\n"


def _overall(rows: Sequence[Row], picture: str | None) -> str:
    lines = ((_name(one.method), *columns_of(one, SUMMARY)) for one in ranked_overall(rows))
    parts = [
        _table(("method", *SUMMARY), lines),
        f"In bold: {OURS}, the default of this package. {LEGEND}",
    ]
    if picture is not None:
        parts.insert(1, f"![Share of exact ranks by method and group]({picture})")
    return "\n\n".join(parts)


def _introduction(rows: Sequence[Row]) -> str:
    instances, families = {(row.family, row.seed) for row in rows}, {row.family for row in rows}
    seeds = sorted({row.seed for row in rows if row.group != "real"})
    held_out = "included" if any(row.held_out for row in rows) else "left out"
    text = (
        f"{len(instances)} instances of {len(families)} families, "
        f"seeds {', '.join(map(str, seeds)) or 'none'}, held-out families {held_out}. {_codes(rows)}"
    )
    if uneven(rows):
        text += " **Not every method has answered every instance: compare by family, or run the others too.**"
    return text


def _codes(rows: Sequence[Row]) -> str:
    codes = sorted({row.code for row in rows})
    if len(codes) == 1:
        return f"Code {codes[0]}."
    return f"**Answers of {len(codes)} states of the code are mixed ({', '.join(codes)}): run again, fresh.**"


def _answers(rows: Sequence[Row]) -> str:
    """One line per instance, one column per method."""
    methods = [one.method for one in ranked_overall(rows)]
    instances: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        instances.setdefault((row.family, row.seed), {})[row.method] = row
    return _table(
        ("family", "seed", "size", "truth", *map(_name, methods), "note"),
        (_line([answers.get(method) for method in methods]) for answers in instances.values()),
    )


def _line(answers: Sequence[Row | None]) -> Iterator[str]:
    one = next(row for row in answers if row is not None)
    yield from (one.family, str(one.seed), f"{one.n} x {one.m}", str(one.truth))
    yield from map(_rank, answers)
    yield one.note


def _rank(row: Row | None) -> str:
    if row is None:
        return ""
    text = "failed" if row.rank is None else str(row.rank)
    return f"**{text}**" if row.missed_by == 0 else text


def _name(method: str) -> str:
    return f"**{method}**" if method == OURS else method


def _table(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    names = list(header)
    rows = [names, ["---"] * len(names), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


ORANGE = "#D55E00"
DARK = 0.6
"""Shares above this are on a dark ground, and written in white."""


def draw(rows: Sequence[Row], file: Path) -> bool:
    """Draw a heat map, the best method on top; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    methods, columns, shares = exact_shares(rows)
    figure = Figure(figsize=(2.0 + 1.1 * len(columns), 1.3 + 0.34 * len(methods)))
    ax = figure.add_subplot()
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    ax.axvline(0.5, color="white", linewidth=5)
    sizes = [len({(row.family, row.seed) for row in rows if row.group == group}) for group in columns[1:]]
    _label(ax, methods, columns, ["mean of groups", *(f"{size} matrices" for size in sizes)])
    _write(ax, methods, shares, _few(rows, methods, columns, sizes))
    figure.savefig(file, dpi=130, bbox_inches="tight", pad_inches=0.15)
    return True


def exact_shares(rows: Sequence[Row]) -> tuple[list[str], list[str], Array]:
    """Methods, "overall" and the groups, and a share for each pair; NaN where there are no answers."""
    ranked = ranked_overall(rows)
    methods, columns = [one.method for one in ranked], ["overall", *groups_of(rows)]
    shares = np.full((len(methods), len(columns)), np.nan)
    for one in (*ranked, *ranked_by_group(rows)):
        shares[methods.index(one.method), columns.index(one.where)] = one.score.exact
    return methods, columns, shares


def _label(ax: Axes, methods: list[str], columns: list[str], below: list[str]) -> None:
    ax.set_xticks(range(len(columns)), [f"{name}\n{text}" for name, text in zip(columns, below, strict=True)])
    ax.set_yticks(range(len(methods)), methods)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("Share of exact ranks", loc="left", pad=12)
    for label in ax.get_yticklabels():
        if label.get_text() == OURS:
            label.set(color=ORANGE, weight="bold")


def _few(
    rows: Sequence[Row], methods: list[str], columns: list[str], sizes: list[int]
) -> dict[tuple[int, int], int]:
    """How many matrices of a group a method answered, where that is not all of them; 0: of some group."""
    few: dict[tuple[int, int], int] = {}
    for i, method in enumerate(methods):
        for j, (group, size) in enumerate(zip(columns[1:], sizes, strict=True), start=1):
            answered = sum(row.method == method and row.group == group for row in rows)
            if answered < size:
                few[i, j], few[i, 0] = answered, 0
    return few


def _write(ax: Axes, methods: list[str], shares: Array, few: dict[tuple[int, int], int]) -> None:
    for (i, j), share in np.ndenumerate(shares):
        text = percent(share) if np.isfinite(share) else "-"
        if (i, j) in few:
            text += f" of {few[i, j]}" if few[i, j] else " *"
        weight = "bold" if methods[i] == OURS else "normal"
        ax.text(
            j, i, text, ha="center", va="center", weight=weight, color="white" if share > DARK else "black"
        )
    if few:
        note = "* did not answer every matrix; 60% of 5: three right of five answered"
        ax.text(0, -0.03, note, transform=ax.transAxes, va="top", fontsize="small")


def print_scores(rows: Sequence[Row]) -> None:
    """Print every method with its scores overall, and the share of exact answers in each group."""
    groups = groups_of(rows)
    exact = {(one.where, one.method): one.score.exact for one in ranked_by_group(rows)}
    lines = []
    for one in ranked_overall(rows):
        name = f"{one.method} (ours)" if one.method == OURS else one.method
        by_group = [percent(exact.get((group, one.method))) for group in groups]
        lines.append((name, *columns_of(one, SUMMARY), *by_group))
    header = ("method", *SUMMARY, *(f"exact, {group}" for group in groups))
    print_table(header, lines, title="Rank selection")
