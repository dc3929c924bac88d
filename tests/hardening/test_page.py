"""The command that writes the reliability page: its promises hold, and it can tell when one does not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from autonmf import rank_path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "reliability"
PAGE = ROOT / "docs" / "reliability.md"
MODULES = ("faults", "document", "drawn")
LINE = re.compile(r"^\| (\S+) \| (.+?) \| (.+?) \| (\d+) \| (.+) \|$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the command forks a process for each fault")


@pytest.fixture(scope="module")
def script() -> Iterator[SimpleNamespace]:
    """Modules of the command, which import each other by their bare names."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    sys.path.insert(0, str(SCRIPT))
    try:
        yield SimpleNamespace(**{name: import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(SCRIPT))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@pytest.fixture
def fault(script: SimpleNamespace) -> Callable[..., object]:
    """A line of the page that tries this."""

    def make(attempt: Callable[[int], str], trials: int = 3, patience: float = 60.0) -> object:
        line = script.faults.Fault("a fault", "a promise", attempt, trials, trials)
        return script.faults.tried("a group", line, trials, patience)

    return make


def test_every_promise_holds(tmp_path: Path) -> None:
    """A few trials of each fault; the page in the documentation has the same lines."""
    page = tmp_path / "page.md"
    command = [sys.executable, SCRIPT, "--quick", "--out", page]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, "\n".join(re.findall(r"BROKEN.*(?:\n {7}.*)*", done.stdout)) + done.stderr
    here, published = (LINE.findall(text.read_text("utf-8")) for text in (page, PAGE))
    assert [line[1:3] for line in here] == [line[1:3] for line in published], "run the command in full again"
    assert {line[0] for line in here + published} == {"🟢"}
    assert len(here) > 100


def test_outcomes_are_counted(fault: Callable) -> None:
    row = fault(lambda seed: "even" if seed % 2 == 0 else "odd", 5)
    assert row.green
    assert row.outcomes == {"even": 3, "odd": 2}


def broken(script: SimpleNamespace) -> Callable[[int], str]:
    def attempt(seed: int) -> str:
        script.faults.require(seed != 1, "seed 1")
        return "kept"

    return attempt


def test_a_broken_promise_is_red(script: SimpleNamespace, fault: Callable) -> None:
    row = fault(broken(script))
    assert not row.green
    assert row.failures == [(1, "Broken: seed 1")]
    assert row.outcomes == {"kept": 2}
    page = script.document.page([row], 1.0, quick=True)
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
def test_an_unsound_path_is_noticed(script: SimpleNamespace, change: str) -> None:
    path = rank_path(np.random.default_rng(0).random((8, 6)), random_state=0)
    script.drawn.check_path(path)
    point = path.points[0]
    bad = {
        "nan": replace(point, U=point.U * np.nan),
        "negative": replace(point, V=-point.V),
        "worse than rank one": replace(point, loss=path.squared_norm / 2),
    }[change]
    with pytest.raises(script.faults.Broken):
        script.drawn.check_path(replace(path, points=(bad, *path.points[1:])))
