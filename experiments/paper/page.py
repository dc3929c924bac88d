"""The page with every table and figure beside the paper's numbers, and the files of results and figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper.document import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Picture,
    Table,
    to_html,
    to_markdown,
)
from experiments.paper.experiment import Done, Experiment, Missing, Scale, Verdict
from experiments.paper.paper_numbers import contradictions
from experiments.shared import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The paper's experiments"
NAME = "reproduction"
ABOUT = (
    "Section VI of “Automatic Model-Order Selection for Nonnegative Matrix Factorization via Column ℓ2,0 "
    "Regularization” (Y. He and R. Gu), run again. All of our numbers come from one run of `{command}`; the "
    "paper's are shown beside them. Whether a claim holds, holds in part or does not hold is decided by "
    "fixed rules in the source (`verdict` of each experiment in `experiments/paper`). An experiment is "
    "reproduced if all of its claims hold, and not reproduced if half or more of them do not."
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
    replace_file(files[0], to_markdown(page, IMAGES))
    replace_file(files[1], to_html(page, TITLE, drawn))
    return files


def _command(scale: Scale) -> str:
    return "python -m experiments.paper all" + ("" if scale is Scale.standard else f" --{scale}")


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
        f"{', '.join(map(str, seeds))}. `python -m experiments.paper EXPERIMENT --{scale}` runs one "
        "experiment again. The result of each cell is stored under `cells/` with its parameters, and is "
        "reused as long as the code that it depends on does not change."
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
        yield Paragraph("Cells without a result:")
        yield Bullets(tuple(f"{lost.experiment}: {lost.name}: {lost.reason}" for lost in missing))


RESULTS, IMAGES = "results", "images/reproduction"
DPI = 100
COLOURS = 64


def write_results(name: str, results: list[Done], out: Path) -> None:
    """Write everything as JSON, the rows as CSV, and the curves as ``-points.csv`` and ``-rule.csv``."""
    folder = out / RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / f"{name}.json", json.dumps([asdict(done) for done in results], indent=1) + "\n")
    replace_file(
        folder / f"{name}.csv", _csv({"cell": done.name, **row} for done in results for row in done.rows)
    )
    for kind in ("points", "rule"):
        if text := _csv(line for done in results for line in _points(done, kind)):
            replace_file(folder / f"{name}-{kind}.csv", text)


def write_figures(pictures: Iterable[Picture], folder: Path) -> dict[str, bytes]:
    """Each as PNG and SVG; the SVG by name."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    # Text stays text, and there is no date: small files that change only where the figure changes.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "autonmf", "path.simplify_threshold": 0.5}):
        for picture in pictures:
            figure = picture.draw()
            _save_png(figure, folder / f"{picture.name}.png")
            drawn = io.BytesIO()
            figure.savefig(drawn, format="svg", metadata={"Date": None})
            found[picture.name] = drawn.getvalue()
            (folder / f"{picture.name}.svg").write_bytes(drawn.getvalue())
    return found


def _save_png(figure: Figure, file: Path) -> None:
    """With few colours: a third of the size, and no visible difference."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(file, optimize=True)


def _points(done: Done, kind: str) -> Iterator[dict[str, Any]]:
    """The lists of the curves, one line per entry; what the rule read has a length of its own."""
    for curve in done.result.get("curves", []):
        lists = {key: value for key, value in curve.items() if isinstance(value, list)}
        columns = {key: value for key, value in lists.items() if key.startswith("rule_") == (kind == "rule")}
        given = {f"{key}_given" if key in lists else key: value for key, value in done.parameters.items()}
        scalars = {key: value for key, value in curve.items() if key not in lists}
        for place in range(len(next(iter(columns.values()), []))):
            here = {key: value[place] for key, value in columns.items()}
            yield {"cell": done.name, **given, **scalars, "place": place, **here}


def _csv(lines: Iterable[dict[str, Any]]) -> str:
    rows = list(lines)
    if not rows:
        return ""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _flat(value) for key, value in row.items()} for row in rows)
    return stream.getvalue()


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
