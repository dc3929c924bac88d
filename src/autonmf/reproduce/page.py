"""The page: every table and figure beside the paper's numbers, and a verdict on each experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autonmf.reproduce.cell import Done, Missing
from autonmf.reproduce.contradictions import contradictions
from autonmf.reproduce.document import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Picture,
    Table,
    to_html,
    to_markdown,
)
from autonmf.reproduce.experiment import Experiment
from autonmf.reproduce.files import IMAGES, replace, write_figures
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.verdict import Verdict

TITLE = "The paper's experiments"
NAME = "reproduction"
ABOUT = (
    "Section VI of “Automatic Model-Order Selection for Nonnegative Matrix Factorization via Column ℓ2,0 "
    "Regularization” (Y. He and R. Gu), run again. Every number is of one run of `{command}`; the "
    "paper's are beside them. A claim holds, holds in part or does not by a rule in the source "
    "(`claims.py` of each in `autonmf/reproduce`); an experiment is reproduced if all of its claims "
    "hold, and not reproduced if half of them or more do not."
)


def blocks(
    experiments: Sequence[Experiment],
    results: Mapping[str, list[Done]],
    missing: Sequence[Missing],
    stale: Mapping[str, int],
    scale: Scale,
) -> list[Block]:
    """The whole page."""
    shown = [experiment for experiment in experiments if results.get(experiment.name)]
    verdicts = {experiment.name: experiment.verdict(results[experiment.name]) for experiment in shown}
    found: list[Block] = [Heading(TITLE, 1), Paragraph(ABOUT.format(command=_command(scale)))]
    if any(stale.values()):
        found.append(Paragraph(_stale(stale)))
    found.append(_summary(shown, verdicts))
    for experiment in shown:
        found += _section(experiment, results[experiment.name], verdicts[experiment.name])
    found += [
        Heading("Where the paper contradicts itself"),
        Bullets(tuple(contradictions(results.get("efficiency", [])))),
        Heading("Readings that were tried"),
    ]
    for experiment in shown:
        if read := experiment.readings(results[experiment.name]):
            found += [Heading(f"{experiment.title} ({experiment.section})", 3), *read]
    found += [Heading("How this page was made"), *_made(shown, results, missing, scale)]
    return found


def write_page(page: Sequence[Block], out: Path) -> list[Path]:
    """Markdown with its images beside it, and one HTML file."""
    pictures = [block for block in page if isinstance(block, Picture)]
    drawn = write_figures(pictures, out / IMAGES)
    files = [out / f"{NAME}.md", out / f"{NAME}.html"]
    replace(files[0], to_markdown(page, IMAGES))
    replace(files[1], to_html(page, TITLE, drawn))
    return files


def _command(scale: Scale) -> str:
    return "autonmf reproduce all" + ("" if scale is Scale.standard else f" --{scale}")


def _stale(stale: Mapping[str, int]) -> str:
    counts = ", ".join(f"{number} of {name}" for name, number in stale.items() if number)
    return f"**Results of an earlier state of the code are shown: {counts}. Run these experiments again.**"


def _summary(shown: Sequence[Experiment], verdicts: Mapping[str, Verdict]) -> Table:
    rows = tuple(
        (e.title, e.section, f"**{verdicts[e.name].word}**", verdicts[e.name].summary) for e in shown
    )
    return Table("Verdicts", ("experiment", "section", "verdict", "claims"), rows)


def _section(experiment: Experiment, results: list[Done], verdict: Verdict) -> Iterator[Block]:
    yield Heading(f"{experiment.title} ({experiment.section})")
    yield Paragraph(experiment.about)
    yield Paragraph(f"**{str(verdict.word).capitalize()}**: {verdict.summary}.")
    rows = tuple((claim.paper, claim.measured, str(claim.holds)) for claim in verdict.claims)
    yield Table("Claims", ("the paper", "measured", "holds"), rows)
    yield from experiment.figures(results)
    yield from experiment.tables(results)


def _made(
    shown: Sequence[Experiment], results: Mapping[str, list[Done]], missing: Sequence[Missing], scale: Scale
) -> Iterator[Block]:
    everything = [done for experiment in shown for done in results[experiment.name]]
    seeds = sorted({done.parameters["seed"] for done in everything if "seed" in done.parameters})
    minutes = sum(done.seconds for done in everything) / 60
    yield Paragraph(
        f"`{_command(scale)}`: {len(everything)} cells, {minutes:.1f} minutes in all, seeds "
        f"{', '.join(map(str, seeds))}. `autonmf reproduce EXPERIMENT --{scale}` runs one experiment "
        "again; each cell is a file under `cells/` with its parameters, and is not run again while the "
        "code that it depends on stays."
    )
    machines = dict.fromkeys(tuple(done.versions.items()) for done in everything)
    yield Bullets(tuple("; ".join(f"{name} {value}" for name, value in machine) for machine in machines))
    rows = tuple(
        (
            experiment.name,
            str(len(results[experiment.name])),
            f"{sum(done.seconds for done in results[experiment.name]):.0f} s",
            ", ".join(sorted({done.code for done in results[experiment.name]})),
        )
        for experiment in shown
    )
    yield Table("Cells", ("experiment", "cells", "time", "digest of the code"), rows)
    if missing:
        yield Paragraph("Without a result:")
        yield Bullets(tuple(f"{lost.experiment}: {lost.name}: {lost.reason}" for lost in missing))
