"""`autonmf reproduce` as people type it, where that is quick."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from autonmf.cli import main
from autonmf.cli.settings import Experiment
from autonmf.reproduce import EXPERIMENTS
from autonmf.reproduce.cell import Cell
from autonmf.reproduce.progress import Lines, duration, reporting


def test_names_agree() -> None:
    assert {*EXPERIMENTS, "all"} == set(Experiment)


def test_redraw_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "pages"
    assert main(["reproduce", "efficiency", "--quick", "--redraw", "--out", str(out)]) == 0
    assert "Written to" in capsys.readouterr().out
    assert "Where the paper contradicts itself" in (out / "reproduction.md").read_text()
    assert "<!DOCTYPE html>" in (out / "reproduction.html").read_text()


def test_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--quick", "--full"]) == 2
    assert main(["reproduce", "everything"]) == 2
    (tmp_path / "file").touch()
    assert main(["reproduce", "--out", str(tmp_path / "file")]) == 2
    errors = capsys.readouterr().err
    assert "--quick and --full exclude each other" in errors
    assert "is a file; name a folder" in errors


def cells() -> list[Cell]:
    return [Cell("e", f"cell {i}", {"i": i}, dict, cost=float(i)) for i in (1, 3)]


def test_lines_say_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = cells()
    reporter = Lines([first, second])
    reporter.began -= 10.0  # ten seconds ago
    reporter.end(first, "1.0 s")
    reporter.end(second, "3.0 s")
    assert capsys.readouterr().err.splitlines() == [
        "[1/2] e: cell 1: 1.0 s; 30 s left",
        "[2/2] e: cell 3: 3.0 s; 0 s left",
    ]
    assert (duration(12.3), duration(600)) == ("12 s", "10 min")


def test_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    with reporting(cells()) as reporter:
        for cell in cells():
            reporter.begin(cell)
            reporter.bar.refresh()
            reporter.end(cell, "done")
        reporter.say("[a note]")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "e: cell 3" in shown
    assert "left" in shown
    assert "[a note]" in shown
