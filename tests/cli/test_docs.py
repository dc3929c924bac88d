"""The shell examples of docs/cli.md, run in order in an empty folder."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def examples() -> list[tuple[str, str]]:
    """Commands and what they print."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    parts = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)
    assert len(parts) == sum(block.count("$ ") for block in blocks) > 5
    return parts


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_examples_print_what_they_show(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, start in (("autonmf", "-m autonmf"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        (programs / name).chmod(0o755)
    (tmp_path / "empty").mkdir()
    environment = {
        **os.environ, "OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    check = doctest.OutputChecker()
    for command, shown in examples():
        if command.startswith("autonmf report") and find_spec("plotly") is None:
            continue
        done = subprocess.run(
            ["bash", "-c", f"exec 2>&1; {command}"],
            cwd=tmp_path / "empty", env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert check.check_output(shown, done.stdout, doctest.ELLIPSIS), f"$ {command}\n{done.stdout}"
