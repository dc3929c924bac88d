"""The other commands, and help."""

from __future__ import annotations

import io
import json
import re
import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import pytest
from typer import Typer

from autonmf.cli.console import print_json


def test_demo(run) -> None:
    result = run("demo", "--seed", 1)
    assert result.code == 0
    assert re.search(r"synthetic +1000 x 400 +10 +10 ", result.out)
    assert re.search(r"Swimmer +256 x 1024 +16 +16 ", result.out)
    assert "synthetic: rank 10, because " in result.out
    assert "autonmf fit FILE" in result.out
    assert ("needs autonmf[report]" in result.out) == (find_spec("plotly") is None)
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
    guess = " Did you mean 'fit'?" if "suggest_commands" in signature(Typer).parameters else ""  # from 0.20
    assert run("fut").err == f"error: No such command 'fut'.{guess} Try 'autonmf --help'.\n"


def test_json_of_demo(run) -> None:
    result = run("demo", "--json")
    synthetic, swimmer = json.loads(result.out)
    assert (synthetic["data"], synthetic["true_rank"], synthetic["rank"]) == ("synthetic", 10, 10)
    assert (swimmer["shape"], swimmer["true_rank"]) == ([256, 1024], 16)
    assert 0 < synthetic["recovery_error"] < 0.1
    assert result.err == ""


def test_json_of_info(run) -> None:
    facts = json.loads(run("info", "--json").out)
    lines = run("info").out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(facts)
    assert facts["plotly"].endswith("(for reports)")


def test_json_has_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1.5, float("nan")], "b": (float("inf"), None, True), 3: "x"})
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": [None, None, True], "3": "x"}


@pytest.mark.parametrize("command", [(), ("fit",), ("report",), ("demo",), ("info",)])
def test_help_has_no_types_of_flags(run, command: tuple[str, ...]) -> None:
    assert "bool" not in run(*command, "--help").out


def test_help_names_the_exit_codes(run) -> None:
    shown = " ".join(run("--help").out.split())
    assert all(words in shown for words in ("0 success", "1 problem with the data", "130 interrupted"))


@pytest.mark.parametrize("command", ["fit", "report", "demo", "info"])
def test_every_command_has_json(run, command: str) -> None:
    assert "--json" in run(command, "--help").out


def test_info_without_optional_libraries(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(library: str) -> str:
        if library == "zarr":
            raise PackageNotFoundError(library)
        return "1.2.3"

    monkeypatch.setattr("autonmf.cli.info.version", version)
    facts = json.loads(run("info", "--json").out)
    assert facts["zarr"] == "not installed (for .zarr folders)"
    assert facts["plotly"] == "1.2.3 (for reports)"


def test_the_demo_names_a_command_that_is_not_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from autonmf.cli.demo import _find_command

    monkeypatch.setattr(sys, "argv", [str(tmp_path / "autonmf")])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _find_command() == str(tmp_path / "autonmf")
    monkeypatch.setattr(sys, "argv", ["__main__.py"])
    assert _find_command() == "autonmf"


@pytest.mark.parametrize("terminal", [True, False])
def test_reading_the_standard_input(
    run, counts: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    class Input(io.TextIOWrapper):
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setattr(sys, "stdin", Input(io.BytesIO(counts.read_bytes())))
    result = run("fit", "-", "--max-rank", 5)
    assert result.code == 0
    assert "standard input: 60 x 40" in result.out
    assert ("Ctrl-D to end it" in result.err) == terminal


def test_no_standard_input(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run("fit", "-").err == "error: there is no standard input to read from\n"
