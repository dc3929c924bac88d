"""Results as tidy CSV and JSON, figures as PNG and SVG."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autonmf.reproduce.cell import Done
from autonmf.reproduce.document import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS, IMAGES = "results", "images/reproduction"
DPI = 100
COLOURS = 64


def write_results(name: str, results: list[Done], out: Path) -> None:
    """``name.json`` has all; ``.csv`` a measurement a line; ``-points.csv`` and ``-rule.csv`` the curves."""
    folder = out / RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    replace(folder / f"{name}.json", json.dumps([asdict(done) for done in results], indent=1) + "\n")
    replace(folder / f"{name}.csv", _csv({"cell": done.name, **row} for done in results for row in done.rows))
    for kind in ("points", "rule"):
        if text := _csv(line for done in results for line in _points(done, kind)):
            replace(folder / f"{name}-{kind}.csv", text)


def write_figures(pictures: Iterable[Picture], folder: Path) -> dict[str, bytes]:
    """Each as PNG and SVG; the SVG by name."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    # Text stays text and nothing depends on the hour: small files that differ only where the figure does.
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
    """With few colours: a third of the size, and nobody sees it."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(file, optimize=True)


def replace(file: Path, text: str) -> None:
    """Write a file; a reader sees the old one or the new one."""
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, file)


def _points(done: Done, kind: str) -> Iterator[dict[str, Any]]:
    """The lists of the curves, a line a place; what the rule read has a length of its own."""
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
