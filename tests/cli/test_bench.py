"""`autonmf bench`: the benchmark of rank selection, its options, errors and progress."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from autonmf.bench.order.store import FILE
from autonmf.cli import bench_order


def answered(folder: Path) -> list[tuple[str, int, str]]:
    rows = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    return [(row["family"], row["seed"], row["method"]) for row in rows]


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_the_benchmarks(run, arguments: tuple[str, ...]) -> None:
    result = run("bench", *arguments)
    assert result.code == 0
    assert all(re.search(rf"\b{name} ", result.out) for name in ("speed", "kernels", "growth", "order"))


@pytest.mark.parametrize("name", ["speed", "kernels", "growth", "order"])
def test_each_has_help(run, name: str) -> None:
    result = run("bench", name, "--help")
    assert (result.code, f"Usage: autonmf bench {name}" in result.out) == (0, True)
    assert "--quick" in result.out


def test_kernels(run, tmp_path: Path) -> None:
    result = run("bench", "kernels", "--quick", "--out", tmp_path / "new")
    assert result.code == 0
    timings = json.loads((tmp_path / "new" / "kernels.json").read_text())
    assert all(str(timing["n"]) in result.out for timing in timings)
    assert all(timing["ours"] > 0 for timing in timings)
    assert timings


def test_order_prints_and_writes(run, tmp_path: Path) -> None:
    result = run(
        "bench", "order", "--families", "few, small", "--methods", "svht", "--methods", "marginal-5",
        "--seeds", "4,2", "--out", tmp_path / "results",
    )  # fmt: skip
    assert result.code == 0
    assert result.out.isascii()
    assert re.search(r"^ *svht +\d+% ", result.out, re.M)
    assert re.search(r"^ *marginal-5 +\d+% ", result.out, re.M)
    assert f"Written to {tmp_path / 'results' / 'page.md'}" in result.out
    asked = {(f, s, m) for f in ("few", "small") for s in (2, 4) for m in ("svht", "marginal-5")}
    assert set(answered(tmp_path / "results")) == asked
    assert "4 instances of 2 families, seeds 2, 4" in (tmp_path / "results" / "page.md").read_text()


def test_order_goes_on_and_starts_afresh(run, tmp_path: Path) -> None:
    command = ("bench", "order", "--families", "small", "--methods", "svht", "--out", tmp_path)
    run(*command, "--seeds", "1")
    run(*command, "--seeds", "1", "--seeds", "2")
    assert answered(tmp_path) == [("small", 1, "svht"), ("small", 2, "svht")]
    run(*command, "--seeds", "1", "--fresh")
    assert answered(tmp_path) == [("small", 1, "svht"), ("small", 2, "svht"), ("small", 1, "svht")]


def test_quick_order_takes_the_first_design_seed(run, tmp_path: Path) -> None:
    result = run("bench", "order", "--families", "small", "--methods", "svht", "--quick", "--out", tmp_path)
    assert result.code == 0
    assert answered(tmp_path) == [("small", 0, "svht")]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--families", "small,fly", r"unknown families: fly\. There are design, .*"),
        ("--methods", "svht,magic", r"unknown methods: magic; choose from auto, .*"),
        ("--seeds", "1,two", r"unknown seed 'two': give numbers, design or final"),
        ("--seeds", "-1", r"unknown seed '-1': give numbers, design or final"),
        ("--families", ",", r"no families, no methods or no seeds to run"),
        ("--out", __file__, r"--out .*test_bench.py is a file; name a folder"),
    ],
)
def test_order_says_what_is_wrong_with_the_command(run, option: str, value: str, message: str) -> None:
    result = run("bench", "order", option, value)
    assert (result.code, result.out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", result.err)


def test_order_says_what_is_wrong_with_the_folder(run, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("nonsense\n")
    result = run("bench", "order", "--families", "small", "--methods", "svht", "--out", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert "line 1: not a row of this benchmark" in result.err


def test_order_without_data(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    result = run("bench", "order", "--families", "samson", "--methods", "svht")
    assert (result.code, result.out) == (1, "")
    assert "note: samson: skipped, its file is not in the data home" in result.err
    assert "error: nothing was run" in result.err


def test_an_interrupt_keeps_the_answers(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: bench_order.Lines, family: str, seed: int, method: str) -> None:
        if seed == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(bench_order.Lines, "asks", interrupt)
    result = run("bench", "order", "--families", "small", "--methods", "svht", "--out", tmp_path)
    assert (result.code, result.out) == (130, "")
    assert result.err == (
        f"note: answers so far are kept in {tmp_path}: the same command goes on from there\n"
        "error: interrupted\n"
    )
    assert answered(tmp_path) == [("small", 0, "svht")]


def test_order_in_a_log(run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("bench", "order", "--families", "small", "--methods", "svht", "--seeds", "0,1")
    assert run(*command).err == ""
    monkeypatch.setattr(bench_order, "LOG_EVERY", 0.0)
    first, second = run(*command).err.splitlines()
    assert first.startswith("1 of 2: small seed 0 svht: ")
    assert second.startswith("2 of 2: small seed 1 svht: ")


def test_order_in_a_terminal(run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with bench_order.watching() as watcher:
        watcher.begins(3)
        watcher.asks("small", 0, "svht")
        watcher.bar.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "0/3" in shown
    assert "small seed 0, svht" in shown


def test_json(run, tmp_path: Path) -> None:
    result = run("bench", "kernels", "--quick", "--json", "--out", tmp_path)
    assert json.loads(result.out) == json.loads((tmp_path / "kernels.json").read_text())
    result = run("bench", "order", "--families", "small", "--methods", "svht", "--seeds", "1", "--json")
    (answer,) = json.loads(result.out)["answers"]
    assert (answer["family"], answer["seed"], answer["method"]) == ("small", 1, "svht")
