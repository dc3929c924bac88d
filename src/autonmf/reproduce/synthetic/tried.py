"""How often each reading of the text finds r*."""

from __future__ import annotations

from autonmf.reproduce import form
from autonmf.reproduce.document import Block, Paragraph, Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.readings import reading_of, rule_readings
from autonmf.reproduce.synthetic.cells import ALL_READINGS, READ_AT
from autonmf.reproduce.synthetic.rows import hits, lines_of
from autonmf.reproduce.work.synthetic import TAU

AS_READ = (
    "30 points; the start is uniform, of the scale of X and balanced; X is not scaled; one HALS sweep a "
    "step; the rule takes distinct ranks in increasing order with the least loss of each."
)


def readings(results: Results) -> list[Block]:
    """How often each reading finds r* at one size."""
    n, m = READ_AT
    rows = []
    for reading in ("as read", *ALL_READINGS):
        lines = {c: by for c, by in lines_of(results, reading).items() if (c.n, c.m) == READ_AT}
        counts = [hits(lines, method) for method in ("ipalm", "pasm")]
        if any(total for _, total in counts):
            rows.append((reading, *(form.share(*pair) if pair[1] else form.NONE for pair in counts)))
    blocks: list[Block] = []
    if rows:
        header = ("reading", "iPALM finds r*", "PASM finds r*")
        text = f"Table 1, {n}x{m}: the paper's grid under other readings"
        blocks.append(Table(text, header, tuple(rows)))
    if rules := _rule_hits(results):
        blocks.append(
            Table("Table 1: the paper's rule under other readings", ("reading", "iPALM", "PASM"), rules)
        )
    if blocks:
        blocks.insert(0, Paragraph("As read: " + AS_READ))
    return blocks


def _rule_hits(results: Results) -> tuple[tuple[str, ...], ...]:
    counts: dict[str, dict[str, list[bool]]] = {}
    for done in results:
        if done.curves and reading_of(done.parameters) == "as read":
            row = done.rows[0]
            for name, rank in rule_readings(done.curves[0], TAU).items():
                counts.setdefault(name, {}).setdefault(row["method"], []).append(rank == row["rank"])
    return tuple(
        (name, *(form.share(sum(by.get(s, [])), len(by.get(s, []))) for s in ("ipalm", "pasm")))
        for name, by in counts.items()
    )
