"""The other commands, help and progress."""

from __future__ import annotations

import io
import re
import sys

import pytest

from autonmf.cli import progress as reporting
from autonmf.path import Progress


def test_demo(run) -> None:
    result = run("demo", "--seed", 1)
    assert result.code == 0
    assert re.search(r"synthetic +1000 x 400 +10 +10 ", result.out)
    assert re.search(r"Swimmer +256 x 1024 +16 +16 ", result.out)
    assert "synthetic: rank 10, because " in result.out
    assert "autonmf fit FILE" in result.out
    assert result.out.isascii()
    assert not set(result.out) & {"\x1b", "\r", "\b"}


def test_info(run) -> None:
    result = run("info")
    facts = dict(re.split(r": +", line, maxsplit=1) for line in result.out.splitlines())
    assert facts["Python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert {"autonmf", "numpy", "scipy", "scikit-learn", "BLAS", "cores", "kernels", "h5py"} <= set(facts)
    assert (result.code, result.err) == (0, "")


def test_version(run) -> None:
    result = run("--version")
    assert (result.code, result.out.split()[0]) == (0, "autonmf")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help(run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.code == 0
    assert all(command in result.out for command in ("demo", "fit", "info"))


@pytest.mark.parametrize("command", ["demo", "fit", "info"])
def test_help_of_commands(run, command: str) -> None:
    result = run(command, "--help")
    assert (result.code, "Usage: autonmf" in result.out) == (0, True)


def test_unknown_command(run) -> None:
    result = run("fly")
    assert (result.code, result.out) == (2, "")
    assert re.fullmatch(r"error: No such command 'fly'.*Try 'autonmf --help'\.\n", result.err)


def at(rank: int, n_starts: int = 1) -> Progress:
    return Progress(
        start=0, n_starts=n_starts, max_rank=50, rank=rank, iteration=3, relative_loss=0.0123, seconds=7.2
    )


def test_progress_in_a_log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "LOG_EVERY", 0.0)
    with reporting.progress("counts.csv") as reporter:
        reporter.reached(at(20))
        reporter.reached(at(19, n_starts=3))
        reporter.polishing(19)
    assert capsys.readouterr().err.splitlines() == [
        "counts.csv: rank 20, relative loss 1.23e-02, 7 s",
        "counts.csv: start 1 of 3, rank 19, relative loss 1.23e-02, 7 s",
    ]


def test_quick_work_leaves_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (True, False):
        with reporting.progress("counts.csv", quiet=quiet) as reporter:
            reporter.reached(at(20))
    assert capsys.readouterr() == ("", "")


def test_progress_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    with reporting.progress("[counts].csv") as reporter:
        reporter.reached(at(20))
        reporter.bar.refresh()
        reporter.polishing(3)
        reporter.bar.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "[counts].csv" in shown
    assert "rank 20, relative loss 1.23e-02" in shown
    assert "polishing rank 3" in shown
