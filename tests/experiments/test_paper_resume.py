"""Killed runs go on where they were; results of other code are not taken for fresh."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.paper import balancing, efficiency, lambda_path, paths, signals, store, synthetic
from experiments.paper.experiment import Cell, Done, plain
from experiments.paper.store import WHOLE, Store, digest_of, is_fresh
from experiments.shared import ROOT

PATHS = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
ENVIRONMENT = os.environ | {"PYTHONPATH": PATHS}
SCRIPT = '''
"""Six slow cells."""
import sys, time
from dataclasses import replace
from pathlib import Path
from experiments.paper import EXPERIMENTS, reproduce
from experiments.paper.experiment import Cell, judge

OUT = Path(sys.argv[1])

def slow(i):
    with (OUT / "log").open("a") as log:
        log.write(f"{i} ")
    time.sleep(0.15)
    return {"rows": [{"double": 2 * i}]}

def cells(scale, data_home=None):
    return [Cell("slow", f"cell {i}", {"i": i}, slow) for i in range(6)]

empty = lambda results: []
experiment = replace(
    EXPERIMENTS["balancing"], name="slow", cells=cells, figures=empty, tables=empty,
    verdict=lambda results: judge([]),
)
report = reproduce(["slow"], out=OUT, experiments={"slow": experiment})
print([row["double"] for done in report.results["slow"] for row in done.rows], report.computed)
'''


def run(script: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)


def finished_cells(out: Path) -> list[Path]:
    return sorted(out.glob("cells/slow/*.json"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_killed_run_goes_on(tmp_path: Path) -> None:
    script, out = tmp_path / "slow.py", tmp_path / "out"
    out.mkdir()
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    deadline = time.monotonic() + 60
    while len(finished_cells(out)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = {file.name: file.read_bytes() for file in finished_cells(out)}
    assert 2 <= len(kept) < 6
    for content in kept.values():
        json.loads(content)
    started = (out / "log").read_text().split()
    done = run(script, out)
    assert done.stdout == f"[0, 2, 4, 6, 8, 10] {6 - len(kept)}\n"
    again = (out / "log").read_text().split()[len(started) :]
    assert again == [str(i) for i in range(len(kept), 6)]
    assert {name: (out / "cells" / "slow" / name).read_bytes() for name in kept} == kept
    assert f"[{6 - len(kept)}/{6 - len(kept)}] slow: cell 5:" in done.stderr
    script.write_text(SCRIPT.replace("2 * i", "3 * i"))
    changed = run(script, out)
    assert changed.stdout == "[0, 3, 6, 9, 12, 15] 6\n"
    assert "6 cells are there from an earlier state of the code: they are run again" in changed.stderr


def a_cell() -> Cell:
    return Cell("e", "a cell: 1/2", {"x": 1, "y": [1, 2]}, efficiency.compare_solvers)


def a_result(code: str) -> Done:
    return Done("e", "a cell: 1/2", {"x": 1, "y": [1, 2]}, {"rows": [{"z": 0.5}]}, 1.5, code, {"numpy": "2"})


def test_store(tmp_path: Path) -> None:
    cell, kept = a_cell(), Store(tmp_path)
    assert kept.get(cell) is None
    done = a_result(digest_of(cell.function))
    kept.put(cell, done)
    assert kept.get(cell) == done
    assert is_fresh(cell, done)
    assert done.rows == [{"x": 1, "y": [1, 2], "z": 0.5}]
    other = Cell("e", "a cell: 1/2", {"x": 2, "y": [1, 2]}, efficiency.compare_solvers)
    assert kept.get(other) is None
    assert not is_fresh(cell, a_result("00000000"))
    (file,) = (tmp_path / "cells" / "e").iterdir()
    file.write_text(file.read_text()[:-20])  # not written by us
    assert kept.get(cell) is None


def test_digest_follows_imports() -> None:
    found = store._closure(paths.__name__, "trace_path")
    modules = {module for module, _ in found}
    assert {
        "autonmf.solvers.driver",
        "autonmf.kernels",
        "autonmf.kernels.native",
        "autonmf.metrics",
    } <= modules
    assert not {name for name in modules if name.startswith("autonmf.cli")}
    ours = {key for key in found if key[0].startswith("experiments.")}
    assert {("experiments.paper.paths", "trace"), ("experiments.core", "trace_grid")} <= ours
    assert b"hals" in store._source("autonmf.kernels", WHOLE)  # the compiled sources
    assert digest_of(paths.trace_path) != digest_of(efficiency.compare_solvers)


@pytest.mark.parametrize(
    "function",
    [synthetic.solve, signals.solve, efficiency.compare_solvers, lambda_path.compare_times, paths.trace_path],
)
def test_digest_leaves_out_tables_and_drawings(function: Callable[..., Any]) -> None:
    """Another word on the page computes nothing again; another line of the estimator everything."""
    found = store._closure(function.__module__, function.__name__)
    names = {name for module, name in found if module.startswith("experiments.")}
    assert function.__name__ in names
    assert not names & {"tables", "verdict", "figures", "readings", "cells", "EXPERIMENT", WHOLE}
    modules = {module for module, _ in found}
    assert not modules & {"experiments.paper.document", "experiments.paper.style", balancing.__name__}
    if function in (synthetic.solve, signals.solve):
        assert "autonmf.estimator" in modules  # behind `from autonmf import AutoNMF`


def test_digest_ignores_comments() -> None:
    def code(text: str) -> str:
        return ast.dump(store.without_docstrings(ast.parse(text)))

    text = '"""A."""\nclass C:\n    """B."""\n\n    def f(self):\n        """D."""\n        return 1\n'
    assert code(text) == code(text.replace("A.", "Z.").replace("B.", "Y.").replace("1\n", "1  # one\n"))
    assert code(text) != code(text.replace("return 1", "return 2"))


def test_plain_values() -> None:
    import numpy as np

    given = {
        "a": np.float32(0.5),
        "b": np.array([1, 2]),
        "c": float("nan"),
        "d": (np.int64(3), None),
        4: np.True_,
    }
    assert plain(given) == {"a": 0.5, "b": [1, 2], "c": None, "d": [3, None], "4": True}
