"""Scores and every answer as a Markdown page, with a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autonmf.bench.order.cells import CELLS, LEGEND, SUMMARY, cells
from autonmf.bench.order.objective import Row
from autonmf.bench.order.picture import draw
from autonmf.bench.order.ranking import (
    OURS,
    ranked_by_family,
    ranked_by_group,
    ranked_held_out,
    ranked_overall,
    uneven,
)

PAGE, PICTURE = "page.md", "order.png"


def write_page(rows: Sequence[Row], folder: Path) -> None:
    """Write everything known about these rows to a folder; the picture only where matplotlib is installed."""
    drawn = draw(rows, folder / PICTURE)
    (folder / PAGE).write_text(page(rows, PICTURE if drawn else None), encoding="utf-8")


def page(rows: Sequence[Row], picture: str | None = None) -> str:
    """Scores overall, by group and by family, and every answer."""
    sections = {
        "# Rank selection": _what(rows),
        "## Overall": _overall(rows, picture),
        "## By group": _table(
            ("group", "method", *CELLS),
            (
                (one.where, _name(one.method), *cells(one, CELLS))
                for one in (*ranked_by_group(rows), *ranked_held_out(rows))
            ),
        ),
        "## By family": _table(
            ("family", "method", *CELLS),
            ((one.where, _name(one.method), *cells(one, CELLS)) for one in ranked_by_family(rows)),
        ),
        "## Every answer": _answers(rows),
    }
    if failures := [row for row in rows if row.rank is None]:
        sections["## Failures"] = "\n".join(
            f"- {row.family} seed {row.seed}, {row.method}: {row.error}" for row in failures
        )
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()) + "\n"


def _overall(rows: Sequence[Row], picture: str | None) -> str:
    lines = ((_name(one.method), *cells(one, SUMMARY)) for one in ranked_overall(rows))
    parts = [
        _table(("method", *SUMMARY), lines),
        f"In bold: {OURS}, the default of this package. {LEGEND}",
    ]
    if picture is not None:
        parts.insert(1, f"![Share of exact ranks by method and group]({picture})")
    return "\n\n".join(parts)


def _what(rows: Sequence[Row]) -> str:
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
    """One line an instance, one column a method."""
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
