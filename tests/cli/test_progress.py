"""Progress: what is shown where, and the time left."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable

import numpy as np
import pytest

from autonmf import rank_path
from autonmf.cli.arguments import Search
from autonmf.cli.console import PathWork, describe, duration, show_progress
from autonmf.path import GRIDS, Progress


def at(rank: int, seconds: float = 7.2, start: int = 0, n_starts: int = 1, iteration: int = 3) -> Progress:
    return Progress(
        start=start,
        n_starts=n_starts,
        max_rank=50,
        rank=rank,
        iteration=iteration,
        relative_loss=0.0123,
        seconds=seconds,
    )


@pytest.mark.parametrize("quiet", [True, False])
def test_no_progress_without_a_terminal(capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    with show_progress("counts.csv", Search(), quiet=quiet) as reporter:
        reporter.reached(at(20))
        reporter.polishing(19)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What a terminal of some width shows after each of these."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def show(width: int, *reached: Progress, search: Search | None = None) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        with show_progress("[counts].csv", search or Search()) as reporter:
            for progress in reached:
                reporter.reached(progress)
                reporter.bar.refresh()
            reporter.polishing(3)
            reporter.bar.refresh()
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
        return [line for line in re.split(r"[\r\n]+", plain) if line.strip()]

    return show


def test_a_bar_in_a_wide_terminal(shown) -> None:
    lines = shown(110, at(50, 0.0), at(20, 30.0))
    assert "[counts].csv" in lines[-1]
    assert any(re.search(r"rank 20, relative loss 1\.23e-02, about \d+ s left", line) for line in lines)
    assert "polishing rank 3" in lines[-1]


@pytest.mark.parametrize("width", [20, 34, 49, 50, 70, 89])
def test_narrow_terminals_have_one_line(shown, width: int) -> None:
    lines = shown(width, at(50, 0.0, iteration=1), at(20, 30.0))
    assert max(map(len, lines)) <= width
    assert any("rank 20" in line for line in lines)
    assert any("left" in line for line in lines) or width < 34


def test_described() -> None:
    assert describe(at(19, n_starts=3), None) == "start 1 of 3, rank 19, relative loss 1.23e-02"
    assert describe(at(19), 200.0) == "rank 19, relative loss 1.23e-02, about 3 min left"
    assert describe(at(19, n_starts=3), 9.6, short=True) == "rank 19, about 10 s left"
    assert [duration(s) for s in (0.2, 99.4, 100, 5999, 36_000)] == [
        "0 s", "99 s", "2 min", "100 min", "10 h"
    ]  # fmt: skip


def test_too_early_to_tell(shown) -> None:
    """One iteration says nothing about the time that others take."""
    assert not any("left" in line for line in shown(110, at(50, iteration=1)))


@pytest.mark.parametrize("grid", GRIDS)
def test_the_fraction_grows_from_none_to_all(grid: str) -> None:
    work = PathWork(Search(grid=grid))
    places = [at(r, start=s, n_starts=2, iteration=1) for s in (0, 1) for r in range(50, 0, -1)]
    fractions = [work.fraction_done(place) for place in places]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < 0.02
    assert work.fraction_done(at(1, start=1, n_starts=2, iteration=99)) == 1.0


def test_no_time_is_made_up_on_the_adaptive_grid(shown) -> None:
    lines = shown(110, *(at(rank) for rank in (50, 30, 10, 1)), search=Search(grid="adaptive"))
    assert any("rank 10, relative loss" in line for line in lines)
    assert not any("left" in line for line in lines)


def test_a_path_that_ends_early_has_less_to_do() -> None:
    whole, part = PathWork(Search()), PathWork(Search(n_components=40))
    assert 0 < whole.fraction_done(at(45)) < part.fraction_done(at(45)) < 1


def test_a_path_that_begins_again(shown) -> None:
    """Where compression is unreliable, the path begins again on X itself."""
    lines = shown(110, at(50), at(25), at(2), at(50), at(40))
    assert any("rank 40, relative loss" in line and "left" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("n_starts", [1, 3])
@pytest.mark.parametrize("solver", ["pasm", "s-ipalm"])
def test_the_work_counted_is_the_work_done(solver: str, n_starts: int) -> None:
    """On a clock that charges each iteration its rank, half the work takes about half the time."""
    clock, log = 0.0, []

    def callback(progress: Progress) -> None:
        nonlocal clock
        clock += progress.rank + 3.0
        log.append((clock, progress))

    X = np.random.default_rng(0).random((90, 70))
    rank_path(X, solver=solver, n_starts=n_starts, random_state=0, callback=callback)
    work = PathWork(Search(solver=solver, n_starts=n_starts))
    halfway = next(progress for seconds, progress in log if seconds > clock / 2)
    assert 1 / work.fraction_done(halfway) - 1 == pytest.approx(
        1.0, rel=0.5
    )  # what is left over what is done
    assert work.fraction_done(log[-1][1]) > 0.95
