"""Scores as tables: on the terminal, and as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autonmf.bench.order.objective import Row, Score, overall, score_by

COLUMNS = ("n", "exact", "±1", "log2", "worst", "bias", "covered", "warned", "silent", "failed", "s")
LEGEND = (
    "n: instances. ±1: within one. log2: mean of |log2(rank/truth)|; worst: the largest. bias: mean of "
    "log2(rank/truth). covered: the truth is among the plausible ranks. silent: wrong by more than one "
    "without a warning. s: seconds, mean. Overall is the mean over groups."
)
WIDTH = 120  # columns of the table where there is no terminal


def print_scores(rows: Sequence[Row]) -> None:
    """Print the scores by group and overall."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Rank selection")
    table.add_column("group")
    table.add_column("method", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for cells in _by_group(rows):
        table.add_row(*cells)
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH)).print(table)


def write_page(rows: Sequence[Row], file: Path) -> None:
    """Write everything known about these rows to a Markdown page."""
    file.write_text(page(rows), encoding="utf-8")


def page(rows: Sequence[Row]) -> str:
    """Scores overall, by group and by family, and every answer."""
    parts = [
        "# Rank selection",
        f"{_what(rows)} {LEGEND}",
        "## By group",
        "\n".join(_markdown(("group", "method", *COLUMNS), _by_group(rows))),
        "## By family",
        "\n".join(_markdown(("family", "method", *COLUMNS), _by_family(rows))),
        "## Every answer",
        "\n".join(_answers(rows)),
    ]
    if failures := [row for row in rows if row.rank is None]:
        parts += [
            "## Failures",
            "\n".join(f"- {r.family} seed {r.seed}, {r.method}: {r.error}" for r in failures),
        ]
    return "\n\n".join(parts) + "\n"


def _what(rows: Sequence[Row]) -> str:
    instances, families = {(row.family, row.seed) for row in rows}, {row.family for row in rows}
    seeds = sorted({row.seed for row in rows if row.group != "real"})
    held_out = "included" if any(row.held_out for row in rows) else "left out"
    return (
        f"{len(instances)} instances of {len(families)} families, "
        f"seeds {', '.join(map(str, seeds)) or 'none'}, held-out families {held_out}. {_codes(rows)}"
    )


def _codes(rows: Sequence[Row]) -> str:
    codes = sorted({row.code for row in rows})
    if len(codes) == 1:
        return f"Code {codes[0]}."
    return f"**Answers of {len(codes)} states of the code are mixed ({', '.join(codes)}): run again, fresh.**"


def _by_group(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for (group, method), score in score_by(rows, lambda row: (row.group, row.method)).items():
        yield group, method, *_cells(score)
    for method, score in overall(rows).items():
        yield "overall", method, *_cells(score)


def _by_family(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for (family, method), score in score_by(rows, lambda row: (row.family, row.method)).items():
        yield family, method, *_cells(score)


def _answers(rows: Sequence[Row]) -> Iterator[str]:
    """One line an instance, one column a method."""
    methods = list(dict.fromkeys(row.method for row in rows))
    instances: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        instances.setdefault((row.family, row.seed), {})[row.method] = row
    lines = []
    for (family, seed), answers in instances.items():
        one = next(iter(answers.values()))
        ranks = [_rank(answers.get(method)) for method in methods]
        lines.append((family, str(seed), f"{one.n} x {one.m}", str(one.truth), *ranks, one.note))
    yield from _markdown(("family", "seed", "size", "truth", *methods, "note"), lines)


def _rank(row: Row | None) -> str:
    if row is None:
        return ""
    text = "failed" if row.rank is None else str(row.rank)
    return f"**{text}**" if row.missed_by == 0 else text


def _cells(score: Score) -> tuple[str, ...]:
    return (
        str(score.instances),
        f"{score.exact:.0%}",
        f"{score.within_one:.0%}",
        f"{score.log_error:.2f}",
        f"{score.worst:.2f}",
        f"{score.bias:+.2f}",
        f"{score.covered:.0%}",
        f"{score.warned:.0%}",
        f"{score.silent:.0%}",
        f"{score.failed:.0%}",
        f"{score.seconds:.1f}",
    )


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for cells in lines:
        yield "| " + " | ".join(cells) + " |"
