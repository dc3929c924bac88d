"""The command that writes the reliability page: its promises hold, and it can tell when one does not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autonmf import rank_path
from experiments.reliability import faults
from experiments.reliability.__main__ import page as page_of
from experiments.shared import ROOT

PAGE = ROOT / "docs" / "reliability.md"
LINE = re.compile(r"^\| (\S+) \| (.+?) \| (.+?) \| (\d+) \| (.+) \|$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the command forks a process for each fault")


@pytest.fixture
def fault() -> Callable[..., object]:
    """A line of the page that tries this."""

    def make(attempt: Callable[[int], str], trials: int = 3, patience: float = 60.0) -> object:
        line = faults.Fault("a fault", "a promise", attempt, trials, trials)
        return faults.try_fault("a group", line, trials, patience)

    return make


@pytest.mark.slow
def test_every_promise_holds(tmp_path: Path) -> None:
    """A few trials of each fault; the page in the documentation has the same lines."""
    page = tmp_path / "page.md"
    command = [sys.executable, "-m", "experiments.reliability", "--quick", "--out", page]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
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
    page = page_of([row], 1.0, quick=True)
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
