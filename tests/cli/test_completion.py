"""Completion in bash, zsh and fish, by the questions that their scripts ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autonmf.path.options import SOLVER_NAMES

COMMAND = [sys.executable, "-m", "autonmf"]


def ask(shell: str, line: str) -> str:
    words = line.split(" ")
    questions = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    environment = {**os.environ, "_AUTONMF_COMPLETE": f"complete_{shell}", **questions[shell]}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("autonmf ", ["fit", "report", "demo", "info"]),
        ("autonmf fit --no", ["--normalize", "--no-header", "--no-labels"]),
        ("autonmf fit --solver ", ["auto", "hals", "pasm", "s-ipalm", "ipalm", "palm"]),
        ("autonmf report --rule ", ["auto", "marginal"]),
        ("autonmf fit --normalize l", ["log1p"]),
        ("autonmf report --kind ", ["image", "spectrum", "words", "template"]),
    ],
)
def test_what_is_offered(shell: str, line: str, offered: list[str]) -> None:
    answer = ask(shell, line)
    assert all(word in answer for word in offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str) -> None:
    environment = {**os.environ, "_AUTONMF_COMPLETE": f"source_{shell}"}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert f"_AUTONMF_COMPLETE=complete_{shell}" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True, timeout=60)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_installed_in_bash(tmp_path: Path) -> None:
    """`autonmf --install-completion` writes a script that bash sources and asks."""
    here = tmp_path / "bin"
    here.mkdir()
    (here / "autonmf").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m autonmf "$@"\n')
    (here / "autonmf").chmod(0o755)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    question = (
        "autonmf --install-completion && . ~/.bashrc && COMP_WORDS=(autonmf fit --solver '') && COMP_CWORD=3 "
        "&& _autonmf_completion autonmf && echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(
        ["bash", "-c", question], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()[-1].split()) == set(SOLVER_NAMES)
