"""The standard input as FILE and the standard output as --out, in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autonmf.cli.arguments import Input, Look, Page, Search
from autonmf.cli.report import write_recipe

COMMAND = [sys.executable, "-m", "autonmf"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def call(*arguments: object, content: bytes = b"", **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], input=content, capture_output=True, env=ENVIRONMENT, timeout=60,
        check=False, **options,
    )  # fmt: skip


def test_text_from_the_standard_input(counts: Path) -> None:
    done = call("fit", "-", "--json", content=counts.read_bytes())
    found = json.loads(done.stdout)
    assert (done.returncode, found["rank"], found["file"]) == (0, 3, "-")
    assert "standard input: 60 x 40" in call("fit", "-", content=counts.read_bytes()).stdout.decode()


def test_an_array_through_a_pipe_of_two_commands(low_rank: np.ndarray) -> None:
    stream = io.BytesIO()
    np.save(stream, low_rank)
    components = call("fit", "-", "--out", "-", "-q", content=stream.getvalue())
    assert (components.returncode, components.stderr) == (0, b"")
    again = call("fit", "-", "-k", "1", "--json", "--transpose", content=components.stdout)
    assert json.loads(again.stdout)["shape"] == [40, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty"),
        (b"1,2\n3\n4,5\n", "standard input, line 2"),
        (b"\0\1", "not a text file"),
    ],
)
def test_a_bad_stream(content: bytes, message: str) -> None:
    done = call("fit", "-", content=content)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith("error: standard input")
    assert message in done.stderr.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX closes streams")
def test_no_stream() -> None:
    done = subprocess.run(
        [*COMMAND, "fit", "-"],
        stdin=None,
        capture_output=True,
        env=ENVIRONMENT,
        preexec_fn=lambda: os.close(0),
    )
    assert (done.returncode, done.stderr) == (1, b"error: there is no standard input to read from\n")


def test_a_page_on_the_standard_output(counts: Path) -> None:
    pytest.importorskip("plotly", reason="plotly is in every page")
    done = call("report", counts.name, "--out", "-", "--max-rank", "4", cwd=counts.parent)
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!DOCTYPE html>")
    assert b"rank 3" in done.stderr
    assert sorted(counts.parent.iterdir()) == [counts]


def test_a_page_about_the_standard_input(counts: Path) -> None:
    pytest.importorskip("plotly", reason="plotly is in every page")
    content = counts.read_bytes()
    done = call(
        "report", "-", "--max-rank", "4", "--normalize", "max", "--json", content=content, cwd=counts.parent
    )
    found = json.loads(done.stdout)
    assert (found["page"], found["rank"], found["normalized"]) == ("standard-input-report.html", 3, "max")
    page = (counts.parent / found["page"]).read_text()
    assert len(page.encode()) == found["bytes"]
    assert "<title>standard input (max)" in page


def test_the_recipe_of_a_stream_is_true(counts: Path) -> None:
    given = Input(file=Path("-"), normalize="log1p")
    recipe = write_recipe(given, Search(max_rank=6), Look(), Page())
    code = recipe.python + "\nprint(model.n_components_, model.reconstruction_err_)"
    content = counts.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, env=ENVIRONMENT, check=True
    )
    rank, error = done.stdout.split()
    found = json.loads(
        call("fit", "-", "--normalize", "log1p", "--max-rank", 6, "--json", content=content).stdout
    )
    assert found["rank"] == int(rank)
    assert found["reconstruction_error"] == pytest.approx(float(error), rel=1e-6)
    assert recipe.shell.startswith("autonmf report - --normalize log1p")
