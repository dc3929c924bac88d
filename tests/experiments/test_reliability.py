"""The command that writes the reliability page: its promises hold, and it can tell when one does not."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from autonmf import rank_path
from experiments.reliability import __main__ as command
from experiments.reliability import faults, kept
from experiments.reliability.__main__ import page as page_of
from experiments.shared import ROOT

PAGE = ROOT / "docs" / "reliability.md"
LINE = re.compile(r"^\| (🟢|🔴) \| (.+?) \| (.+?) \| (\d+) \| (.+) \|$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the command forks a process for each fault")


@pytest.fixture
def fault() -> Callable[..., object]:
    """A line of the page that tries this."""

    def make(attempt: Callable[[int], str], trials: int = 3, patience: float = 60.0) -> object:
        line = faults.Fault("a fault", "a promise", attempt, trials, trials)
        return faults.try_fault("a group", line, range(trials), patience)

    return make


@pytest.mark.slow
def test_every_promise_holds(tmp_path: Path) -> None:
    """A few trials of each fault; the page in the documentation has the same lines."""
    page = tmp_path / "page.md"
    called = [sys.executable, "-m", "experiments.reliability", "--quick", "--out", page]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(called, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert done.returncode == 0, "\n".join(re.findall(r"BROKEN.*(?:\n {7}.*)*", done.stdout)) + done.stderr
    here, published = (LINE.findall(text.read_text("utf-8")) for text in (page, PAGE))
    assert [line[1:3] for line in here] == [line[1:3] for line in published], "run the command in full again"
    assert {line[0] for line in here + published} == {"🟢"}
    assert len(here) > 100


def test_outcomes_are_counted(fault: Callable) -> None:
    row = fault(lambda seed: "even" if seed % 2 == 0 else "odd", 5)
    assert row.green
    assert row.outcomes == {"even": 3, "odd": 2}


def broken() -> Callable[[int], str]:
    def attempt(seed: int) -> str:
        faults.require(seed != 1, "seed 1")
        return "kept"

    return attempt


def test_a_broken_promise_is_red(fault: Callable) -> None:
    row = fault(broken())
    assert not row.green
    assert row.failures == [(1, "Broken: seed 1")]
    assert row.outcomes == {"kept": 2}
    page = page_of([row])
    assert LINE.findall(page) == [("🔴", "a fault", "a promise", "3", "kept: 2; **broken: 1**")]
    assert "**0 of 1 lines are green" in page
    assert "- a fault, seed 1: `Broken: seed 1`" in page


def test_an_unexpected_warning_is_red(fault: Callable) -> None:
    row = fault(lambda seed: str(np.float64(1.0) / np.float64(0.0)), 1)
    assert row.failures == [(0, "RuntimeWarning: divide by zero encountered in scalar divide")]


def crash(seed: int) -> str:
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def test_a_crash_is_counted_and_the_rest_is_tried(fault: Callable) -> None:
    row = fault(crash)
    assert row.failures == [(1, "the process died: SIGKILL")]
    assert row.outcomes == {"survived": 2}


def hang(seed: int) -> str:
    if seed == 0:
        time.sleep(600)
    return "survived"


def test_a_hang_is_counted_and_ended(fault: Callable) -> None:
    row = fault(hang, 2, 1.0)
    assert row.failures == [(0, "no answer in 1 s")]
    assert row.outcomes == {"survived": 1}


def test_nothing_tried_is_not_green(fault: Callable) -> None:
    assert not fault(lambda seed: "kept", 0).green


# Results that are kept


def attempt(seed: int) -> str:
    """What the lines of this test try; it notes that it was tried."""
    with Path(os.environ["TRIED"]).open("a") as stream:
        stream.write(f"{seed} ")
    faults.require(seed != 3, "seed 3")
    return "kept"


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[int]]]:
    """Run the command on two lines; its exit code, and the seeds that were tried now."""
    lines = [
        faults.Fault("first", "a promise", attempt, 2, 4, counted="inputs"),
        faults.Fault("second", "a promise", attempt, 2, 4, counted="kills", times=3),
    ]
    monkeypatch.setattr(command, "GROUPS", {"a group": lines})
    monkeypatch.setenv("TRIED", str(tmp_path / "tried"))

    def run(*arguments: str) -> tuple[int, list[int]]:
        (tmp_path / "tried").write_text("")
        page = ("--keep", str(tmp_path / "keep"), "--out", str(tmp_path / "page.md"))
        code = command.main([*page, *arguments])
        return code, sorted(map(int, (tmp_path / "tried").read_text().split()))

    return run


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_run_goes_on_where_it_stopped(tried: Callable, tmp_path: Path, processes: str) -> None:
    options = ("--processes", processes)
    assert tried("--only", "first", *options) == (1, [0, 1, 2, 3])
    assert tried(*options) == (1, [0, 1, 2, 3])
    assert tried(*options) == (1, [])
    page = (tmp_path / "page.md").read_text()
    row = ("🔴", "first", "a promise", "4", "kept: 3; **broken: 1**")
    assert LINE.findall(page) == [row, (*row[:1], "second", *row[2:])]
    assert "4 generated inputs, 12 processes killed at random moments" in page
    assert tried("--inputs", "7", "--kills", "12", *options) == (1, [4, 5, 6])
    shutil.rmtree(tmp_path / "keep" / os.listdir(tmp_path / "keep")[0])
    assert len(tried("--redraw")[1]) == 0
    assert "not tried" in (tmp_path / "page.md").read_text()


def test_other_code_is_tried_again(tried: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried()[1] == [0, 0, 1, 1, 2, 2, 3, 3]
    monkeypatch.setattr(kept, "digest_of", lambda fault: "changed" if fault.name == "first" else "")
    assert tried("--only", "first")[1] == [0, 1, 2, 3]
    assert tried("--only", "first")[1] == []


def test_the_page_shows_other_seeds_and_orders(tmp_path: Path) -> None:
    """From the file that another command wrote, if it is there."""
    assert list(command._consistency(tmp_path / "none")) == []
    content = {"head": ["changed", "sure"], "rows": [["seed", "10"]], "machine": {"commit": "abc123"}}
    (tmp_path / "file").write_text(json.dumps(content))
    text = "\n".join(command._consistency(tmp_path / "file"))
    assert "| changed | sure |\n| --- | --- |\n| seed | 10 |" in text
    assert "commit abc123" in text


def test_nothing_is_begun_after_the_time_is_up(tried: Callable) -> None:
    assert tried("--minutes", "1e-9") == (1, [])


def test_the_code_of_a_line() -> None:
    """It changes with the package and with the module of the trial, and partials are seen through."""
    line = faults.Fault("a fault", "a promise", attempt, 1, 1)
    other = replace(line, attempt=faults.check_factor)
    bound = replace(line, attempt=partial(partial(attempt)))
    assert kept.digest_of(line) == kept.digest_of(bound) != kept.digest_of(other)


def test_what_is_wanted_is_divided_among_the_lines() -> None:
    lines = [
        faults.Fault("a", "", attempt, 1, 100, counted="inputs"),
        faults.Fault("b", "", attempt, 1, 300, counted="inputs"),
        faults.Fault("c", "", attempt, 1, 10, counted="kills", times=3),
        faults.Fault("d", "", attempt, 1, 7),
    ]
    assert kept.count_trials(lines, {}) == {"a": 100, "b": 300, "c": 10, "d": 7}
    assert kept.count_trials(lines, {"inputs": 1001, "kills": 31}) == {"a": 251, "b": 751, "c": 11, "d": 7}
    assert kept.shards(lines[0], 120) == [range(50), range(50, 100), range(100, 120)]
    assert kept.shards(replace(lines[0], in_turn=True), 120) == [range(120)]


@pytest.mark.parametrize("change", ["nan", "negative", "worse than rank one"])
def test_an_unsound_path_is_noticed(change: str) -> None:
    path = rank_path(np.random.default_rng(0).random((8, 6)), random_state=0)
    faults.check_path(path)
    point = path.points[0]
    bad = {
        "nan": replace(point, U=point.U * np.nan),
        "negative": replace(point, V=-point.V),
        "worse than rank one": replace(point, loss=path.squared_norm / 2),
    }[change]
    with pytest.raises(faults.Broken):
        faults.check_path(replace(path, points=(bad, *path.points[1:])))


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_a_wrong_loss_of_rank_one_is_noticed(loss: str) -> None:
    X = np.random.default_rng(0).random((8, 6))
    path = rank_path(X, random_state=0, beta_loss=loss)
    faults.check_path(path, X)
    with pytest.raises(faults.Broken, match="rank one is off"):
        faults.check_path(replace(path, rank_one_loss=1.01 * path.rank_one_loss), X)
    worse = replace(path.points[0], loss=1.01 * path.rank_one_loss)
    bad = replace(path, points=(worse, *path.points[1:]))
    with pytest.raises(faults.Broken, match="at rank one"):
        faults.check_path(bad, X)
