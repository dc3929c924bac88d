"""Small runs of every experiment of the paper: results, files, the page and the command."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from autonmf import rank_path, select_rank
from autonmf.datasets import make_low_rank
from experiments.paper import EXPERIMENTS, Report, Scale, reproduce
from experiments.paper.__main__ import main
from experiments.paper.document import Paragraph, Table, to_markdown
from experiments.paper.experiment import Cell, Experiment
from experiments.paper.paths import READINGS, reading_of
from experiments.paper.run import Progress, duration


def table_of(page: str, title: str) -> list[list[str]]:
    """The cells of a table of the Markdown page, its header first."""
    lines = page[page.index(f"**{title}**") :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return [rows[0], *rows[2:]]


@pytest.mark.slow
def test_everything_ran(finished: tuple[Report, Path]) -> None:
    report, _ = finished
    assert report.missing == ()
    assert report.computed == sum(map(len, report.results.values())) == 15
    assert list(report.results) == list(report.verdicts) == list(EXPERIMENTS)
    claims = {name: len(verdict.claims) for name, verdict in report.verdicts.items()}
    assert claims.pop("signals") == 0  # a variant only
    assert all(claims.values())


def test_results_are_what_the_package_gives(finished: tuple[Report, Path]) -> None:
    """The cells of Table 1 against direct calls; the traced path against `rank_path`."""
    report, _ = finished
    rows = {row["method"]: row for done in report.results["synthetic"] for row in done.rows}
    X, _, _ = make_low_rank(1000, 400, 10, 0.1, random_state=0)
    path = rank_path(X, grid="adaptive", scale=False, engine="direct", random_state=0)
    assert rows["pasm"]["found"] == select_rank(path, "marginal", tau=5.0).rank
    assert rows["pasm exact"]["found"] == rows["default"]["found"] == rows["svht"]["found"] == 10
    assert rows["default"]["recovery_error"] == pytest.approx(0.0346, rel=0.05)  # the paper's
    X, _, _ = make_low_rank(40, 30, 3, 0.1, random_state=0)
    path = rank_path(X, 10, grid="adaptive", n_points=12, scale=False, engine="direct", random_state=0)
    curve = report.results["lambda-path"][0].curves[0]
    assert curve["rank"] == [visit.rank for visit in path.visits]
    np.testing.assert_allclose(curve["lam"], [visit.lam for visit in path.visits])
    energy = np.sum(X**2)
    np.testing.assert_allclose(curve["error"], [np.sqrt(2 * v.loss / energy) for v in path.visits])


def test_efficiency_is_consistent(finished: tuple[Report, Path]) -> None:
    report, _ = finished
    (done,) = report.results["efficiency"]
    cold = {row["solver"]: row for row in done.rows if row["setting"] == "cold"}
    assert cold["pasm"]["rank_found"] == 3
    assert cold["pasm"]["plateau_low"] <= cold["pasm"]["lam"] <= cold["pasm"]["plateau_high"]
    assert cold["palm"]["iterations_to_palm"] == cold["palm"]["iterations"]
    for curve in done.curves:
        assert len(curve["objective"]) == len(curve["seconds"]) == len(curve["rank_found"])
        assert all(np.diff(curve["seconds"]) > 0)
        if curve["solver"] in ("palm", "pasm"):  # the others have inertia and need not descend
            assert all(np.diff(curve["objective"]) <= 1e-6 * curve["objective"][0])


def test_numbers_of_the_page_are_those_of_the_json(finished: tuple[Report, Path]) -> None:
    _, out = finished
    page = (out / "reproduction.md").read_text()
    stored = json.loads((out / "results" / "synthetic.json").read_text())
    rows = {row["method"]: row for cell in stored for row in [cell["result"]["rows"][0] | cell["parameters"]]}
    header, line = table_of(page, "Table 1: ranks (paper / ours)")
    shown = dict(zip(header, line, strict=True))
    assert shown["PASM"] == f"10 / {rows['pasm']['found']}"
    assert shown["our default"] == str(rows["default"]["found"])
    assert shown["cross-validation"] == "10 / -"
    header, line = table_of(page, "Table 1: recovery error of U (paper / ours)")
    shown = dict(zip(header, line, strict=True))
    assert float(shown["our default"]) == pytest.approx(rows["default"]["recovery_error"], rel=5e-3)
    assert shown["PASM"].startswith("0.03459 / ")
    timed = [
        c for c in json.loads((out / "results" / "lambda-path.json").read_text()) if c["name"] == "times"
    ]
    ways = {row["way"]: row for row in timed[0]["result"]["rows"]}
    header, *lines = table_of(page, "Times and iterations of five paths through the ranks")
    for line in lines:
        shown = dict(zip(header, line, strict=True))
        assert int(shown["iterations"]) == ways[shown["path"]]["iterations"]
        assert float(shown["seconds"]) == pytest.approx(ways[shown["path"]]["seconds"], rel=5e-3, abs=5e-4)


def test_tidy_files(finished: tuple[Report, Path]) -> None:
    report, out = finished
    for name, results in report.results.items():
        with (out / "results" / f"{name}.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == sum(len(done.rows) for done in results)
        assert {row["cell"] for row in rows} == {done.name for done in results}
    with (out / "results" / "balancing-points.csv").open() as stream:
        points = [row for row in csv.DictReader(stream) if row["cell"] == "ipalm 1"]
    (curve,) = next(done.curves for done in report.results["balancing"] if done.name == "ipalm 1")
    assert [int(row["rank"]) for row in points] == curve["rank"]
    with (out / "results" / "synthetic-rule.csv").open() as stream:
        assert "rule_ratio" in next(csv.DictReader(stream))


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[str] = []
        self.tables = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attributes)["src"] or "")
        elif tag != "meta":
            self.open.append(tag)
        self.tables += tag == "table"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_renders(finished: tuple[Report, Path]) -> None:
    _, out = finished
    text = (out / "reproduction.md").read_text()
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert len(pictures) == 7
    for picture in pictures:
        png, svg = out / picture, (out / picture).with_suffix(".svg")
        assert png.read_bytes()[:4] == b"\x89PNG"
        assert png.stat().st_size < 100_000
        assert "<svg" in svg.read_text()
    for title in ("Where the paper contradicts itself", "Readings that were tried", "How this page was made"):
        assert f"\n## {title}\n" in text
    assert re.search(r"numpy \d", text)
    assert re.search(r"cores \d", text)
    assert "nan" not in text.lower().replace("dominan", "")
    parser = Page()
    parser.feed((out / "reproduction.html").read_text())
    assert parser.open == []
    assert len(parser.images) == len(pictures)
    assert all(image.startswith("data:image/svg+xml;base64,") for image in parser.images)
    assert parser.tables == len(re.findall(r"^\|---", text, re.M))


def test_nothing_is_run_twice(
    finished: tuple[Report, Path],
    tiny: dict[str, Experiment],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, out = finished
    copytree(out / "cells", tmp_path / "cells")
    two = {name: tiny[name] for name in ("balancing", "signals")}
    again = reproduce(["signals"], out=tmp_path, experiments=two)
    assert again.computed == 0
    assert again.results == {
        name: first.results[name] for name in two
    }  # what was not asked for is shown, too
    assert capsys.readouterr().err == ""


def test_absent_data_and_failures(tmp_path: Path, tiny: dict[str, Experiment]) -> None:
    def cells(scale, data_home=None):
        *_, one = tiny["signals"].cells(scale)
        absent = replace(one, name="samson", parameters={"data": "urban", "method": "svht", "seed": 0})
        broken = replace(one, name="broken", parameters={"data": "nonsense", "method": "svht", "seed": 0})
        return [one, absent, broken]

    experiments = {"signals": replace(tiny["signals"], cells=cells)}
    report = reproduce(out=tmp_path, quiet=True, experiments=experiments)
    assert [done.name for done in report.results["signals"]] == ["svht"]
    assert [(lost.name, lost.failed) for lost in report.missing] == [("samson", False), ("broken", True)]
    page = (tmp_path / "reproduction.md").read_text()
    assert "- signals: samson: its data are not available" in page
    assert "- signals: broken: KeyError: 'nonsense'" in page


def test_nothing_at_all(tmp_path: Path, tiny: dict[str, Experiment]) -> None:
    report = reproduce(out=tmp_path, redraw=True, quiet=True, experiments=tiny)
    assert (report.computed, report.verdicts) == (0, {})
    assert (tmp_path / "reproduction.md").exists()


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scale", Scale)
def test_cells(name: str, scale: Scale) -> None:
    cells = EXPERIMENTS[name].cells(scale, None)
    assert len({cell.key for cell in cells}) == len(cells) == len({cell.name for cell in cells})
    assert all(json.loads(json.dumps(dict(cell.parameters))) == dict(cell.parameters) for cell in cells)
    assert all(cell.experiment == name for cell in cells)
    if scale is not Scale.full:
        more = EXPERIMENTS[name].cells(Scale.full, None)
        assert sum(cell.cost for cell in cells) < sum(cell.cost for cell in more)


def test_scales() -> None:
    """All 24 configurations in a full run; about three minutes and two hours, by the costs of the cells."""
    costs = {
        scale: sum(cell.cost for e in EXPERIMENTS.values() for cell in e.cells(scale, None))
        for scale in Scale
    }
    assert costs[Scale.quick] < 300
    assert costs[Scale.full] < 7200
    full = EXPERIMENTS["synthetic"].cells(Scale.full, None)
    for method in ("ipalm", "pasm", "pasm exact", "default", "svht"):
        lines = [cell.parameters for cell in full if cell.parameters["method"] == method]
        as_read = [p for p in lines if reading_of(dict(p)) == "as read"]
        assert len({(p["n"], p["m"], p["noise"], p["rank"]) for p in as_read}) == 24
        assert {p["seed"] for p in as_read} == {0, 1, 2}


def test_no_results_no_blocks() -> None:
    for experiment in EXPERIMENTS.values():
        assert experiment.figures([]) == []
        assert experiment.tables([]) == []
        assert experiment.verdict([]).word == "not run"


def test_readings_have_names() -> None:
    for name, settings in READINGS.items():
        assert reading_of({"data": "samson", "seed": 3, **settings}) == name


def test_markdown_keeps_asterisks() -> None:
    text = to_markdown([Paragraph("at r* and **bold** r*"), Table("r*", ("a|b",), (("**1**",),))], "images")
    assert text == "at r\\* and **bold** r\\*\n\n**r\\***\n\n| a\\|b |\n|---|\n| **1** |\n"


def test_redraw_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the page needs matplotlib")
    out = tmp_path / "pages"
    assert main(["efficiency", "--quick", "--redraw", "--out", str(out)]) == 0
    assert "Written to" in capsys.readouterr().out
    assert "Where the paper contradicts itself" in (out / "reproduction.md").read_text()
    assert "<!DOCTYPE html>" in (out / "reproduction.html").read_text()


def test_json_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the page needs matplotlib")
    assert main(["efficiency", "--quick", "--redraw", "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdicts"], found["computed"]) == ({}, 0)
    assert found["pages"] == [str(tmp_path / name) for name in ("reproduction.md", "reproduction.html")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--quick", "--full"], "not allowed with"), (["everything"], "invalid choice")],
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_file_for_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["--out", str(tmp_path / "file")]) == 2
    assert "is a file; give a folder" in capsys.readouterr().err


def test_progress_says_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (Cell("e", f"cell {i}", {"i": i}, dict, cost=float(i)) for i in (1, 3))
    progress = Progress([first, second])
    progress.began -= 10.0  # ten seconds ago
    progress.end(first, "1.0 s")
    progress.end(second, "3.0 s")
    assert capsys.readouterr().err.splitlines() == [
        "[1/2] e: cell 1: 1.0 s; 30 s left",
        "[2/2] e: cell 3: 3.0 s; 0 s left",
    ]
    Progress([first], quiet=True).end(first, "1.0 s")
    assert capsys.readouterr().err == ""
    assert (duration(12.3), duration(600)) == ("12 s", "10 min")
