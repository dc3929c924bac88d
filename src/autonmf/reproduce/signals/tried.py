"""Which reading of the text gives which rank on which data set."""

from __future__ import annotations

from autonmf.reproduce import form
from autonmf.reproduce.document import Block, Bullets, Paragraph, Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS
from autonmf.reproduce.readings import READINGS, rule_readings
from autonmf.reproduce.signals.cells import SOLVERS
from autonmf.reproduce.signals.rows import as_in_paper, lines_of, paper_answer, paths_of
from autonmf.reproduce.work.inputs import SIGNALS
from autonmf.reproduce.work.signals import TAU

Ranks = dict[str, dict[tuple[str, str], int]]
"""By reading, then by (data, solver): the rank with seed 0."""


def grid_ranks(results: Results) -> Ranks:
    """What each reading of the path gives."""
    found: Ranks = {}
    for reading in READINGS:
        for data, by in as_in_paper(lines_of(results, reading)).items():
            for solver in SOLVERS:
                if solver in by:
                    found.setdefault(reading, {})[data, solver] = by[solver][0]["found"]
    return found


def rule_ranks(results: Results) -> Ranks:
    """What each reading of the rule gives on the paths as read."""
    found: Ranks = {}
    for done in paths_of(results):
        data, solver = done.parameters["data"], done.parameters["method"]
        if done.parameters["seed"] == 0 and not SIGNALS[data].variant:
            for name, rank in rule_readings(done.curves[0], TAU).items():
                found.setdefault(name, {})[data, solver] = rank
    return found


def readings(results: Results) -> list[Block]:
    """Tables of ranks, and for each miss the readings that give the paper's rank."""
    grid, rule = grid_ranks(results), rule_ranks(results)
    if not grid:
        return []
    return [
        Paragraph(
            "Table 2, seed 0, S-iPALM / PASM; bold: the paper's rank. As read is as for Table 1. Web of "
            "Science is a sample and Jasper Ridge has 198 of the paper's 224 bands, so that their ranks "
            "need not agree."
        ),
        _table("Table 2: the path under other readings", grid),
        _table("Table 2: the rule under other readings, on the paths as read", rule),
        Bullets(tuple(_explained(results, grid, rule))),
    ]


def _table(title: str, ranks: Ranks) -> Table:
    data = list(dict.fromkeys(name for by in ranks.values() for name, _ in by))

    def cell(reading: str, name: str) -> str:
        texts = []
        for solver in SOLVERS:
            rank = ranks[reading].get((name, solver))
            same = rank is not None and rank == getattr(paper_answer(name, solver), "rank", None)
            texts.append(form.NONE if rank is None else f"**{rank}**" if same else str(rank))
        return " / ".join(texts)

    paper = (
        "paper",
        *(
            " / ".join(str(getattr(paper_answer(name, s), "rank", form.NONE)) for s in SOLVERS)
            for name in data
        ),
    )
    rows = tuple((reading, *(cell(reading, name) for name in data)) for reading in ranks)
    return Table(title, ("reading", *(SIGNALS[name].title for name in data)), (paper, *rows))


def _explained(results: Results, grid: Ranks, rule: Ranks) -> list[str]:
    """For each data set and solver: which readings, and which starts, give the paper's rank."""
    texts = []
    lines = lines_of(results)
    for data, solver in grid["as read"]:
        answer = paper_answer(data, solver)
        if answer is None:
            continue
        rows = lines[data][solver]
        seeds = [str(row["seed"]) for row in rows if row["found"] == answer.rank]
        giving = (
            [f"as read with {len(seeds)} of {len(rows)} starts (seeds {', '.join(seeds)})"] if seeds else []
        )
        for kind, ranks in (("", grid), ("the rule with ", rule)):
            names = [name for name, by in ranks.items() if by.get((data, solver)) == answer.rank]
            giving += [f"{kind}{name}" for name in names if name != "as read"]
        said = "; ".join(giving) if giving else "none of these readings"
        texts.append(f"{SIGNALS[data].title}, {PENS[solver].label}, {answer.rank} in the paper: {said}.")
    return texts
